"""L2 on Redis: records and vectors as rows, searched in memory; see `hybrid_memory.engines.columns`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Unpack
from uuid import uuid4

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.columns import CACHE_BYTES, ROW, Changes, Columns, Row, RowIndex
from hybrid_memory.engines.redis.connection import RedisConnection, Script, Value, digest_or_none, owner_tag
from hybrid_memory.engines.redis.index_scripts import CHANGES, DELETE, GIVE_VECTORS, LEASE, RESET, UPSERT
from hybrid_memory.engines.stored import (
    RECORD_FIELDS,
    owner_json,
    owner_key,
    record_in,
    row_of,
    to_json,
    to_micros,
    vector_bytes,
    vector_of,
)
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import Entry, IndexSize, Move, Status
from hybrid_memory.index.record import Keys, Record, RecordKind, Vectors
from hybrid_memory.scope import Scope

PAGE = 1_000  # records per answer of the server, which serves nobody else in the meantime, for a few milliseconds
ASKED = 8  # of how many records with a text its vector is asked for; the first one mostly has it

_HELD = tuple(name for name in ROW if name not in ("terms", "vector"))
_STORED = ("tenant", "user", "agent", "space", "session", *RECORD_FIELDS)
"""What is stored of a record for a search, and for whoever reads it."""

_USES, _LAST = _HELD.index("uses"), _HELD.index("last_used")


class RedisIndex(RowIndex):
    """The semantic index on a server, which needs no module; it closes the connection.

    A vector is stored with its record, and found by its content hash as long as a record has it.
    """

    def __init__(self, connection: RedisConnection, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(cache_bytes)
        self._connection = connection
        self._owners, self._rows = f"{connection.prefix}:owners", f"{connection.prefix}:rows"
        connection.warn_of_eviction("records")

    def changes(self, owner: Scope, known: Columns) -> Changes:
        tag, since, number, epoch = owner_tag(owner), known.number, known.number, known.epoch
        rows: dict[int, Row] = {}
        gone: set[int] = set()
        while True:
            answer = self._run(CHANGES, tag, [epoch, since, number, PAGE])
            if not answer:
                return Changes()
            now, number, left, found = int(answer[0]), int(answer[1]), list(map(int, answer[2])), answer[3:]
            if now != epoch:
                epoch, since, rows, gone = now, -1, {}, set()
            gone.update(left)
            for record in left:
                rows.pop(record, None)
            stored = json.loads(b"[%b]" % b",".join(row or b"null" for row in found[0]))
            for row, used, vector in zip(stored, *found[1:], strict=True):
                if row is None:  # evicted
                    continue
                written, _, *values, terms = row
                uses, last = _uses(used)
                values[_USES] += uses
                values[_LAST] = max(values[_LAST] or 0, last)
                new = terms if written > since else None
                rows[values[0]] = (*values, new, None if vector is None else vector.split(b" ", 2)[2])
            if len(stored) < PAGE:
                return Changes(number, epoch, [rows[record] for record in sorted(rows)], sorted(gone))

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        root = "" if owner is None else self._root(owner_tag(owner))
        bounds = [(f"({digest_or_none(session)};", f"[{digest_or_none(session)}:") for session in sessions]
        embedder, (applied, anchor, number, epoch), waiting, *last = self._connection.calls(
            [
                ("GET", f"{self._rows}:embedder"),
                ("HMGET", f"{root}:state", "applied", "anchor", "number", "epoch"),
                ("ZRANGEBYSCORE", f"{root}:pending", "-inf", "+inf", "LIMIT", 0, pending),
                *(("ZREVRANGEBYLEX", f"{root}:turns", *bound, "LIMIT", 0, 1) for bound in bounds),
            ]
        )
        tags = self._connection.call("HKEYS", self._owners) if sums and owner is None else []
        parts = [f"{self._root(tag.decode())}:{part}" for tag in tags for part in ("rows", "vectors")]
        counts = self._connection.calls([("HLEN", part) for part in parts])
        records, vectors = sum(counts[::2]), sum(counts[1::2])
        status = Status(
            applied=int(applied or 0),
            anchor=(anchor or b"").decode(),
            embedder=None if embedder is None else _pair(embedder),
            tails={session: _id_of(one[0]) for session, one in zip(sessions, last, strict=True) if one},
            pending=list(map(int, waiting)),
            size=IndexSize(records, vectors, pending=records - vectors),
        )
        if not sums or owner is None:
            return status
        now = (int(number or 0), int(epoch or 0))

        def changes(known: Columns) -> Changes:
            return Changes(*now) if (known.number, known.epoch) == now else self.changes(owner, known)

        return self.owner_columns(owner, changes).summed(status)

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        commands: list[tuple[Value, ...]] = []
        for owner in owners:
            root = self._root(owner_tag(owner))
            commands += [("HMGET", f"{root}:state", "applied", "anchor"), ("ZRANGE", f"{root}:pending", 0, 0)]
        answers = self._connection.calls(commands)
        return {
            owner: Status(int(applied or 0), (anchor or b"").decode(), pending=list(map(int, waiting)))
            for owner, (applied, anchor), waiting in zip(owners, answers[::2], answers[1::2], strict=True)
        }

    def stored_before(self, owner: Scope, records: Sequence[Record]) -> list[int]:
        places = [_place(record.scope.session, record.segment, record.ordinal - 1) for record in records]
        turns = f"{self._root(owner_tag(owner))}:turns"
        found = self._connection.calls([("ZRANGEBYLEX", turns, f"[{place}:", f"({place};") for place in places])
        return [_id_of(turn[-1]) for turn in found if turn]

    def upsert(self, owner: Scope, entries: Sequence[Entry], **move: Unpack[Move]) -> bool:
        tag, by_id = owner_tag(owner), {entry.record.id: entry for entry in entries}
        # Ids are positions: where a log was set back, they come again, perhaps as somebody else's.
        for other, numbers in self._by_owner(by_id).items():
            if other != tag:
                self.delete(numbers)
        # Whose a record is must be known before it is there, so that it can always be found by its id.
        commands: list[list[Value]] = [["HSETNX", self._owners, tag, owner_json(owner)]]
        if by_id:
            commands.append(["HSET", f"{self._rows}:records", *(part for number in by_id for part in (number, tag))])
        self._connection.calls(commands)
        call = uuid4().hex  # so that the script knows its own work where the answer was lost and it is sent again
        expected = "" if (seen := move.get("seen")) is None else f"={seen}"
        stored: list[Value] = []  # of each record: id, place, what a search needs, the record
        for record, row, terms in [(entry.record, row_of(0, entry.record), entry.terms) for entry in by_id.values()]:
            place = f"{_place(record.scope.session, record.segment, record.ordinal)}:{record.id}"
            held = to_json([*(row[name] for name in _HELD), terms]).removeprefix("[")
            whole = to_json([*owner_key(record.scope), row["session"], *(row[name] for name in RECORD_FIELDS)])
            stored += [record.id, place if record.kind is RecordKind.TURN else "", held, whole]
        used = [
            value for number, use in move.get("uses", {}).items() for value in (number, use.count, to_micros(use.at))
        ]
        left = " ".join(map(str, [*move.get("gone", ()), *by_id]))
        moved: list[Value] = [call, move["after"], move["upto"], move.get("anchor", ""), expected]
        answer = self._run(UPSERT, tag, [*moved, left, len(by_id), *stored, *used])
        self._forget(tag, answer[1:])
        return bool(answer)

    def put_vectors(self, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        named = [("SET", f"{self._rows}:embedder", json.dumps(embedder), "NX"), ("GET", f"{self._rows}:embedder")]
        if (stored := _pair(self._connection.calls(named)[1])) != tuple(embedder):
            raise EmbedderMismatchError(stored, embedder)
        known = self.known([key for key in keys.values() if key not in vectors])
        blobs = {key: vector_bytes(row) for key, row in (known | {**vectors}).items()}
        held: list[Value] = []
        for tag, numbers in self._by_owner(number for number, key in keys.items() if key in blobs).items():
            values = [part for number in numbers for part in (number, keys[number].hex(), blobs[keys[number]])]
            for number in map(int, self._run(GIVE_VECTORS, tag, values)):
                held += [0, f"{keys[number].hex()}:{tag}:{number}"]
        self._connection.calls([["ZADD", f"{self._rows}:holders", *held]] if held else [])

    def lease(self, owner: Scope, holder: str, seconds: float) -> bool:
        return bool(self._run(LEASE, owner_tag(owner), [holder, round(seconds * 1000)]))

    def get(self, ids: Sequence[int]) -> list[Record]:
        self._connection.check_open()
        of_owner = self._by_owner(ids).items()
        found = {record.id: record for tag, numbers in of_owner for record in self._records(tag, numbers)}
        return [found[number] for number in ids if number in found]

    def records(self, owner: Scope, ids: Sequence[int]) -> list[Record]:
        return self._records(owner_tag(owner), ids)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        self._connection.check_open()
        hashes = {key.hex(): key for key in keys}
        answers = self._connection.calls(
            [("ZRANGEBYLEX", f"{self._rows}:holders", f"[{key}:", f"({key};", "LIMIT", 0, ASKED) for key in hashes]
        )
        holders = [holder.decode().split(":") for answer in answers for holder in answer]
        blobs = self._connection.calls([("HGET", f"{self._root(tag)}:vectors", number) for _, tag, number in holders])
        held = {key.decode(): vector for _, key, vector in (blob.split(b" ", 2) for blob in blobs if blob is not None)}
        # A record may have another text by now.
        return {hashes[key]: vector_of(vector) for key, vector in held.items() if key in hashes}

    def delete(self, ids: Sequence[int] | None) -> int:
        if ids is None:
            owners = self._connection.call("HKEYS", self._owners)
            count = sum(self._disown(self._run(RESET, owner.decode(), [])) for owner in owners)
            # The embedder last, so that whoever finds a half-done reset does not mix vectors of two.
            self._connection.calls([("UNLINK", f"{self._rows}:holders"), ("DEL", f"{self._rows}:embedder")])
            return count
        count = 0
        for tag, numbers in self._by_owner(ids).items():
            removed = self._run(DELETE, tag, numbers)
            self._forget(tag, removed)
            count += self._disown(removed[::2])
        return count

    def scrub(self) -> None:
        self._connection.rewrite()

    def close(self) -> None:
        super().close()
        self._connection.close()

    def _records(self, tag: str, ids: Sequence[int]) -> list[Record]:
        """These records of the owner with this tag, in the given order."""
        if not ids:
            return []
        root = self._root(tag)
        parts = self._connection.calls([("HMGET", f"{root}:{part}", *ids) for part in ("records", "uses")])
        records = []
        for stored, used in zip(*parts, strict=True):
            if stored is not None:
                values = dict(zip(_STORED, json.loads(stored), strict=True))
                if used is not None:
                    uses, last = _uses(used)
                    values["uses"] += uses
                    values["last_used"] = max(values["last_used"] or 0, last)
                records.append(record_in([*values.values()]))
        return records

    def _forget(self, tag: str, removed: Sequence[bytes]) -> None:
        """Removed records, given with their content hashes, hold no vector any more."""
        pairs = zip(removed[::2], removed[1::2], strict=True)
        held = [f"{key.decode()}:{tag}:{number.decode()}" for number, key in pairs if key]
        self._connection.calls([("ZREM", f"{self._rows}:holders", *held)] if held else [])

    def _disown(self, removed: Sequence[bytes]) -> int:
        self._connection.calls([("HDEL", f"{self._rows}:records", *removed)] if removed else [])
        return len(removed)

    def _by_owner(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """The records grouped by owner tag; records without an owner are left out."""
        numbers = list(dict.fromkeys(map(int, ids)))
        owners: dict[str, list[int]] = defaultdict(list)
        tags = self._connection.call("HMGET", f"{self._rows}:records", *numbers) if numbers else []
        for number, tag in zip(numbers, tags, strict=True):
            if tag is not None:
                owners[tag.decode()].append(number)
        return owners

    def _root(self, tag: str) -> str:
        return f"{self._rows}:{{{tag}}}"

    def _run(self, script: Script, tag: str, values: Sequence[Value]) -> Any:
        return self._connection.script(script, self._root(tag), values)


def _place(session: str | None, segment: int, ordinal: int) -> str:
    """Where a turn stands, as text: the turns of a session sort by it."""
    return f"{digest_or_none(session)}:{segment:016x}:{ordinal:08x}"


def _uses(answer: bytes | None) -> tuple[int, int]:
    """How often a record was used, and when it was last used."""
    uses, last = (answer or b"0 0").split()
    return int(uses), int(last)


def _id_of(turn: bytes) -> int:
    """The record id at the end of a member of ``turns``."""
    return int(turn.rpartition(b":")[2])


def _pair(answer: bytes) -> tuple[str, int]:
    name, dim = json.loads(answer)
    return name, dim
