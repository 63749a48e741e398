"""The tables of an index: documents for what Milvus cannot query quickly, term counts, neighbours, and vectors."""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.milvus.catalog import (
    FLAT,
    RECORDS,
    STATE,
    TERMS,
    VECTOR_PAGE,
    VECTORS,
    WINDOW,
    Catalog,
)
from hybrid_memory.engines.milvus.rows import (
    NARROWING,
    NEVER,
    WHOLE,
    Narrowing,
    Row,
    digest,
    owner_key,
    pieces,
    to_record,
)
from hybrid_memory.engines.stored import columns_of, to_micros
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import Matches, RecordColumns
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.text.tokenize import allowed_edits

EMBEDDER = "embedder"


class StateTable:
    """Documents read and replaced by name, several per call."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get(self, names: Iterable[str]) -> dict[str, Any]:
        rows = self._catalog.fetch(STATE, list(dict.fromkeys(names)), ["id", "value"])
        return {row["id"]: json.loads("".join(row["value"])) for row in rows}

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace these documents; None removes one."""
        self._catalog.write(
            STATE,
            [
                {"id": name, "value": pieces(json.dumps(value)), "dummy": FLAT}
                for name, value in values.items()
                if value is not None
            ],
        )
        self._catalog.remove(STATE, [name for name, value in values.items() if value is None])


def name_of(kind: str, *parts: str | int) -> str:
    """The name of a document.

    Of an owner: ``applied`` (position), ``anchor`` (of that position), ``newest`` (the latest time of a record, in
    microseconds), ``sum`` (of the vectors), ``total`` (number and length of the records), and of one of its sessions,
    given as a digest, ``tail`` (the id of the last turn). Of a segment and ordinal: ``place`` (the ids of the records).
    """
    return ":".join(map(str, (kind, *parts)))


SPELT_CHARS = 64


class TermCounts:
    """Term counts of each owner, updated with every write; `repair` recounts them after a crash."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of(self, owner: str, terms: Sequence[str]) -> tuple[dict[str, int], int, int]:
        """For each of these terms, how many of the owner's records have it; their number and total length."""
        names = {_name_of(owner, term): term for term in terms}
        rows = self._stored([name_of("total", owner), *names])
        whole = rows.pop(name_of("total", owner), {"count": 0, "length": 0})
        return {names[name]: row["count"] for name, row in rows.items()}, whole["count"], whole["length"]

    def change(self, added: Sequence[Row], removed: Sequence[Row]) -> None:
        """Add the terms of some records to the counts, and subtract those of others."""
        for owner in {row["owner"] for row in (*added, *removed)}:
            mine, gone = ([row["terms"] for row in rows if row["owner"] == owner] for rows in (added, removed))
            self._change(owner, mine, gone)

    def repair(self, owner: str) -> None:
        """Recount everything if the counts do not match the number of records."""
        total, mine = name_of("total", owner), f'owner == "{owner}"'
        if self._stored([total]).get(total, {"count": 0})["count"] == self._catalog.count(RECORDS, mine):
            return
        known = {row["id"] for row in self._catalog.select(TERMS, f"term like '{owner}:%'", ["id"])}
        self._catalog.remove(TERMS, [*known, total])
        self._change(owner, [row["terms"] for row in self._catalog.select(RECORDS, mine, ["id", "terms"])], [])

    def near(self, owner: str, term: str) -> list[str]:
        """The owner's terms with the same first letter and a similar length."""
        first, last = len(term) - allowed_edits(term), len(term) + allowed_edits(term)
        expression = f"chars >= {first} and chars <= {last} and term like '{owner}:{term[0]}%'"
        return [row["term"].partition(":")[2] for row in self._catalog.select(TERMS, expression, ["id", "term"])]

    def _change(self, owner: str, added: Iterable[str], removed: Iterable[str]) -> None:
        counts, total, length = _counted(added)
        fewer, less, shorter = _counted(removed)
        counts.subtract(fewer)
        changed = {_name_of(owner, term): (term, count) for term, count in counts.items() if count}
        if not changed and total == less:
            return
        whole = name_of("total", owner)
        before = self._stored([whole, *changed])
        rows = [
            _row(name, owner, term, max(count + (before[name]["count"] if name in before else 0), 0))
            for name, (term, count) in changed.items()
        ]
        sums = before.get(whole, {"count": 0, "length": 0})
        records, length = max(sums["count"] + total - less, 0), max(sums["length"] + length - shorter, 0)
        # Terms that no record has are removed: what was forgotten is not to be read here.
        rows.append({**_row(whole, owner, "", records), "chars": -1, "length": length})
        self._catalog.write(TERMS, [row for row in rows if row["count"]])
        self._catalog.remove(TERMS, [row["id"] for row in rows if not row["count"]])

    def _stored(self, names: Sequence[str]) -> dict[str, Row]:
        return {row["id"]: row for row in self._catalog.fetch(TERMS, names, ["id", "count", "length"])}


def _name_of(owner: str, term: str) -> str:
    return digest("term", owner, term)


def _counted(texts: Iterable[str]) -> tuple[Counter[str], int, int]:
    """How many texts have each term, how many texts there are, and their total length (terms plus one for each)."""
    counts: Counter[str] = Counter()
    total = length = 0
    for text in texts:
        words = text.split()
        counts.update(set(words))
        total, length = total + 1, length + len(words) + 1
    return counts, total, length


def _row(name: str, owner: str, term: str, count: int) -> Row:
    spelt = term if len(term) <= SPELT_CHARS else ""
    row = {"id": name, "term": f"{owner}:{spelt}", "chars": len(spelt) or -1}
    return {**row, "count": count, "length": 0, "dummy": FLAT}


HOUR = 3_600_000_000
CENTURY = 100 * 365 * 24 * HOUR


class Neighbours:
    """Record ids by segment and ordinal, last turns by session, and the newest time of each owner."""

    def __init__(self, catalog: Catalog, state: StateTable) -> None:
        self._catalog = catalog
        self._state = state

    def around(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        seeds = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids.tolist())), ["id", "segment", "ordinal"])
        steps = range(-radius, radius + 1)
        by_position = self._state.get(
            name_of("place", seed["segment"], seed["ordinal"] + step) for seed in seeds for step in steps
        )
        near = sorted({number for those in by_position.values() for number in those})
        # Looked up by primary key and filtered here: a filter over so many ids is slow.
        return columns_of(filter(where.allows, map(to_record, self._catalog.fetch(RECORDS, near, WHOLE))))

    def latest(self, where: Where, k: int) -> list[int]:
        """The ids of the k newest records, newest first, from increasingly large time windows."""
        narrowing, name = Narrowing.of(where), name_of("newest", owner_key(where.scope))
        upper = self._state.get([name]).get(name)
        if upper is not None and where.until is not None:
            upper = min(upper, to_micros(where.until))
        newest: list[tuple[int, int]] = []
        width = HOUR
        while upper is not None and len(newest) < k:
            lower = upper - width if width <= CENTURY else NEVER
            window = f"{narrowing.expression} and at > {lower} and at <= {upper}"
            rows = self._catalog.select(RECORDS, window, ["id", "at", "turn"])
            newest.extend(
                sorted(((row["at"], row["id"]) for row in rows if narrowing.visible(row["turn"])), reverse=True)
            )
            upper, width = lower if lower > NEVER else None, 32 * width
        return [number for _, number in newest[:k]]

    def after_writing(self, rows: Sequence[Row], old: Sequence[Row]) -> dict[str, Any]:
        highest: dict[str, int] = defaultdict(int)
        for row in rows:
            highest[name_of("newest", row["owner"])] = max(
                highest.get(name_of("newest", row["owner"]), row["at"]), row["at"]
            )
            if row["kind"] == RecordKind.TURN:
                name = name_of("tail", row["owner"], row["session"])
                highest[name] = max(highest[name], row["id"])
        stored = self._state.get([*highest, *_places((*rows, *old))])
        last = {name: max(number, stored.pop(name, number)) for name, number in highest.items()}
        return {**_moved(stored, rows, old), **last}

    def after_deleting(self, rows: Sequence[Row]) -> dict[str, Any]:
        gone = {row["id"] for row in rows}
        sessions = {name_of("tail", row["owner"], row["session"]): row for row in rows}
        left: dict[str, Any] = {}
        for name, last in self._state.get(sessions).items():
            if last in gone:
                row = sessions[name]
                expression = f'owner == "{row["owner"]}" and session == "{row["session"]}" and kind == "turn"'
                turns = {found["id"] for found in self._catalog.select(RECORDS, expression, ["id"])}
                left[name] = max(turns - gone, default=None)
        return {**_moved(self._state.get(_places(rows)), [], rows), **left}


def _places(rows: Sequence[Row]) -> list[str]:
    return [name_of("place", row["segment"], row["ordinal"]) for row in rows]


def _moved(stored: Mapping[str, list[int]], rows: Sequence[Row], old: Sequence[Row]) -> dict[str, list[int] | None]:
    moved = defaultdict(set, {name: set(ids) for name, ids in stored.items()})
    for name, row in zip(_places(old), old, strict=True):
        moved[name].discard(row["id"])
    for name, row in zip(_places(rows), rows, strict=True):
        moved[name].add(row["id"])
    return {name: sorted(ids) or None for name, ids in moved.items()}


FILTERED = 256
"""The fewest rows that a search fetches if they must be filtered."""


class VectorTable:
    """The collection of vectors, created with the first vector.

    Args:
        lists: the number of inverted lists, of which an unfiltered search probes one in eight. A filtered search probes
            all, as the nearest ones may contain no allowed record, and so does one that found too few.
        exact: whether a search that probes all misses nothing.
    """

    def __init__(self, catalog: Catalog, state: StateTable, *, lists: int, exact: bool) -> None:
        self._catalog = catalog
        self._state = state
        self._lists = lists
        self._exact = exact

    def embedder(self) -> tuple[str, int] | None:
        stored = self._state.get([EMBEDDER])
        return (stored[EMBEDDER][0], stored[EMBEDDER][1]) if stored else None

    def prepare(self, embedder: tuple[str, int]) -> None:
        """Create the collection for this embedder; errors as in `IndexEngine.put_vectors`."""
        stored = self.embedder()
        if stored is None:
            # The name comes last: where it is missing, a collection that a crash left is made again.
            self._catalog.make_vectors(embedder[1])
            self._state.put({EMBEDDER: list(embedder)})
        elif stored != embedder:
            raise EmbedderMismatchError(stored, embedder)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        wanted = list(dict.fromkeys(key.hex() for key in keys))
        if not wanted or self.embedder() is None:
            return {}
        names = ", ".join(f'"{name}"' for name in wanted)
        rows = self._catalog.select(VECTORS, f"key in [{names}]", ["id", "key"])
        one_of = {row["key"]: row["id"] for row in rows}
        vectors = self._fetch(list(one_of.values()), ["key"])
        return {bytes.fromhex(row["key"]): _vector(row) for row in vectors}

    def put(self, rows: Sequence[Row], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]) -> None:
        """Store the vectors of these records, given their rows, which have none yet."""
        present = {row["id"] for row in self._catalog.fetch(VECTORS, [row["id"] for row in rows], ["id"])}
        stored = [
            {
                **{name: row[name] for name in NARROWING},
                "metadata": list(row["metadata"]),
                "key": keys[row["id"]].hex(),
                "vector": np.asarray(vectors[keys[row["id"]]], dtype=np.float32).tolist(),
            }
            for row in rows
        ]
        self._catalog.write(VECTORS, stored)
        self._add([row for row in stored if row["id"] not in present], 1)
        for owner in {row["owner"] for row in rows if row["id"] in present}:  # a crash came before they were counted
            self.repair(owner)

    def drop(self, ids: Sequence[int]) -> None:
        if self.embedder() is not None and (rows := self._fetch(ids, ["owner"])):
            self._catalog.remove(VECTORS, [row["id"] for row in rows])
            self._add(rows, -1)

    def of(self, owner: str, ids: Sequence[int]) -> dict[int, Floats]:
        if not ids or self.embedder() is None:
            return {}
        rows = self._fetch(list(dict.fromkeys(ids)), ["owner"])
        return {row["id"]: _vector(row) for row in rows if row["owner"] == owner}

    def repair(self, owner: str) -> None:
        """Recompute the sum of the owner's vectors if it does not match their number."""
        if self.embedder() is None:
            return
        expression = f'owner == "{owner}"'
        summed = self._state.get([name_of("sum", owner)]).get(name_of("sum", owner), {"count": 0})
        if summed["count"] != len(self._catalog.select(VECTORS, expression, ["id"])):
            rows = self._catalog.select(VECTORS, expression, ["id", "vector"], page=VECTOR_PAGE)
            self._state.put({name_of("sum", owner): _summed(rows, None, 1)})

    def nearest(self, vector: Floats, narrowing: Narrowing, k: int) -> Matches:
        if k < 1 or (stored := self.embedder()) is None or stored[1] != len(vector):
            return Matches.best({}, k)
        limit = k if narrowing.whole else max(4 * k, FILTERED)
        nprobe = max(1, self._lists // 8) if narrowing.plain else self._lists
        while limit <= WINDOW:
            hits = self._catalog.nearest(vector, narrowing.expression, limit, nprobe=nprobe)
            scores = {row["id"]: row["distance"] for row in hits if narrowing.whole or narrowing.visible(row["turn"])}
            if len(scores) >= k:
                return Matches.best(scores, k)
            if len(hits) == limit:
                limit *= 4
            elif nprobe < self._lists:
                nprobe = self._lists
            elif self._exact:
                return Matches.best(scores, k)
            else:
                break
        # The same by brute force: there are few, or an approximate index missed some.
        rows = self._catalog.select(VECTORS, narrowing.expression, ["id", "turn", "vector"], page=VECTOR_PAGE)
        return Matches.best(
            {row["id"]: float(_vector(row) @ vector) for row in rows if narrowing.visible(row["turn"])}, k
        )

    def _fetch(self, ids: Sequence[int], fields: Sequence[str]) -> list[Row]:
        return self._catalog.fetch(VECTORS, ids, ["id", "vector", *fields])

    def _add(self, rows: Sequence[Row], sign: int) -> None:
        mine: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            mine[row["owner"]].append(row)
        sums = self._state.get(name_of("sum", owner) for owner in mine)
        self._state.put(
            {
                name_of("sum", owner): _summed(part, sums.get(name_of("sum", owner)), sign)
                for owner, part in mine.items()
            }
        )


def _vector(row: Row) -> Floats:
    return np.asarray(row["vector"], dtype=np.float32)


def _summed(rows: Sequence[Row], before: dict[str, Any] | None, sign: int) -> dict[str, Any] | None:
    """The previous sum plus these vectors; None if there are none."""
    count = (before["count"] if before else 0) + sign * len(rows)
    if count < 1:
        return None
    total = sign * np.sum([_vector(row) for row in rows], axis=0, dtype=np.float64)
    if (earlier := unpacked(before)[1]) is not None:
        total = total + earlier
    return {"count": count, "sum": base64.b64encode(total.astype(np.float64).tobytes()).decode()}


def unpacked(document: dict[str, Any] | None) -> tuple[int, npt.NDArray[np.float64] | None]:
    """The number of summed vectors, and their sum."""
    if not document or not document["count"]:
        return 0, None
    return document["count"], np.frombuffer(base64.b64decode(document["sum"]), dtype=np.float64)
