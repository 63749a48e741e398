"""LlamaIndex's ``ChatMessage`` as JSON, and its chat store: ``{"store": {key: [...]}}``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts import chats
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, mapping, said
from hybrid_memory.apps.evaluation.transcripts.openai import ROLES
from hybrid_memory.log.message import Message, Role

FILES = ("*.json", "*.jsonl")

_ROLES = {**ROLES, "chatbot": Role.ASSISTANT, "model": Role.ASSISTANT}


def fits(value: Any) -> bool:
    """Whether a value is of this form: a message, a conversation that begins with one, or a chat store."""
    chats_of = _store(value)
    if chats_of is not None:
        return all(chats.holds(chat, is_message) for chat in chats_of.values() if chat)
    return chats.holds(value, is_message)


def read(records: Iterable[Record]) -> Iterator[chats.Conversation]:
    """The conversations of a file; each of a chat store by its key."""
    return chats.conversations(_chats(records), "LlamaIndex", is_message, messages)


def is_message(value: Any) -> bool:
    """Whether it has a role and either blocks or ``additional_kwargs``."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and value["role"] in _ROLES
        and "type" not in value
        and (isinstance(value.get("blocks"), list) or isinstance(value.get("additional_kwargs"), Mapping))
    )


def messages(value: Mapping[str, Any]) -> list[Message]:
    """The messages behind one of this form."""
    extra = mapping(value.get("additional_kwargs"))
    blocks = value.get("blocks")
    calls = [] if _calls(blocks) else items(extra.get("tool_calls"))
    return said(
        _ROLES[value["role"]],
        value.get("content") if blocks is None else blocks,
        calls=calls,
        answers=extra.get("tool_call_id"),
        name=extra.get("name"),
        id_=extra.get("id"),
        at=extra.get("timestamp"),
    )


def _calls(blocks: Any) -> bool:
    return any(isinstance(block, Mapping) and block.get("block_type") == "tool_call" for block in items(blocks))


def _store(value: Any) -> Mapping[str, list[Any]] | None:
    """The chats of a store by key; None if the value is none."""
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
                yield Record(chat, f"{record.where}, store {key!r}", key)
