"""Messages of OpenAI, Anthropic, LangChain and LlamaIndex: lists, conversations, stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts.documents import (
    PLAIN_FILES,
    Conversation,
    Reader,
    Record,
    conversations,
    holds,
)
from hybrid_memory.apps.transcripts.fields import items, mapping, messages_of
from hybrid_memory.validation import stated_time

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
"""Fields that identify messages of other forms."""


def _is_openai_message(value: Any) -> bool:
    """Whether it has a role and content, or explicitly empty content."""
    return (
        isinstance(value, Mapping)
        and has_role(value)
        and any(key in value for key in _SAYING)
        and not any(key in value for key in _OTHERS)
    )


def has_role(value: Mapping[str, Any]) -> bool:
    """Whether it has a role."""
    return isinstance(value.get("role"), str) and value["role"] in ROLES


def openai_messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages behind one of this form."""
    legacy = value.get("function_call")
    calls = items(value.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
    return messages_of(
        ROLES[value["role"]],
        value.get("content") or value.get("refusal"),
        calls=calls,
        answers=value.get("tool_call_id"),
        name=value.get("name"),
        id_=value.get("id"),
        at=stated_time(value),
    )


OPENAI = Reader.of_messages("OpenAI chat", _is_openai_message, openai_messages)


_LANGCHAIN_ROLES = {
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


def _is_langchain_message(value: Any) -> bool:
    """Whether it is a LangChain message in one of its three shapes."""
    return _fields(value) is not None


def langchain_messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages of a LangChain message; one that removes another is empty."""
    kind, fields = _fields(value) or ("remove", {})
    if kind == "remove":
        return []
    extra, metadata = mapping(fields.get("additional_kwargs")), mapping(fields.get("response_metadata"))
    legacy = extra.get("function_call")
    calls = items(fields.get("tool_calls")) + items(fields.get("invalid_tool_calls"))
    calls = calls or items(extra.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
    speaker = str(fields.get("role", "")).lower() if kind == "chat" else ""
    return messages_of(
        _SPEAKERS.get(speaker, _LANGCHAIN_ROLES[kind]),
        fields.get(_CONTENT),
        calls=calls,
        answers=fields.get("tool_call_id"),
        name=fields.get("name") or (speaker if speaker not in {"user", "human", *_SPEAKERS} else None),
        id_=fields.get("id"),
        at=stated_time(fields) or stated_time(extra) or stated_time(metadata),
    )


def _fields(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """The type and the fields of a message; None if it is not a message."""
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
    return (kind, fields) if kind in _LANGCHAIN_ROLES and _CONTENT in fields and "uuid" not in fields else None


LANGCHAIN = Reader.of_messages("LangChain", _is_langchain_message, langchain_messages)


_LLAMA_INDEX_ROLES = {**ROLES, "chatbot": Role.ASSISTANT, "model": Role.ASSISTANT}


def _fits_llama_index(value: Any) -> bool:
    """Whether a value has this form: a message, a conversation that begins with one, or a chat store."""
    chats_of = _store(value)
    if chats_of is not None:
        return all(holds(chat, _is_llama_index_message) for chat in chats_of.values() if chat)
    return holds(value, _is_llama_index_message)


def _read_llama_index(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of a file; those of a chat store by key."""
    return conversations(_chats(records), "LlamaIndex", _is_llama_index_message, llama_index_messages)


def _is_llama_index_message(value: Any) -> bool:
    """Whether it has a role and either blocks or ``additional_kwargs``."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and value["role"] in _LLAMA_INDEX_ROLES
        and "type" not in value
        and (isinstance(value.get("blocks"), list) or isinstance(value.get("additional_kwargs"), Mapping))
    )


def llama_index_messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages behind one of this form."""
    extra = mapping(value.get("additional_kwargs"))
    blocks = value.get("blocks")
    calls = [] if _calls(blocks) else items(extra.get("tool_calls"))
    return messages_of(
        _LLAMA_INDEX_ROLES[value["role"]],
        value.get("content") if blocks is None else blocks,
        calls=calls,
        answers=extra.get("tool_call_id"),
        name=extra.get("name"),
        id_=extra.get("id"),
        at=stated_time(value) or stated_time(extra),
    )


def _calls(blocks: Any) -> bool:
    return any(isinstance(block, Mapping) and block.get("block_type") == "tool_call" for block in items(blocks))


def _store(value: Any) -> Mapping[str, list[Any]] | None:
    """The chats of a store by key; None if the value is not a store."""
    chats_of = value.get("store") if isinstance(value, Mapping) else None
    if isinstance(chats_of, Mapping) and chats_of and all(isinstance(chat, list) for chat in chats_of.values()):
        return chats_of
    return None


def _chats(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        chats_of = _store(record.value)
        if chats_of is None:
            yield record
        else:
            for key, chat in chats_of.items():
                yield record.part(chat, f"store {key!r}", key)


LLAMA_INDEX = Reader(PLAIN_FILES, _fits_llama_index, _read_llama_index)
