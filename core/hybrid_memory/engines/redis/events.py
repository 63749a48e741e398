"""Events as the server stores them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hybrid_memory.engines.instants import from_micros, to_micros
from hybrid_memory.engines.redis.connection import Value
from hybrid_memory.engines.redis.keys import digest_or_none
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope


def to_values(draft: Draft) -> list[Value]:
    """What the scripts take of a draft: fixed, session, id, kind, time, digest, a line of JSON, and the payload."""
    return [int(draft.fixed_id), *_values(draft, draft.session)]


def restored_values(event: Event) -> list[Value]:
    """The same of an event, with its position in the place of fixed."""
    return [event.position, *_values(event, event.scope.session)]


def _values(said: Draft | Event, session: str | None) -> list[Value]:
    return [
        digest_or_none(session),
        said.id,
        said.kind.value,
        to_micros(said.at),
        payload_digest(said.payload),
        to_json([said.id, session, said.sources, said.author]),
        to_json(said.payload),
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
