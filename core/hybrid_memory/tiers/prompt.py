"""The layout of a prompt: what changes least stands first, so that a provider's cache keeps its prefix.

``stable``: one system message with identity, instructions, blocks, profile and summary; the recent turns, each with
what was recalled for it; the question with what was recalled for it. Until the next compaction a prompt only grows
at its end. ``queue``: the same, but the summary is the first entry of the conversation, as in MemGPT. ``classic``:
identity, profile, memory, conversation, instruction, as prompts are often written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hybrid_memory.types import Message, Role

Layout: TypeAlias = Literal["stable", "queue", "classic"]

PROFILE_HEADING = "What is known of the user:"
SUMMARY_HEADING = "Earlier in this conversation ([#n] can be expanded):"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a prompt is made of.

    Attributes:
        identity, instructions, profile, summary, artifacts: texts; empty where there is nothing.
        blocks: labelled texts.
        turns: recent messages with what was recalled for each, oldest first, the first one the user's.
        note: what is recalled for the question; it stands with the turn if the question is one of them.
        question: the user's; None if it is one of the turns.
    """

    identity: str = ""
    instructions: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    summary: str = ""
    artifacts: str = ""
    turns: Sequence[tuple[Message, str]] = ()
    note: str = ""
    question: Message | None = None


def messages(parts: Parts, layout: Layout) -> list[Message]:
    """The messages of a prompt."""
    return _classic(parts) if layout == "classic" else _stable(parts, apart=layout == "queue")


def _stable(parts: Parts, *, apart: bool) -> list[Message]:
    turns = list(parts.turns)
    if parts.question is not None:
        turns.append((parts.question, parts.note))
    head, summary = [parts.identity, parts.instructions, *_blocks(parts), parts.profile], _summary(parts)
    first = [as_event(text) for text in summary] if apart else []
    return [
        *_system(head if apart else [*head, *summary]),
        *first,
        *(with_note(message, note) for message, note in turns),
    ]


def _classic(parts: Parts) -> list[Message]:
    head = [parts.identity, parts.profile, *_blocks(parts), *_summary(parts), parts.note]
    turns = [message for message, _ in parts.turns]
    asked = [] if parts.question is None else [parts.question]
    return [*_system(head), *turns, *_system([parts.instructions]), *asked]


def _blocks(parts: Parts) -> list[str]:
    return [f"<{label}>\n{text}\n</{label}>" for label, text in parts.blocks.items()]


def _summary(parts: Parts) -> list[str]:
    text = "\n".join(part for part in (parts.summary, parts.artifacts) if part)
    return [f"{SUMMARY_HEADING}\n{text}"] if text else []


def _system(texts: Sequence[str]) -> list[Message]:
    text = "\n\n".join(text for text in texts if text)
    return [Message(role=Role.SYSTEM, content=text)] if text else []


def with_note(message: Message, note: str) -> Message:
    """The message with the note in front of its words."""
    if not note:
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{note}\n\n{message.content}"})
    return message.model_copy(update={"content": [{"type": "text", "text": f"{note}\n\n"}, *message.content]})


def as_event(text: str) -> Message:
    """What is said by neither side: providers take one system message, so a later one speaks in the user's place."""
    return Message(role=Role.USER, content=f"<system>\n{text}\n</system>")
