"""The gate at the log: what is written passes it without secrets and personal data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.log.delegating import DelegatingLog
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.media import is_media
from hybrid_memory.log.message import OWN_EXTRA
from hybrid_memory.log.port import Appended, Draft, EventLog
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import is_encoded
from hybrid_memory.text.redaction import redact

_SAID = ("content", "name", "metadata", "tool_calls", "extra")
_TEXTS = {
    EventKind.MESSAGE: _SAID,
    EventKind.QUARANTINED: _SAID,
    EventKind.PAYLOAD: ("text",),
    EventKind.RECALLED: ("query", "text"),
    EventKind.ITEM: ("value", "text"),
    EventKind.BLOCK: ("value", "description"),
}
"""The fields with words, by kind; other kinds have names and what was derived from these."""

_NAMES = OWN_EXTRA | {"made_of", "id", "call_id", "tool_call_id"}
"""Fields that name events and calls."""


class RedactingLog(DelegatingLog):
    """A log to which nothing is appended without being redacted."""

    def __init__(self, log: EventLog, kinds: Sequence[str]) -> None:
        super().__init__(log)
        self._kinds = kinds

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        clean = [replace(draft, payload=redacted(draft.kind, draft.payload, self._kinds)) for draft in drafts]
        return super().append(owner, clean, seen=seen)


def redacted(kind: EventKind, payload: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    """The payload of such an event, redacted wherever it has words."""
    texts = _TEXTS.get(kind, ())
    return {name: _without(value, kinds) if name in texts else value for name, value in payload.items()}


def _without(value: Any, kinds: Sequence[str], *, media: bool = False) -> Any:
    """The JSON value with every text redacted; in the letters of a picture a pattern would only find chance."""
    if isinstance(value, str):
        return value if media and is_encoded(value) else redact(value, kinds)
    if isinstance(value, list | tuple):
        return [_without(item, kinds, media=media) for item in value]
    if isinstance(value, Mapping):
        media = media or is_media(value)
        return {key: item if key in _NAMES else _without(item, kinds, media=media) for key, item in value.items()}
    return value
