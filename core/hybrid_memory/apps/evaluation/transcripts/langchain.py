"""LangChain's messages as ``messages_to_dict``, ``dumpd`` or ``model_dump`` write them, and LangGraph's state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts import chats
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, mapping, said
from hybrid_memory.log.message import Message, Role

FILES = ("*.json", "*.jsonl")

_ROLES = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "chat": Role.USER,
    "remove": Role.USER,
}
_SPEAKERS = {"assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_CONTENT = "content"


def fits(value: Any) -> bool:
    """Whether a value is of this form: a message, or a conversation that begins with one."""
    return chats.holds(value, is_message)


def read(records: Iterable[Record]) -> Iterator[chats.Conversation]:
    """The conversations of a file."""
    return chats.conversations(records, "LangChain", is_message, messages)


def is_message(value: Any) -> bool:
    """Whether it is one in any of the three shapes."""
    return _fields(value) is not None


def messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages behind one of this form; one that takes another back says nothing."""
    kind, fields = _fields(value) or ("remove", {})
    if kind == "remove":
        return []
    extra, metadata = mapping(fields.get("additional_kwargs")), mapping(fields.get("response_metadata"))
    legacy = extra.get("function_call")
    calls = items(fields.get("tool_calls")) + items(fields.get("invalid_tool_calls"))
    calls = calls or items(extra.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
    speaker = str(fields.get("role", "")).lower() if kind == "chat" else ""
    return said(
        _SPEAKERS.get(speaker, _ROLES[kind]),
        fields.get(_CONTENT),
        calls=calls,
        answers=fields.get("tool_call_id"),
        name=fields.get("name") or (speaker if speaker not in {"user", "human", *_SPEAKERS} else None),
        id_=fields.get("id"),
        at=extra.get("timestamp") or metadata.get("timestamp") or metadata.get("created_at"),
    )


def _fields(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """The type and the fields of a message; None if it is none."""
    if not isinstance(value, Mapping):
        return None
    fields = value
    if isinstance(value.get("data"), Mapping):
        fields = {"type": value.get("type"), **value["data"]}
    elif "lc" in value and isinstance(value.get("kwargs"), Mapping):
        path = value.get("id")
        named = path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""
        fields = {"type": named.removesuffix("Chunk").removesuffix("Message").lower(), **value["kwargs"]}
    kind = fields.get("type")
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return (kind, fields) if kind in _ROLES and _CONTENT in fields and "uuid" not in fields else None
