"""The layout of a store: key names, and the stored form of events and records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hybrid_memory.engines.redis.connection import Value
from hybrid_memory.engines.redis.index_scripts import PLACE_STEP
from hybrid_memory.engines.stored import from_micros, plain, record_of, to_json, to_micros
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope

NONE = "-"
"""Represents a missing session or category; no digest looks like it."""


def digest(text: str) -> str:
    """A digest of 24 hexadecimal digits, so that names in queries and keys need no escaping."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=65536)
def digest_or_none(text: str | None) -> str:
    """The digest of a text, or `NONE`."""
    return NONE if text is None else digest(text)


@lru_cache(maxsize=65536)
def owner_tag(scope: Scope) -> str:
    """A digest of the scope's owner, 32 hexadecimal digits."""
    return hashlib.blake2b(owner_json(scope).encode(), digest_size=16).hexdigest()


def owner_json(scope: Scope) -> str:
    """The owner as JSON for `owner_of`."""
    return json.dumps(_owner_parts(scope))


def _owner_parts(scope: Scope) -> list[str | None]:
    return [scope.tenant, scope.user, scope.agent, scope.space]


def owner_of(text: str | bytes) -> Scope:
    """The owner that `owner_json` wrote."""
    tenant, user, agent, space = json.loads(text)
    return Scope(tenant, user, agent, space=space)


class Keys:
    """The keys of a store: owners by tag, the last assigned position, the embedder, ..."""

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
        """The key with the owner tags of this record and some thousand others, by id."""
        return f"{self.prefix}:owner-of:{number >> 12}"


def to_values(written: Draft | Event) -> list[Value]:
    """Arguments for the scripts: fixed or position, session, id, kind, time, digest, a line of JSON, payload."""
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
    """A digest that is the same for payloads with equal JSON values, whatever the order of their keys."""
    text = json.dumps(_plain(payload), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    """The value with one form for numbers that Python treats as equal: 1, 1.0 and true."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (bool, float)) and value == int(value):
        return int(value)
    return value


FIELDS = ("data", "uses", "last")
"""The fields read by `to_record`."""

LINE = ("uses", "last", "row", "line")
"""The fields read by `columns_of`."""

_DATA = (
    *("text", "at", "sources", "segment", "ordinal", "kind", "speaker", "category", "importance"),
    *("valid_from", "valid_to", "metadata", "turn", "author", "origin"),
)
"""The order of the values in ``data`` after id, owner and session."""


def to_entry(owner: str, entry: Entry) -> str:
    """The record as arguments for the scripts, with the fields of its hash; the owner as its tag."""
    record, values = entry.record, plain(entry.record)
    scope, at = record.scope, values["at"]
    words = " ".join(map(encode, entry.terms.split()))
    session = digest_or_none(scope.session)
    origins = [] if record.origin is Origin.IMPORTED else [origin_label(record.origin)]
    meta = ",".join([*pairs(record.metadata), *origins]) or NONE
    data = to_json([record.id, _owner_parts(scope), scope.session, *(values[name] for name in _DATA)])
    labels = (values["kind"], digest_or_none(record.category), session, meta)
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
        "line": " ".join(map(str, (at, record.turn, *labels))),
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


def to_record(fields: Sequence[bytes | None]) -> Record:
    """The record in the fields `FIELDS`."""
    data, uses, last = fields
    number, (tenant, user, agent, space), session, *rest = json.loads(data or b"")
    values = dict(zip(_DATA, rest, strict=True))
    values |= {"id": number, "uses": int(uses or 0), "last_used": None if last is None else int(last)}
    return record_of(Scope(tenant, user, agent, session, space), values)


def pairs(metadata: Mapping[str, Any]) -> list[str]:
    """A digest for each metadata pair, distinguishing types; lists and objects are left out."""
    return [
        digest(f"{key}\n{json.dumps(value)}") for key, value in metadata.items() if not isinstance(value, (dict, list))
    ]


def origin_label(origin: str) -> str:
    """The label of an origin among the pairs; it contains a NUL, which no key does."""
    return digest(f"\0origin {origin}")


def encode(term: str) -> str:
    """The term in a form that the text index does not split; it splits at punctuation and does not know all scripts."""
    return f"t{term}" if term.isascii() and term.isalnum() else f"x{term.encode().hex()}"


def decode(word: str) -> str:
    """The term behind an encoded word."""
    return word[1:] if word[0] == "t" else bytes.fromhex(word[1:]).decode()


def listed(ids: Sequence[object]) -> str:
    """Ids joined into one text."""
    return " ".join(map(str, ids))
