"""Exports of Claude.ai: each conversation along the branch that was shown last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts.documents import Conversation, Reader, Record, message_of
from hybrid_memory.apps.transcripts.fields import items, mapping, messages_of
from hybrid_memory.apps.transcripts.products import listed_chats, titled
from hybrid_memory.validation import shown, stated_time

_FORM = "Claude.ai"
_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}


def _fits(value: Any) -> bool:
    """Whether a value has this form: a conversation, or a list with one."""
    return any(
        isinstance(chat, Mapping) and isinstance(chat.get("chat_messages"), list) for chat in listed_chats(value)
    )


def _read(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of a file, named by their titles and the beginnings of their ids."""
    for record in records:
        for number, chat in enumerate(listed_chats(record.value), 1):
            place = record.part(chat, f"conversation {number}")
            if isinstance(chat, list) or not _fits(chat):
                place.refuse(f"not a {_FORM} conversation: {shown(chat)}")
                continue
            turns = [
                message
                for row, turn in enumerate(_branch(chat), 1)
                for message in message_of(place.part(turn, f"message {row}"), turn, _FORM, _is_turn, _messages)
            ]
            yield Conversation(turns, titled(chat, "name", ("uuid",)), stated_time(chat))


def _is_turn(value: Any) -> bool:
    said = isinstance(value, Mapping) and (isinstance(value.get("text"), str) or isinstance(value.get("content"), list))
    return said and isinstance(value.get("sender"), str) and value["sender"] in _ROLES


def _branch(chat: Mapping[str, Any]) -> list[Any]:
    """The turns from the first to the one shown last; all of them in a file that does not say what each answers."""
    turns = items(chat["chat_messages"])
    linked = [turn for turn in turns if isinstance(turn, Mapping)]
    if not all(isinstance(turn.get(key), str) for turn in linked for key in ("uuid", "parent_message_uuid")):
        return turns
    by_id = {turn["uuid"]: turn for turn in linked}
    last = str(chat.get("current_leaf_message_uuid"))
    place = last if last in by_id or not linked else linked[-1]["uuid"]
    results: list[Any] = []
    # A turn that was met before ends the way up, as one that is missing does: the first turn answers an id of zeros.
    while place in by_id:
        results.append(by_id.pop(place))
        place = results[-1]["parent_message_uuid"]
    return [*(turn for turn in turns if not isinstance(turn, Mapping)), *reversed(results)]


def _messages(turn: Mapping[str, Any]) -> list[Message]:
    """The messages of a turn: an answer goes on after each result of a tool."""
    parts: list[list[Any]] = [[]]
    for block in items(turn.get("content")) or [turn.get("text") or ""]:
        if mapping(block).get("type") == "tool_result":
            parts += [[block], []]
        else:
            parts[-1].append(block)
    parts[-1] += [
        {"type": "attachment", "name": file.get("file_name"), "text": file["extracted_content"]}
        for file in map(mapping, items(turn.get("attachments")))
        if isinstance(file.get("extracted_content"), str)
    ]
    results: list[Message] = []
    for part in parts:
        id_ = None if results else turn.get("uuid")
        results += messages_of(_ROLES[turn["sender"]], part, id_=id_, at=stated_time(turn))
    return results


CLAUDE_AI = Reader(("conversations*.json",), _fits, _read)
