"""The ``conversations.json`` of a ChatGPT export: conversations as trees, of which one branch was shown last.

Left out are what was never shown (system messages, hidden ones, instructions for the model) and the model's thinking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts.chats import Conversation
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, mapping, said
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.log.message import Message, Role
from hybrid_memory.validation import shown

FILES = ("conversations*.json",)

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_HIDDEN = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})
"""Kinds of content that are shown to nobody, or are thinking."""

_TEXTS = ("text", "result", "content")
"""Where content that has no parts has its words."""

_TITLE_CHARS = 200
_ID_CHARS = 8


def fits(value: Any) -> bool:
    """Whether a value is of this form: a conversation, or a list that begins with one."""
    first = next(iter(value), None) if isinstance(value, list) else value
    return isinstance(first, Mapping) and isinstance(first.get("mapping"), Mapping)


def read(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of a file, each called after its title and the beginning of its id.

    Raises:
        InvalidInputError: something is no such conversation, or a message in it cannot be stored.
    """
    for record in records:
        listed = record.value if isinstance(record.value, list) else [record.value]
        for number, chat in enumerate(listed, 1):
            place = Record(chat, f"{record.where}, conversation {number}")
            if not fits(chat) or isinstance(chat, list):
                raise place.refused(f"no conversation of ChatGPT: {shown(chat)}")
            try:
                messages = [message for node in _branch(chat) for message in _messages(node)]
            except InvalidMessageError as error:
                raise place.refused(str(error)) from error
            yield Conversation(messages, _name(chat))


def _name(chat: Mapping[str, Any]) -> str:
    """Titles repeat, so the id tells them apart; in a later export it is still the same."""
    title = chat.get("title")
    words = "".join(char if char.isprintable() else " " for char in title) if isinstance(title, str) else ""
    title = " ".join(words.split())[:_TITLE_CHARS]
    ids = (chat.get(key) for key in ("conversation_id", "id"))
    id_ = next((name[:_ID_CHARS] for name in ids if isinstance(name, str) and name.isprintable()), "")
    return f"{title} ({id_})" if title and id_ else title or id_


def _branch(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the first one to the one that was shown last."""
    nodes = chat["mapping"]
    place = chat.get("current_node")
    if not isinstance(place, str) or place not in nodes:
        place = _newest_leaf(nodes)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    # A parent that is missing ends the way up, and so does one that was met before.
    while isinstance(place, str) and place in nodes and place not in seen:
        seen.add(place)
        node = mapping(nodes[place])
        if isinstance(node.get("message"), Mapping):
            found.append(node["message"])
        place = node.get("parent")
    return found[::-1]


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    """The last message without an answer; the one further down where times are alike or missing."""
    leaves = [name for name, node in nodes.items() if not items(mapping(node).get("children"))]

    def age(row: int) -> tuple[float, int]:
        at = mapping(mapping(nodes[leaves[row]]).get("message")).get("create_time")
        return (at if isinstance(at, int | float) else 0.0, row)

    return leaves[max(range(len(leaves)), key=age)] if leaves else None


def _messages(message: Mapping[str, Any]) -> list[Message]:
    """What somebody said, asked a tool for, or what it answered; none if it was hidden."""
    author, content = mapping(message.get("author")), mapping(message.get("content"))
    role = _ROLES.get(str(author.get("role")))
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if role is None or hidden or content.get("content_type") in _HIDDEN:
        return []
    parts = _parts(content)
    recipient = message.get("recipient")
    calls: list[Any] = []
    if role is Role.ASSISTANT and isinstance(recipient, str) and recipient not in {"", "all"}:
        written = "\n".join(part for part in parts if isinstance(part, str))
        calls, parts = [{"function": {"name": recipient, "arguments": written}}], []
    if role is Role.TOOL and not any(parts):
        parts = [""]
    return said(
        role,
        parts,
        calls=calls,
        name=author.get("name"),
        id_=message.get("id"),
        at=message.get("create_time"),
    )


def _parts(content: Mapping[str, Any]) -> list[Any]:
    """Texts, and blocks for what is none."""
    if not isinstance(content.get("parts"), list):
        texts = (content.get(key) for key in _TEXTS)
        return [text for text in texts if isinstance(text, str) and text.strip()][:1]
    return [part for given in content["parts"] if (part := _part(given))]


def _part(part: Any) -> Any:
    if isinstance(part, str):
        return part if part.strip() else None
    if not isinstance(part, Mapping):
        return None
    if isinstance(part.get("text"), str):  # what was spoken
        return part["text"]
    kind = part.get("content_type")
    return {"type": kind, **{key: value for key, value in part.items() if key != "content_type"}} if kind else None
