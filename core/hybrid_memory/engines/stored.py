"""Times, owners, events and records in the form that engines store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.errors import IdConflictError
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(at: datetime | None) -> int | None:
    """Whole microseconds since 1970, or None."""
    return None if at is None else to_micros(at)


def owner_key(scope: Scope) -> tuple[str, str, str, str]:
    """Tenant, user, agent and space; empty if absent."""
    return (scope.tenant or "", scope.user or "", scope.agent or "", scope.space or "")


def owner_json(scope: Scope) -> str:
    """The scope's owner as JSON, the same text for the same owner."""
    return json.dumps([scope.tenant, scope.user, scope.agent, scope.space])


# A service asks for the state of all its owners again and again, and each scope is checked when made.
@lru_cache(maxsize=1 << 16)
def owner_scope(tenant: str, user: str, agent: str, space: str, session: str = "") -> Scope:
    """The scope in the stored strings."""
    return Scope(tenant or None, user or None, agent or None, session or None, space or None)


def to_json(value: Any) -> str:
    """Compact JSON without whitespace or line breaks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def vector_bytes(vector: Floats) -> bytes:
    """A vector in half precision: half the bytes, and the similarity of two unit vectors changes by less than .001."""
    return np.asarray(vector, dtype=np.float16).tobytes()


def vector_of(stored: bytes) -> Floats:
    """The vector, or several of one length one after the other, that `vector_bytes` wrote."""
    return np.frombuffer(stored, dtype=np.float16).astype(np.float32)


def digest(payload: str) -> bytes:
    """A digest of JSON, the same whatever the order of its keys."""
    return hashlib.sha256(json.dumps(json.loads(payload), sort_keys=True).encode()).digest()


EVENT_FIELDS = ("position", "id", "session", "kind", "at", "payload", "sources", "author")
"""The columns of an event in a table, besides those of its owner."""


def draft_row(draft: Draft) -> tuple[Any, ...]:
    """The values of `EVENT_FIELDS` after the position."""
    said = (draft.session or "", draft.kind.value, to_micros(draft.at), to_json(draft.payload))
    return (draft.id, *said, json.dumps(draft.sources), draft.author)


def event_row(event: Event) -> tuple[Any, ...]:
    """The values of `EVENT_FIELDS`."""
    return (event.position, *draft_row(Draft.of(event)))


def event_in(row: Sequence[Any], *owner: str) -> Event:
    """The event in a row of `EVENT_FIELDS`; tenant, user, agent and space follow, or are given."""
    position, event_id, session, kind, at, payload, sources, author = row[: len(EVENT_FIELDS)]
    return Event(
        position=position,
        id=event_id,
        scope=owner_scope(*row[len(EVENT_FIELDS) :], *owner, session),
        kind=EventKind(kind),
        at=from_micros(at),
        payload=json.loads(payload),
        sources=() if sources == "[]" else tuple(json.loads(sources)),
        author=author,
    )


def conflict(draft: Draft, where: str) -> IdConflictError:
    """The error for an id that another event has."""
    return IdConflictError(
        f"id {draft.id!r} is already used by another message of this session {where}: the log is append-only, so give "
        "the new message another id"
    )


RECORD_FIELDS = (
    *("id", "kind", "category", "speaker", "text", "at", "segment", "ordinal", "importance", "uses", "last_used"),
    *("valid_from", "valid_to", "sources", "metadata", "turn", "author", "origin"),
)
"""The columns of a record in a table, after those of its owner and session."""

_INSTANTS = ("at", "last_used", "valid_from", "valid_to")
_PLAIN = tuple(part.name for part in fields(Record) if part.name != "scope")


def plain(record: Record) -> dict[str, Any]:
    """The record's fields except its scope, as JSON types; times in microseconds."""
    values = {name: getattr(record, name) for name in _PLAIN}
    instants = {name: micros_or_none(values[name]) for name in _INSTANTS}
    return {**values, **instants, "kind": record.kind.value, "origin": record.origin.value}


def record_of(scope: Scope, values: Mapping[str, Any]) -> Record:
    """The record with the fields that `plain` returned."""
    instants = {name: None if values[name] is None else from_micros(values[name]) for name in _INSTANTS}
    kind, origin = RecordKind(values["kind"]), Origin(values["origin"])
    rest = {"scope": scope, "kind": kind, "origin": origin, "sources": tuple(values["sources"])}
    return Record(**{**values, **instants, **rest})


def columns_of(records: Iterable[Record]) -> RecordColumns:
    """The columns of these records."""
    rows = [
        (one.id, one.segment, one.ordinal, len(one.text), to_micros(one.at), one.importance, one.uses, one.last_used)
        for one in records
    ]
    return RecordColumns.of([(*numbers, micros_or_none(last) or 0) for *numbers, last in rows])


def vectors_at(ids: Ids, vectors: Mapping[int, Floats]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The vectors of these records as rows, zeros without one, and which have one."""
    rows = np.zeros((len(ids), len(next(iter(vectors.values()), ()))), dtype=np.float32)
    present = np.array([number in vectors for number in ids.tolist()], dtype=np.bool_)
    for row in np.flatnonzero(present):
        rows[row] = vectors[int(ids[row])]
    return rows, present


def row_of(owner: int, record: Record) -> dict[str, Any]:
    """The values of a record in a table, by column."""
    return {
        **plain(record),
        "owner": owner,
        "session": record.scope.session or "",
        "length": len(record.text),
        "sources": json.dumps(record.sources),
        "metadata": json.dumps(record.metadata, ensure_ascii=False) if record.metadata else "{}",
    }


def record_in(row: Sequence[Any]) -> Record:
    """The record in a row of its owner's names, its session, and `RECORD_FIELDS`."""
    values = dict(zip(RECORD_FIELDS, row[5:], strict=True))
    values["sources"] = json.loads(values["sources"])
    values["metadata"] = {} if values["metadata"] == "{}" else json.loads(values["metadata"])  # most have none
    return record_of(owner_scope(*row[:5]), values)
