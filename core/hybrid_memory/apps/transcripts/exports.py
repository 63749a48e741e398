"""Exports of ChatGPT and Claude.ai: each conversation along the branch that was shown last."""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts.documents import Conversation, Reader, Record
from hybrid_memory.apps.transcripts.messages import items, mapping, messages_of
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.validation import shown, stated_time

_ROLES_OF_CHATGPT = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_UNSEEN = ("system", "developer", "critic")  # authors of messages that ChatGPT shows nobody
_ROLES_OF_CLAUDE = {"human": Role.USER, "assistant": Role.ASSISTANT}
_HIDDEN = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})
"""Kinds of content that are hidden, or are thinking."""

_CITED = re.compile("\ue200[^\ue201]*\ue201")  # ChatGPT's references to sources, in private characters
_TEXTS = ("text", "result", "content")  # the fields for the words of content without parts

_TITLE_CHARS = 200
_ID_CHARS = 8

OF_ACCOUNTS = (
    "ads.json conversation_asset_file_names.json export_manifest.json library_files.json memories.json user.json "
    "message_feedback.json model_comparisons.json projects.json shared_conversations.json user_settings.json users.json"
).split()
"""What ChatGPT and Claude export next to the chats."""

FOR_THE_MODEL = "about_model_message"
_SETTINGS = ("about_user_message", FOR_THE_MODEL)


def _listed_chats(value: Any) -> list[Any]:
    """The conversations of an export, or the one that it is."""
    return value if isinstance(value, list) else [value]


class _Export(Reader):
    """The conversations of a program's users, named by their titles and the beginnings of their ids.

    ``turns`` is the field with the turns, and what that is; ``title`` that of the title, then those of the id.
    """

    files = ("conversations*.json",)
    turns: ClassVar[tuple[str, type]]
    title: ClassVar[tuple[str, ...]]

    def fits(self, value: Any) -> bool:
        """Whether it is a conversation, or a list with one."""
        field, kind = self.turns
        return any(isinstance(chat, Mapping) and isinstance(chat.get(field), kind) for chat in _listed_chats(value))

    @abstractmethod
    def branch(self, chat: Any) -> Sequence[Any]:
        """The turns from the first to the one shown last."""

    def is_turn(self, value: Any) -> bool:
        return bool(value)

    def read(self, records: Iterable[Record]) -> Iterator[Conversation]:
        for record in records:
            for number, chat in enumerate(_listed_chats(record.value), 1):
                place = record.part(chat, f"conversation {number}")
                if isinstance(chat, list) or not self.fits(chat):
                    place.refuse(f"not a {self.program} conversation: {shown(chat)}")
                    continue
                turns = (place.part(value, f"message {row}") for row, value in enumerate(self.branch(chat), 1))
                messages = [one for turn in turns for one in self.messages_in(turn)]
                yield Conversation(messages, self.named(chat), stated_time(chat))

    def named(self, chat: Mapping[str, Any]) -> str:
        """The name; titles repeat, so it includes the id, which stays the same in later exports."""
        title, *ids = map(chat.get, self.title)
        words = "".join(char if char.isprintable() else " " for char in title) if isinstance(title, str) else ""
        title = " ".join(words.split())[:_TITLE_CHARS]
        id_ = next((name[:_ID_CHARS] for name in ids if isinstance(name, str) and name.isprintable()), "")
        return f"{title} ({id_})" if title and id_ else title or id_


def _way_to(last: Any, nodes: Mapping[Any, Any], parent: str) -> list[Mapping[str, Any]]:
    """The nodes from the first to the last; a parent that is missing, or was met before, is above the first."""
    left, way = dict(nodes), list[Mapping[str, Any]]()
    while isinstance(last, str) and last in left:
        way.append(mapping(left.pop(last)))
        last = way[-1].get(parent)
    return way[::-1]


def _file_block(name: Any, text: str = "") -> dict[str, Any]:
    """A block for a file that was attached; its words are not those of the turn."""
    return {"type": "attachment", "name": name, "text": f"[{name}]\n{text}".rstrip()}


class ChatGpt(_Export):
    """What ChatGPT exports: a tree of messages for each conversation."""

    program, turns, title = "ChatGPT", ("mapping", Mapping), ("title", "conversation_id", "id")

    def branch(self, chat: Any) -> list[Mapping[str, Any]]:
        """The messages from the first to the one shown last."""
        nodes = chat["mapping"]
        place = chat.get("current_node")
        if not isinstance(place, str) or place not in nodes:
            # The latest message without an answer; the later one in the file if times are equal or missing.
            leaves = [name for name, node in nodes.items() if not items(mapping(node).get("children"))]
            times = [mapping(mapping(nodes[name]).get("message")).get("create_time") for name in leaves]
            rows = sorted((at if isinstance(at, int | float) else 0.0, row) for row, at in enumerate(times))
            place = leaves[rows[-1][1]] if rows else None
        return [node["message"] for node in _way_to(place, nodes, "parent") if mapping(node.get("message"))]

    def messages(self, turn: Mapping[str, Any]) -> list[Message]:
        """The words, tool calls and results in a message; empty if it was hidden."""
        author, content = mapping(turn.get("author")), mapping(turn.get("content"))
        role = _ROLES_OF_CHATGPT.get(str(author.get("role")))
        hidden = mapping(turn.get("metadata")).get("is_visually_hidden_from_conversation") or turn.get("weight") == 0
        if author.get("role") in _UNSEEN or hidden or str(content.get("content_type")) in _HIDDEN:
            return []
        if role is None or content.keys().isdisjoint(("parts", *_TEXTS)):
            raise InvalidMessageError(f"unknown author or content: {shown(author)}, {shown(content)}")
        parts: list[Any] = []
        if not isinstance(content.get("parts"), list):
            texts = map(content.get, _TEXTS)
            parts = [text for text in texts if isinstance(text, str) and text.strip()][:1]
        for part in items(content.get("parts")):
            if isinstance(part, str):
                parts += [part] if (part := _CITED.sub("", part)).strip() else []
            elif isinstance(part, Mapping) and isinstance(part.get("text"), str):  # what was spoken
                parts += [part["text"]] if part["text"] else []
            elif isinstance(part, Mapping) and (kind := part.get("content_type")):
                parts.append({"type": kind, **{key: value for key, value in part.items() if key != "content_type"}})
        files = map(mapping, items(mapping(turn.get("metadata")).get("attachments")))
        parts += (_file_block(file.get("name")) for file in files if file.get("name"))
        recipient = turn.get("recipient")
        calls: list[Any] = []
        if role is Role.ASSISTANT and isinstance(recipient, str) and recipient not in {"", "all"}:
            written = "\n".join(part for part in parts if isinstance(part, str))
            calls, parts = [{"function": {"name": recipient, "arguments": written}}], []
        if role is Role.TOOL and not any(parts):
            parts = [""]
        return messages_of(role, parts, calls=calls, name=author.get("name"), id_=turn.get("id"), at=stated_time(turn))

    def read(self, records: Iterable[Record]) -> Iterator[Conversation]:
        """Besides, what the user had set for all conversations: each text once, from its first conversation on."""
        records = list(records)
        yield from super().read(records)
        chats = [chat for record in records for chat in _listed_chats(record.value) if isinstance(chat, Mapping)]
        first: dict[tuple[str, bool], datetime | None] = {}
        for chat in sorted(chats, key=lambda chat: stated_time(chat) or datetime.now(UTC)):
            for node in mapping(chat.get("mapping")).values():
                metadata = mapping(mapping(mapping(node).get("message")).get("metadata"))
                given = mapping(metadata.get("user_context_message_data"))
                for setting in _SETTINGS:
                    if isinstance(text := given.get(setting), str):
                        first.setdefault((text, setting == FOR_THE_MODEL), stated_time(chat))
        for (text, standing), at in first.items():
            id_ = hashlib.blake2b(text.encode(), digest_size=_ID_CHARS).hexdigest()
            # Its time is inferred: other files of an export may have a later first conversation.
            messages = messages_of(Role.USER, text, id_=id_)
            if standing:
                messages = [one.model_copy(update={"metadata": {"standing_instruction": True}}) for one in messages]
            yield Conversation(messages, "custom instructions", at)


class ClaudeAi(_Export):
    """What Claude.ai exports."""

    program, turns, title = "Claude.ai", ("chat_messages", list), ("name", "uuid")

    def is_turn(self, value: Any) -> bool:
        said = isinstance(value, Mapping) and (
            isinstance(value.get("text"), str) or isinstance(value.get("content"), list)
        )
        return said and isinstance(value.get("sender"), str) and value["sender"] in _ROLES_OF_CLAUDE

    def branch(self, chat: Any) -> list[Any]:
        """The turns from the first to the one shown last; all of them in a file that does not say what each answers."""
        turns = items(chat["chat_messages"])
        linked = [turn for turn in turns if isinstance(turn, Mapping)]
        if not all(isinstance(turn.get(key), str) for turn in linked for key in ("uuid", "parent_message_uuid")):
            return turns
        by_id = {turn["uuid"]: turn for turn in linked}
        last = str(chat.get("current_leaf_message_uuid"))
        place = last if last in by_id or not linked else linked[-1]["uuid"]
        way = _way_to(place, by_id, "parent_message_uuid")  # the first turn answers an id of zeros
        return [*(turn for turn in turns if not isinstance(turn, Mapping)), *way]

    def messages(self, turn: Mapping[str, Any]) -> list[Message]:
        """The messages of a turn: an answer goes on after each result of a tool."""
        parts: list[list[Any]] = [[]]
        for block in items(turn.get("content")) or [turn.get("text") or ""]:
            if mapping(block).get("type") == "tool_result":
                parts += [[block], []]
            else:
                parts[-1].append(block)
        parts[-1] += [
            _file_block(file.get("file_name"), file["extracted_content"])
            for file in map(mapping, items(turn.get("attachments")))
            if isinstance(file.get("extracted_content"), str)
        ]
        results: list[Message] = []
        for part in parts:
            id_ = None if results else turn.get("uuid")
            results += messages_of(_ROLES_OF_CLAUDE[turn["sender"]], part, id_=id_, at=stated_time(turn))
        return results
