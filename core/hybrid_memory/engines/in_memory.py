"""Log and index in plain Python and NumPy: the store of ``memory://``, and the oracle of the tests."""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.stored import columns_of, digest, to_json, vectors_at
from hybrid_memory.errors import EmbedderMismatchError, IdConflictError, MemoryClosedError, OutdatedError
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import Entry, IndexSize, Matches, Move, Query, RecordColumns, SemanticIndex, Status
from hybrid_memory.index.record import Keys, Record, RecordKind, Vectors, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, Payloads, Reading, Selection
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import Engine


class InMemoryEngine(Engine):
    """``memory://``: exists as long as the process."""

    def log(self) -> EventLog:
        return InMemoryLog() if self.url == "memory://" else super().log()

    def index(self) -> SemanticIndex:
        return InMemoryIndex() if self.url == "memory://" else super().index()


_position = attrgetter("position")


class _Locked:
    """What one thread at a time reads and changes, until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise MemoryClosedError
            yield


@dataclass(frozen=True, slots=True)
class _Dropped:
    """What remains of an event that was moved to an archive."""

    position: int
    kind: EventKind
    digest: bytes


Entries: TypeAlias = dict[tuple[str | None, str], Event | _Dropped]


class _Owned:
    """An owner's events, also dropped ones, by session and id; those that there are also by kind, in their order."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self.by_kind: dict[EventKind, list[Event]] = {}
        for event in sorted((entry for entry in entries.values() if isinstance(entry, Event)), key=_position):
            self.by_kind.setdefault(event.kind, []).append(event)

    def last(self, *kinds: EventKind) -> int:
        """The last position, of these kinds if any are given; 0 if there is none."""
        events = [self.by_kind.get(kind) for kind in kinds or self.by_kind]
        return max((some[-1].position for some in events if some), default=0)


class InMemoryLog(_Locked, EventLog):
    """An event log that exists as long as the process."""

    def __init__(self) -> None:
        super().__init__()
        self._owners: dict[Scope, _Owned] = {}
        self._last = 0

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        with self._alone():
            mine = self._of(owner)
            if seen is not None and (last := mine.last(EventKind.ERASED)) > seen:
                raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}")
            fresh: dict[tuple[str | None, str], Event] = {}
            appended = []
            for draft in drafts:
                key = (draft.session, draft.id)
                known = mine.entries.get(key) or fresh.get(key)
                payload = _copied(draft.payload)
                if known is None:
                    position, scope = self._last + len(fresh) + 1, replace(owner, session=draft.session)
                    made = Event(position, draft.id, scope, draft.kind, draft.at, payload, draft.sources, draft.author)
                    fresh[key] = made
                    appended.append(Appended(draft.id, position, fresh=True))
                    continue
                same = (
                    known.digest == digest(to_json(payload))
                    if isinstance(known, _Dropped)
                    else known.payload == payload
                )
                if not (draft.fixed_id and same and known.kind is draft.kind):
                    raise IdConflictError(f"id {draft.id!r} is already used by another message of this session")
                appended.append(Appended(draft.id, known.position, fresh=False))
            mine.entries.update(fresh)
            for event in fresh.values():
                mine.by_kind.setdefault(event.kind, []).append(event)
            self._owners[owner.owner] = mine
            self._last += len(fresh)
            return appended

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted = Selection(**which)
        with self._alone():
            by_kind = self._of(scope).by_kind
            parts = []
            for kind in set(wanted.kinds or by_kind):
                events = by_kind.get(kind, [])
                first = bisect_right(events, wanted.after, key=_position)
                last = len(events) if wanted.upto is None else bisect_right(events, wanted.upto, key=_position)
                rows = range(last - 1, first - 1, -1) if wanted.newest else range(first, last)
                parts.append(map(events.__getitem__, rows))
            # As far as the limit: most readings want the last few events of thousands.
            between = filter(wanted.test(), merge(*parts, key=_position, reverse=wanted.newest))
            found = (event for event in between if scope.session in (None, event.scope.session))
            taken = list(islice(found, None if wanted.limit is None else max(0, wanted.limit)))
        return taken[::-1] if wanted.newest else taken

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        with self._alone():
            before = self._of(owner)
            if seen is not None and (last := before.last()) > seen:
                raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
            self.destroy(owner, positions, rewritten)
            try:
                return self.append(owner, [note])[0]
            except BaseException:
                self._owners[owner.owner] = before
                raise

    def destroy(self, owner: Scope, positions: Sequence[int], rewritten: Payloads) -> None:
        """Destroy these events, and rewrite others, without a note."""
        with self._alone():
            gone = set(positions)
            entries = {key: entry for key, entry in self._of(owner).entries.items() if entry.position not in gone}
            for key, entry in entries.items():
                if (payload := rewritten.get(entry.position)) is not None:
                    if isinstance(entry, Event):
                        entries[key] = replace(entry, payload=_copied(payload))
                    else:
                        entries[key] = replace(entry, digest=digest(to_json(payload)))
            self._owners[owner.owner] = _Owned(entries)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        with self._alone():
            gone, entries = set(positions), self._of(owner).entries.copy()
            for key, entry in entries.items():
                if isinstance(entry, Event) and entry.position in gone:
                    entries[key] = _Dropped(entry.position, entry.kind, digest(to_json(entry.payload)))
            self._owners[owner.owner] = _Owned(entries)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        with self._alone():
            entries = self._of(owner).entries.copy()
            taken = {entry.position for mine in self._owners.values() for entry in mine.entries.values()}
            for event in events:
                if event.position not in taken:
                    taken.add(event.position)
                    kept = replace(event, payload=_copied(event.payload))
                    entries.setdefault((event.scope.session, event.id), kept)
            self._owners[owner.owner] = _Owned(entries)
            self._last = max([self._last, *(entry.position for entry in entries.values())])

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        with self._alone():
            owners = self._owners if scope is None else {scope.owner: self._of(scope)}
            return {owner: last for owner, mine in owners.items() if (last := mine.last())}

    def size(self) -> LogSize:
        with self._alone():
            of = {(owner, *key): entry for owner, mine in self._owners.items() for key, entry in mine.entries.items()}
        sessions = {
            (owner, session) for (owner, session, _), entry in of.items() if session or entry.kind is EventKind.MESSAGE
        }
        archived = sum(isinstance(entry, _Dropped) for entry in of.values())
        owners = len({owner for owner, _, _ in of})
        return LogSize(owners, len(sessions), events=len(of) - archived, bytes=0, archived=archived)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._owners = {}

    def _of(self, owner: Scope) -> _Owned:
        return self._owners.get(owner.owner) or _Owned({})


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    return copy


@dataclass(slots=True)
class _Row:
    record: Record
    terms: Counter[str]
    key: bytes = b""
    vector: Floats | None = None


class InMemoryIndex(_Locked, SemanticIndex):
    """A semantic index that scores every record of the scope."""

    def __init__(self) -> None:
        super().__init__()
        self._clear()

    def _clear(self) -> None:
        self._records: dict[int, _Row] = {}
        self._applied: dict[Scope, tuple[int, str]] = {}
        self._embedder: tuple[str, int] | None = None

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        with self._alone():
            mine = self._rows(Where(owner.owner)) if owner and (sessions or pending or sums) else []
            turns = [row.record for row in mine if row.record.kind is RecordKind.TURN]
            last = {turn.scope.session: turn.id for turn in sorted(turns, key=lambda turn: turn.id)}
            vectors = [row.vector for row in mine if row.vector is not None] if sums else []
            applied, anchor = self._applied.get(owner.owner, (0, "")) if owner else (0, "")
            held = sum(row.vector is not None for row in self._records.values()) if sums else 0
            return Status(
                applied=applied,
                anchor=anchor,
                embedder=self._embedder,
                tails={session: last[session] for session in sessions if session in last},
                pending=sorted(row.record.id for row in mine if row.vector is None)[:pending],
                vectors=len(vectors),
                total=np.sum(vectors, axis=0, dtype=np.float64) if vectors else None,
                size=IndexSize(len(self._records), held, len(self._records) - held) if sums else IndexSize(0, 0, 0),
            )

    def upsert(self, owner: Scope, entries: Sequence[Entry], **move: Unpack[Move]) -> bool:
        with self._alone():
            applied, anchor = self._applied.get(owner.owner, (0, ""))
            if applied != move["after"] or move.get("seen") not in (None, anchor):
                return False
            self._applied[owner.owner] = move["upto"], move.get("anchor", "")
            self._remove([number for number in move.get("gone", ()) if self._owns(owner, number)])
            for entry in entries:
                self._remove([entry.record.id])
                self._records[entry.record.id] = _Row(entry.record, Counter(entry.terms.split()))
            for number, use in move.get("uses", {}).items():
                if self._owns(owner, number):
                    row = self._records[number]
                    last = max(use.at, row.record.last_used or use.at)
                    row.record = replace(row.record, uses=row.record.uses + use.count, last_used=last)
            return True

    def put_vectors(self, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        with self._alone():
            if self._embedder is not None and self._embedder != embedder:
                raise EmbedderMismatchError(self._embedder, embedder)
            self._embedder = embedder
            known = {**self._vectors(), **{key: np.array(row, dtype=np.float32) for key, row in vectors.items()}}
            for number, key in keys.items():
                if (row := self._records.get(number)) is not None and row.vector is None and key in known:
                    row.key, row.vector = key, known[key]

    def search(self, query: Query, where: Where, k: int) -> Matches:
        with self._alone():
            rows = self._rows(where)
            if query is None:
                newest = sorted(((row.record.at, row.record.id) for row in rows), reverse=True)[:k]
                ids = np.array([number for _, number in newest], dtype=np.int64)
                return Matches(ids, np.zeros(len(ids), dtype=np.float32))
            if isinstance(query, np.ndarray):
                return Matches.best(
                    {row.record.id: float(row.vector @ query) for row in rows if row.vector is not None}, k
                )
            mine = self._rows(Where(where.scope.owner))
            frequencies = {term: sum(term in row.terms for row in mine) for term in dict.fromkeys(query)}
            length = sum(row.terms.total() + 1 for row in mine)
            return ranked(((row.record.id, row.terms) for row in rows), frequencies, len(mine), length, k)

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        with self._alone():
            seeds = [self._records[number].record for number in ids.tolist() if number in self._records]
            near = {(seed.segment, seed.ordinal + step) for seed in seeds for step in range(-radius, radius + 1)}
            found = [row.record for row in self._rows(where) if (row.record.segment, row.record.ordinal) in near]
        return columns_of(found)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        with self._alone():
            known = self._vectors()
        return {key: known[key] for key in keys if key in known}

    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        with self._alone():
            mine = {row.record.id: row.vector for row in self._rows(Where(owner.owner)) if row.vector is not None}
        return vectors_at(ids, {number: mine[number] for number in ids.tolist() if number in mine})

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        with self._alone():
            counts = Counter(term for row in self._rows(Where(owner.owner)) for term in row.terms)
        return {term: count for term, count in counts.items() if term in words or (near and term[0] == near[0])}

    def get(self, ids: Sequence[int]) -> list[Record]:
        with self._alone():
            return [self._records[number].record.copied() for number in ids if number in self._records]

    def delete(self, ids: Sequence[int] | None) -> int:
        with self._alone():
            gone = self._remove(list(self._records) if ids is None else ids)
            if ids is None:
                self._clear()
            return gone

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._clear()

    def _owns(self, owner: Scope, number: int) -> bool:
        row = self._records.get(number)
        return row is not None and row.record.scope.owner == owner.owner

    def _remove(self, ids: Sequence[int]) -> int:
        return sum(self._records.pop(number, None) is not None for number in ids)

    def _vectors(self) -> dict[bytes, Floats]:
        return {row.key: row.vector for row in self._records.values() if row.vector is not None}

    def _rows(self, where: Where) -> list[_Row]:
        return [row for row in self._records.values() if where.allows(row.record)]
