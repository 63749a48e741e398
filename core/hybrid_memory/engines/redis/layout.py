"""The layout of a store: key names, and the stored form of events."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from hybrid_memory.engines.redis.connection import Value
from hybrid_memory.engines.stored import from_micros, owner_json, to_json, to_micros
from hybrid_memory.log.event import Event, EventKind
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


def owner_of(text: str | bytes) -> Scope:
    """The owner that `owner_json` wrote."""
    tenant, user, agent, space = json.loads(text)
    return Scope(tenant, user, agent, space=space)


class Keys:
    """The keys of a store: owners by tag, the last assigned position, and those of log and index."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.owners = f"{prefix}:owners"
        self.position = f"{prefix}:position"
        self.embedder = f"{prefix}:rows:embedder"

    def log(self, tag: str) -> str:
        return f"{self.prefix}:log:{{{tag}}}"

    def index(self, tag: str) -> str:
        return f"{self.prefix}:rows:{{{tag}}}"

    def owners_of_records(self, number: int) -> str:
        """The key with the owner tags of this record and some thousand others, by id."""
        return f"{self.prefix}:rows:owners:{number >> 12}"

    def holders(self, key: str) -> str:
        """The key with the records that have the vector of this content hash, and others that begin alike."""
        return f"{self.prefix}:rows:holders:{key[:2]}"


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
