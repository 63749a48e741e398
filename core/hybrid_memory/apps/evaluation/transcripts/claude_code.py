"""Claude Code's session files: JSONL with an event a line, linked to the event before by ``parentUuid``.

What is read is the main chain: from the last turn back to the first, without subagents, what was rewound, and lines
that only the program wrote (meta lines, API errors, and the summary of a compaction whose turns are still there).
Blocks of one answer, each a line of its own, are one message. Thinking is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.apps.evaluation.transcripts.chats import Conversation
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, said
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.log.message import Message, Role
from hybrid_memory.validation import shown

FILES = ("*.jsonl",)

_MARKS = ("sessionId", "leafUuid", "parentUuid", "messageId")
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def fits(value: Any) -> bool:
    """Whether a value is an event of such a file."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str) or "role" in value:
        return False
    return _is_turn(value) if value["type"] in _ROLES else any(key in value for key in _MARKS)


def read(records: Iterable[Record]) -> Iterator[Conversation]:
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
        summary: whether it stands for turns that were compacted.
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
        """Those of its blocks of this type."""
        return {
            str(block.get(key))
            for block in items(self.content)
            if isinstance(block, Mapping) and block.get("type") == kind
        }

    def read(self) -> list[Message]:
        try:
            return said(self.role, self.content, id_=self.uuid, at=self.at)
        except InvalidMessageError as error:
            raise self.where.refused(str(error)) from error


@dataclass(slots=True)
class _Session:
    turns: list[_Turn] = field(default_factory=list)
    links: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """By event: its parent, and the turn before it in the file."""

    def add(self, record: Record) -> None:
        event = record.value
        if not isinstance(event, Mapping) or not isinstance(event.get("type"), str):
            raise record.refused(f"no event of Claude Code: {shown(event)}")
        if event["type"] in _ROLES and not _is_turn(event):
            raise record.refused(f"an event of type {event['type']!r} needs a uuid and a message with content")
        uuid = event.get("uuid")
        if event.get("isSidechain") or not isinstance(uuid, str) or uuid in self.links:
            return
        parent = event.get("parentUuid") or event.get("logicalParentUuid")
        self.links[uuid] = (None if parent is None else str(parent), self.turns[-1].uuid if self.turns else None)
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
        """The turns of the main chain, with what runs beside it: calls of one answer each have a branch of their own.

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
        found = [turn for turn in self.turns if turn.uuid in kept]
        return [turn for number, turn in enumerate(found) if not (number and turn.summary)]

    def _chain(self) -> set[str]:
        """The events from the last turn back to the first; where a parent is missing, on with the turn before."""
        found: set[str] = set()
        uuid = self.turns[-1].uuid if self.turns else None
        while uuid is not None and uuid not in found:
            found.add(uuid)
            parent, before = self.links[uuid]
            uuid = parent if parent is None or parent in self.links else before
        return found


def _is_turn(event: Mapping[str, Any]) -> bool:
    message = event.get("message")
    return isinstance(event.get("uuid"), str) and isinstance(message, Mapping) and "content" in message


def _turn(record: Record) -> _Turn | None:
    """What was said in an event; None if nothing was."""
    event = record.value
    where = Record(None, record.where)
    if event["type"] == "attachment":
        typed = event.get("attachment")
        # The user wrote it while the assistant worked.
        if isinstance(typed, Mapping) and typed.get("type") == "queued_command" and _by_user(typed):
            return _Turn(event["uuid"], Role.USER, typed.get("prompt"), event.get("timestamp"), where)
        return None
    if event["type"] not in _ROLES or event.get("isMeta") or event.get("isApiErrorMessage"):
        return None
    message = event["message"]
    if message.get("model") == "<synthetic>":
        return None
    role, id_ = _ROLES[event["type"]], message.get("id")
    content = message["content"]
    if isinstance(content, list):
        content = [block for block in content if not (isinstance(block, Mapping) and block.get("type") == "thinking")]
    turn = _Turn(event["uuid"], role, content, event.get("timestamp"), where)
    turn.answer = id_ if role is Role.ASSISTANT and isinstance(id_, str) and id_ else None
    turn.summary = bool(event.get("isCompactSummary"))
    return turn


def _by_user(attachment: Mapping[str, Any]) -> bool:
    return bool(attachment.get("commandMode", "prompt") == "prompt")
