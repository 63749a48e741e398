"""Which records stand at a place of a segment, and which turn is a session's last: kept by name: filters are slow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.milvus.catalog import RECORDS, Catalog
from hybrid_memory.engines.milvus.rows import NARROWING, NEVER, PLACE, Narrowing, Row, digest, owner_key
from hybrid_memory.engines.milvus.state import StateTable, newest_of, place_of
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Record, RecordKind, Where

HOUR = 3_600_000_000
CENTURY = 100 * 365 * 24 * HOUR


class PlaceNames:
    """Ids of records by place, and of last turns by session."""

    def __init__(self, catalog: Catalog, state: StateTable) -> None:
        self._catalog = catalog
        self._state = state

    def tails(self, owner: str, sessions: Sequence[str | None]) -> dict[str | None, int]:
        """Ids of the last turns of the sessions that have one."""
        names = {session: _tail(owner, digest("session", session)) for session in sessions}
        there = self._state.get(names.values())
        return {session: there[name] for session, name in names.items() if name in there}

    def at(self, places: Sequence[tuple[int, int]]) -> list[int]:
        """The ids of the records at these places, each a segment and an ordinal."""
        there = self._state.get(place_of(*place) for place in places)
        return sorted({number for ids in there.values() for number in ids})

    def around(self, ids: Ids, narrowing: Narrowing, radius: int) -> RecordColumns:
        """These records and their neighbours, as far as allowed."""
        seeds = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids.tolist())), ["id", "segment", "ordinal"])
        steps = range(-radius, radius + 1)
        near = self.at([(seed["segment"], seed["ordinal"] + step) for seed in seeds for step in steps])
        # Looked up by primary key and sifted here: a filter over so many ids is slow.
        rows = [row for row in self._catalog.fetch(RECORDS, near, [*NARROWING, *PLACE]) if narrowing.holds(row)]
        return _columns(sorted(rows, key=lambda row: int(row["id"])))

    def latest(self, where: Where, k: int) -> list[int]:
        """The ids of the k records that were said last, newest first, from windows that reach back ever farther."""
        narrowing, name = Narrowing.of(where), newest_of(owner_key(where.scope))
        upper = self._state.get([name]).get(name)
        if upper is not None and where.until is not None:
            upper = min(upper, to_micros(where.until))
        said: list[tuple[int, int]] = []
        width = HOUR
        while upper is not None and len(said) < k:
            lower = upper - width if width <= CENTURY else NEVER
            window = f"{narrowing.expression} and at > {lower} and at <= {upper}"
            rows = self._catalog.select(RECORDS, window, ["id", "at", "turn"])
            said.extend(
                sorted(((row["at"], row["id"]) for row in rows if narrowing.visible(row["turn"])), reverse=True)
            )
            upper, width = lower if lower > NEVER else None, 32 * width
        return [number for _, number in said[:k]]

    def after_writing(self, rows: Sequence[Row], old: Sequence[Row]) -> dict[str, Any]:
        """What to store when these rows come, in place of the old ones."""
        highest: dict[str, int] = defaultdict(int)
        for row in rows:
            highest[newest_of(row["owner"])] = max(highest.get(newest_of(row["owner"]), row["at"]), row["at"])
            if row["kind"] == RecordKind.TURN:
                name = _tail(row["owner"], row["session"])
                highest[name] = max(highest[name], row["id"])
        there = self._state.get([*highest, *_places((*rows, *old))])
        last = {name: max(number, there.pop(name, number)) for name, number in highest.items()}
        return {**_moved(there, rows, old), **last}

    def after_deleting(self, rows: Sequence[Row]) -> dict[str, Any]:
        """What to store when these rows go."""
        gone = {row["id"] for row in rows}
        sessions = {_tail(row["owner"], row["session"]): row for row in rows}
        left: dict[str, Any] = {}
        for name, last in self._state.get(sessions).items():
            if last in gone:
                row = sessions[name]
                expression = f'owner == "{row["owner"]}" and session == "{row["session"]}" and kind == "turn"'
                turns = {found["id"] for found in self._catalog.select(RECORDS, expression, ["id"])}
                left[name] = max(turns - gone, default=None)
        return {**_moved(self._state.get(_places(rows)), [], rows), **left}


def place_before(record: Record) -> tuple[int, int]:
    """The place before the record's."""
    return record.segment, record.ordinal - 1


def _tail(owner: str, session: str) -> str:
    return f"tail:{owner}:{session}"


def _places(rows: Sequence[Row]) -> list[str]:
    return [place_of(row["segment"], row["ordinal"]) for row in rows]


def _moved(there: Mapping[str, list[int]], rows: Sequence[Row], old: Sequence[Row]) -> dict[str, list[int] | None]:
    """Who stands where when the old rows are gone and the others have come."""
    places = defaultdict(set, {name: set(ids) for name, ids in there.items()})
    for name, row in zip(_places(old), old, strict=True):
        places[name].discard(row["id"])
    for name, row in zip(_places(rows), rows, strict=True):
        places[name].add(row["id"])
    return {name: sorted(ids) or None for name, ids in places.items()}


def _columns(rows: Sequence[Row]) -> RecordColumns:
    def whole(name: str) -> Ids:
        return np.array([row[name] for row in rows], dtype=np.int64)

    used = [0 if row["last_used"] == NEVER else row["last_used"] for row in rows]
    return RecordColumns(
        ids=whole("id"),
        segments=whole("segment"),
        ordinals=whole("ordinal"),
        lengths=whole("length"),
        at=whole("at") / 1e6,
        importance=np.array([row["importance"] for row in rows], dtype=np.float32),
        uses=whole("uses"),
        last_used=np.array(used, dtype=np.int64) / 1e6,
    )
