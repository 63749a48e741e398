"""OpenAI chat messages: a list, ``{"messages": [...]}``, or JSONL with a message or a conversation a line.

Anthropic's messages are read as well: their calls and results stand among the content blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts import chats
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, said
from hybrid_memory.log.message import Message, Role

FILES = ("*.json", "*.jsonl")

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_SAYING = ("content", "tool_calls", "function_call", "refusal")
_OTHERS = ("blocks", "additional_kwargs", "uuid", "lc")
"""Fields by which messages of the other forms are known."""


def fits(value: Any) -> bool:
    """Whether a value is of this form: a message, or a conversation that begins with one."""
    return chats.holds(value, is_message)


def read(records: Iterable[Record]) -> Iterator[chats.Conversation]:
    """The conversations of a file."""
    return chats.conversations(records, "OpenAI chat", is_message, messages)


def is_message(value: Any) -> bool:
    """Whether it has a role and says something, or says nothing in so many words."""
    return (
        isinstance(value, Mapping)
        and has_role(value)
        and any(key in value for key in _SAYING)
        and not any(key in value for key in _OTHERS)
    )


def has_role(value: Mapping[str, Any]) -> bool:
    """Whether it says who speaks."""
    return isinstance(value.get("role"), str) and value["role"] in ROLES


def messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages behind one of this form."""
    legacy = value.get("function_call")
    calls = items(value.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
    times = (value.get(key) for key in ("timestamp", "created_at", "at"))
    return said(
        ROLES[value["role"]],
        value.get("content") or value.get("refusal"),
        calls=calls,
        answers=value.get("tool_call_id"),
        name=value.get("name"),
        id_=value.get("id"),
        at=next((time for time in times if time is not None), None),
    )
