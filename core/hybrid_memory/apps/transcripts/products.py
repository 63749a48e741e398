"""Sessions of Claude Code and exports of ChatGPT: trees of events, read along the branch that was shown last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts.documents import Conversation, Reader, Record, message_of
from hybrid_memory.apps.transcripts.fields import items, mapping, messages_of
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.validation import shown, stated_time

_MARKS = ("sessionId", "leafUuid", "parentUuid", "messageId")
_CLAUDE_CODE_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def _fits_claude_code(value: Any) -> bool:
    """Whether a value is an event of a Claude Code session."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str) or "role" in value:
        return False
    return _is_claude_code_turn(value) if value["type"] in _CLAUDE_CODE_ROLES else any(key in value for key in _MARKS)


def _read_claude_code(records: Iterable[Record]) -> Iterator[Conversation]:
    """The one conversation of a file."""
    session = _Session()
    for record in records:
        session.add(record)
    yield Conversation(session.messages())


@dataclass(slots=True)
class _Turn:
    """A line of the user or the assistant.

    Attributes:
        answer: the id that all lines of one answer share.
        summary: whether it replaces compacted turns.
        where: its file and line.
    """

    uuid: str
    role: Role
    content: Any
    at: Any
    where: Record
    answer: str | None = None
    summary: bool = False

    def ids(self, kind: str, key: str) -> set[str]:
        """The ids of its blocks of this type."""
        return {
            str(block.get(key))
            for block in items(self.content)
            if isinstance(block, Mapping) and block.get("type") == kind
        }

    def read(self) -> list[Message]:
        try:
            return messages_of(self.role, self.content, id_=self.uuid, at=self.at)
        except InvalidMessageError as error:
            self.where.refuse(str(error))
            return []


@dataclass(slots=True)
class _Session:
    turns: list[_Turn] = field(default_factory=list)
    links: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """For each event its parent, and the turn before it in the file."""

    def add(self, record: Record) -> None:
        event = record.value
        if not isinstance(event, Mapping) or not isinstance(event.get("type"), str):
            record.refuse(f"not a Claude Code event: {shown(event)}")
            return
        if event["type"] in _CLAUDE_CODE_ROLES and not _is_claude_code_turn(event):
            record.refuse(f"an event of type {event['type']!r} needs a uuid and a message with content")
            return
        uuid = event.get("uuid")
        if event.get("isSidechain") or not isinstance(uuid, str) or uuid in self.links:
            return
        before = self.turns[-1].uuid if self.turns else None
        parent = event.get("parentUuid", before) or event.get("logicalParentUuid")
        self.links[uuid] = (None if parent is None else str(parent), before)
        turn = _turn(record)
        if turn is not None:
            self.turns.append(turn)

    def messages(self) -> list[Message]:
        merged: list[_Turn] = []
        answers: dict[str, _Turn] = {}
        for turn in self._kept():
            begun = answers.get(turn.answer or "")
            if begun is None:
                merged.append(turn)
                answers |= {turn.answer: turn} if turn.answer else {}
            elif isinstance(begun.content, list) and isinstance(turn.content, list):
                begun.content += [block for block in turn.content if block not in begun.content]
        return [message for turn in merged for message in turn.read()]

    def _kept(self) -> list[_Turn]:
        """The turns of the main chain and of its side branches: each call of an answer has its own branch.

        https://github.com/anthropics/claude-code/issues/37779 describes how such branches are written.
        """
        chain = self._chain()
        answers = {turn.answer for turn in self.turns if turn.uuid in chain and turn.answer}
        kept = {turn.uuid for turn in self.turns if turn.uuid in chain or turn.answer in answers}
        asked: set[str] = set()
        for turn in self.turns:
            if turn.uuid in kept:
                asked |= turn.ids("tool_use", "id")
        for turn in self.turns:
            if turn.uuid in kept:
                asked -= turn.ids("tool_result", "tool_use_id")
        kept |= {turn.uuid for turn in self.turns if turn.ids("tool_result", "tool_use_id") & asked}
        results = [turn for turn in self.turns if turn.uuid in kept]
        return [turn for number, turn in enumerate(results) if not (number and turn.summary)]

    def _chain(self) -> set[str]:
        """The events from the last turn back to the first; a missing parent is replaced by the turn before."""
        if not any(parent for parent, _ in self.links.values()):  # a version that does not write parents
            return set(self.links)
        result: set[str] = set()
        uuid = self.turns[-1].uuid if self.turns else None
        while uuid is not None and uuid not in result:
            result.add(uuid)
            parent, before = self.links[uuid]
            uuid = parent if parent is None or parent in self.links else before
        return result


def _is_claude_code_turn(event: Mapping[str, Any]) -> bool:
    message = event.get("message")
    return isinstance(event.get("uuid"), str) and isinstance(message, Mapping) and "content" in message


def _turn(record: Record) -> _Turn | None:
    """The turn in an event; None if nothing was said."""
    event = record.value
    where = replace(record, value=None)
    if event["type"] == "attachment":
        typed = event.get("attachment")
        # The user wrote it while the assistant worked.
        if isinstance(typed, Mapping) and typed.get("type") == "queued_command" and _by_user(typed):
            return _Turn(event["uuid"], Role.USER, typed.get("prompt"), event.get("timestamp"), where)
        return None
    if event["type"] not in _CLAUDE_CODE_ROLES or event.get("isMeta") or event.get("isApiErrorMessage"):
        return None
    message = event["message"]
    if message.get("model") == "<synthetic>":
        return None
    role, id_ = _CLAUDE_CODE_ROLES[event["type"]], message.get("id")
    content = message["content"]
    if isinstance(content, list):
        content = [block for block in content if not (isinstance(block, Mapping) and block.get("type") == "thinking")]
    turn = _Turn(event["uuid"], role, content, event.get("timestamp"), where)
    turn.answer = id_ if role is Role.ASSISTANT and isinstance(id_, str) and id_ else None
    turn.summary = bool(event.get("isCompactSummary"))
    return turn


def _by_user(attachment: Mapping[str, Any]) -> bool:
    return bool(attachment.get("commandMode", "prompt") == "prompt")


CLAUDE_CODE = Reader(("*.jsonl",), _fits_claude_code, _read_claude_code)


_CHATGPT_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_HIDDEN = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})
"""Kinds of content that are hidden, or are thinking."""

_TEXTS = ("text", "result", "content")
"""The fields for the words of content without parts."""

_TITLE_CHARS = 200
_ID_CHARS = 8


def _fits_chatgpt(value: Any) -> bool:
    """Whether a value has this form: a conversation, or a list with one."""
    return any(isinstance(chat, Mapping) and isinstance(chat.get("mapping"), Mapping) for chat in listed_chats(value))


def listed_chats(value: Any) -> list[Any]:
    """The conversations of an export, or the one that it is."""
    return value if isinstance(value, list) else [value]


def _read_chatgpt(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversations of a file, named by their titles and the beginnings of their ids.

    Raises:
        InvalidInputError: a value is not such a conversation, or a message in it cannot be stored.
    """
    for record in records:
        for number, chat in enumerate(listed_chats(record.value), 1):
            place = record.part(chat, f"conversation {number}")
            if isinstance(chat, list) or not _fits_chatgpt(chat):
                place.refuse(f"not a ChatGPT conversation: {shown(chat)}")
                continue
            branch = _branch(chat)
            messages = [said for node in branch for said in message_of(place, node, "ChatGPT", bool, _chatgpt_messages)]
            yield Conversation(messages, titled(chat, "title", ("conversation_id", "id")), stated_time(chat))


def titled(chat: Mapping[str, Any], key: str, id_keys: Sequence[str]) -> str:
    """The name; titles repeat, so it includes the id, which stays the same in later exports."""
    title = chat.get(key)
    words = "".join(char if char.isprintable() else " " for char in title) if isinstance(title, str) else ""
    title = " ".join(words.split())[:_TITLE_CHARS]
    ids = map(chat.get, id_keys)
    id_ = next((name[:_ID_CHARS] for name in ids if isinstance(name, str) and name.isprintable()), "")
    return f"{title} ({id_})" if title and id_ else title or id_


def _branch(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the first to the one shown last."""
    nodes = chat["mapping"]
    place = chat.get("current_node")
    if not isinstance(place, str) or place not in nodes:
        place = _newest_leaf(nodes)
    results: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    # A parent that is missing ends the way up, and so does one that was met before.
    while isinstance(place, str) and place in nodes and place not in seen:
        seen.add(place)
        node = mapping(nodes[place])
        if mapping(node.get("message")):
            results.append(node["message"])
        place = node.get("parent")
    return results[::-1]


def _newest_leaf(nodes: Mapping[str, Any]) -> str | None:
    """The latest message without an answer; the later one in the file if times are equal or missing."""
    leaves = [name for name, node in nodes.items() if not items(mapping(node).get("children"))]

    def age(row: int) -> tuple[float, int]:
        at = mapping(mapping(nodes[leaves[row]]).get("message")).get("create_time")
        return (at if isinstance(at, int | float) else 0.0, row)

    return leaves[max(range(len(leaves)), key=age)] if leaves else None


def _chatgpt_messages(message: Mapping[str, Any]) -> list[Message]:
    """The words, tool calls and results in a message; empty if it was hidden."""
    author, content = mapping(message.get("author")), mapping(message.get("content"))
    role = _CHATGPT_ROLES.get(str(author.get("role")))
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if role is None or hidden or str(content.get("content_type")) in _HIDDEN:
        return []
    parts = _parts(content)
    recipient = message.get("recipient")
    calls: list[Any] = []
    if role is Role.ASSISTANT and isinstance(recipient, str) and recipient not in {"", "all"}:
        written = "\n".join(part for part in parts if isinstance(part, str))
        calls, parts = [{"function": {"name": recipient, "arguments": written}}], []
    if role is Role.TOOL and not any(parts):
        parts = [""]
    return messages_of(
        role,
        parts,
        calls=calls,
        name=author.get("name"),
        id_=message.get("id"),
        at=stated_time(message),
    )


def _parts(content: Mapping[str, Any]) -> list[Any]:
    """The texts, and blocks for other content."""
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


CHATGPT = Reader(("conversations*.json",), _fits_chatgpt, _read_chatgpt)
