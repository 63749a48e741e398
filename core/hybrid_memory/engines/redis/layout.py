"""How a store is laid out: names of keys, and events and records as they stand under them.

Everything of one owner carries one hash tag, so that it lies in one slot of a cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hybrid_memory.engines.instants import from_micros, plain, record_of, to_micros
from hybrid_memory.engines.redis.connection import Value
from hybrid_memory.engines.redis.index_scripts import PLACE_STEP
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope

NONE = "-"
"""Stands for a session or category that is not there; no digest looks like it."""


def digest(text: str) -> str:
    """24 hexadecimal digits that stand for any text: names in queries and keys need no escaping then."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=65536)
def digest_or_none(text: str | None) -> str:
    """The same, or `NONE`."""
    return NONE if text is None else digest(text)


@lru_cache(maxsize=65536)
def owner_tag(scope: Scope) -> str:
    """32 hexadecimal digits that stand for the scope's owner."""
    return hashlib.blake2b(owner_json(scope).encode(), digest_size=16).hexdigest()


def owner_json(scope: Scope) -> str:
    """The owner, as `owner_of` reads it."""
    return json.dumps(_owner_parts(scope))


def _owner_parts(scope: Scope) -> list[str | None]:
    return [scope.tenant, scope.user, scope.agent, scope.space]


def owner_of(text: str | bytes) -> Scope:
    """The owner that `owner_json` wrote."""
    tenant, user, agent, space = json.loads(text)
    return Scope(tenant, user, agent, space=space)


class Keys:
    """The keys of a store: tag to owner, the last position given out, the embedder, ..."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.owners = f"{prefix}:owners"
        self.position = f"{prefix}:position"
        self.embedder = f"{prefix}:embedder"
        self.records = f"{prefix}:record:"
        self.search = f"{prefix}:search"

    def log(self, tag: str) -> str:
        return f"{self.prefix}:log:{{{tag}}}"

    def index(self, tag: str) -> str:
        return f"{self.prefix}:index:{{{tag}}}"

    def record(self, tag: str, number: int | str = "") -> str:
        return f"{self.records}{{{tag}}}:{number}"

    def owners_of_records(self, number: int) -> str:
        """Where the tags of the owners of this record and of some thousand others stand, by their ids."""
        return f"{self.prefix}:owner-of:{number >> 12}"


def to_values(written: Draft | Event) -> list[Value]:
    """What the scripts take: fixed or position, session, id, kind, time, digest, a line of JSON, and the payload."""
    first, session = (
        (int(written.fixed_id), written.session)
        if isinstance(written, Draft)
        else (written.position, written.scope.session)
    )
    return [
        first,
        digest_or_none(session),
        written.id,
        written.kind.value,
        to_micros(written.at),
        payload_digest(written.payload),
        to_json([written.id, session, written.sources, written.author]),
        to_json(written.payload),
    ]


def to_event(owner: Scope, position: bytes, stored: bytes) -> Event:
    """The event at a position."""
    line, meta, payload = stored.split(b"\n", 2)
    kind, _, at = line.split(b" ")
    event_id, session, sources, author = json.loads(meta)
    return Event(
        position=int(position),
        id=event_id,
        scope=owner if session is None else Scope(owner.tenant, owner.user, owner.agent, session, owner.space),
        kind=EventKind(kind.decode()),
        at=from_micros(int(at)),
        payload=json.loads(payload),
        sources=tuple(sources),
        author=author,
    )


def payload_digest(payload: dict[str, Any]) -> str:
    """The same for payloads that are equal as JSON values, whatever the order of their keys."""
    text = json.dumps(_plain(payload), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def to_json(value: Any) -> str:
    """JSON without blanks, and so without line breaks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """With one form for numbers that Python holds equal: 1, 1.0 and true."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (bool, float)) and value == int(value):
        return int(value)
    return value


FIELDS = ("data", "uses", "last")
"""What `to_record` reads."""

LINE = ("uses", "last", "row", "line")
OLDER_LINE = ("at", "turn", "kind", "category", "session", "meta")
"""What `columns_of` reads; records of before version 0.10 have the parts of ``line`` only."""

_DATA = (
    *("text", "at", "sources", "segment", "ordinal", "kind", "speaker", "category", "importance"),
    *("valid_from", "valid_to", "metadata", "turn", "author", "origin"),
)
"""What ``data`` holds after id, owner and session, in this order."""


def to_entry(owner: str, entry: Entry) -> str:
    """The record as the scripts take it, with the fields of its hash; the owner as its tag."""
    record, values = entry.record, plain(entry.record)
    scope, at = record.scope, values["at"]
    words = " ".join(map(encode, entry.terms.split()))
    session = digest_or_none(scope.session)
    meta, data, line = labels_of(record)
    fields = {
        "owner": owner,
        "session": session,
        "kind": values["kind"],
        "category": digest_or_none(record.category),
        "at": at,
        "turn": record.turn,
        "said": f"{at + 10**18:019d}{record.id:019d}",
        "words": words,
        "meta": meta,
        "row": f"{record.segment} {record.ordinal} {len(record.text)} {record.importance!r}",
        "line": line,
        "uses": record.uses,
        "data": data,
    }
    if record.last_used is not None:
        fields["last"] = values["last_used"]
    return to_json(
        {
            "id": str(record.id),
            "place": str(record.segment * PLACE_STEP + record.ordinal),
            "at": str(at),
            "session": session,
            "turn": record.kind is RecordKind.TURN,
            "words": words,
            "fields": [str(part) for field in fields.items() for part in field],
        }
    )


def labels_of(record: Record) -> tuple[str, str, str]:
    """The fields of a record's hash that tell its origin: ``meta``, ``data``, and the ``line`` of its columns."""
    scope, values = record.scope, plain(record)
    meta = ",".join([*pairs(record.metadata), *_origin(record)]) or NONE
    labels = (values["kind"], digest_or_none(record.category), digest_or_none(scope.session), meta)
    data = to_json([record.id, _owner_parts(scope), scope.session, *(values[name] for name in _DATA)])
    return meta, data, " ".join(map(str, (values["at"], record.turn, *labels)))


def to_record(fields: Sequence[bytes | None]) -> Record:
    """The record of `FIELDS`."""
    data, uses, last = fields
    number, (tenant, user, agent, space), session, *rest = json.loads(data or b"")
    values = dict(zip(_DATA, rest, strict=False))  # records that were stored before have no origin
    values |= {"id": number, "uses": int(uses or 0), "last_used": None if last is None else int(last)}
    return record_of(Scope(tenant, user, agent, session, space), values)


def pairs(metadata: Mapping[str, Any]) -> list[str]:
    """A digest of each key with its value, types kept apart; without values that have parts."""
    return [
        digest(f"{key}\n{json.dumps(value)}") for key, value in metadata.items() if not isinstance(value, (dict, list))
    ]


def origin_label(origin: str) -> str:
    """What stands for an origin beside the pairs; no key has a NUL."""
    return digest(f"\0origin {origin}")


def _origin(record: Record) -> list[str]:
    return [] if record.origin is Origin.IMPORTED else [origin_label(record.origin)]


def encode(term: str) -> str:
    """A word that the text index takes whole: it would cut others at marks, and does not know every alphabet."""
    return f"t{term}" if term.isascii() and term.isalnum() else f"x{term.encode().hex()}"


def decode(word: str) -> str:
    """The term of a word."""
    return word[1:] if word[0] == "t" else bytes.fromhex(word[1:]).decode()


def listed(ids: Sequence[object]) -> str:
    """Ids in one text."""
    return " ".join(map(str, ids))
