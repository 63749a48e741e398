"""Secrets and personal data are taken out of messages before they are stored, or before they are indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.media import is_media
from hybrid_memory.log.message import Message
from hybrid_memory.store.services import Services
from hybrid_memory.text.redaction import redact


def stored(services: Services, message: Message) -> Message:
    """The message as the log takes it: redacted, unless the original is to be kept."""
    policy = services.config.redaction
    return message if not policy.kinds or policy.keep_original else _redacted(message, policy.kinds)


def stored_text(services: Services, text: str) -> str:
    """Another text as the log takes it, likewise."""
    policy = services.config.redaction
    return text if not policy.kinds or policy.keep_original else redact(text, policy.kinds).text


def learnt(services: Services, events: Sequence[Event]) -> list[Event]:
    """The events as the index and the learners see them: redacted where the log has the original."""
    policy = services.config.redaction
    if not policy.kinds or not policy.keep_original:
        return list(events)
    return [
        replace(event, payload=_payload(_redacted(event.message, policy.kinds)))
        if event.kind is EventKind.MESSAGE
        else event
        for event in events
    ]


def _payload(message: Message) -> dict[str, Any]:
    return message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})


def _redacted(message: Message, kinds: Sequence[str]) -> Message:
    calls = [call.model_copy(update={"arguments": _without(call.arguments, kinds)}) for call in message.tool_calls]
    return message.model_copy(update={"content": _without(message.content, kinds), "tool_calls": calls})


def _without(value: Any, kinds: Sequence[str]) -> Any:
    """JSON with every text in it redacted."""
    if isinstance(value, str):
        return redact(value, kinds).text
    if isinstance(value, list):
        return [_without(item, kinds) for item in value]
    if isinstance(value, dict) and is_media(value):
        return value  # in the letters of a picture a pattern would only find chance
    if isinstance(value, dict):
        return {key: _without(item, kinds) for key, item in value.items()}
    return value
