"""A prompt, ready to be sent, and what did not fit into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory import display
from hybrid_memory.log.message import Message, Role
from hybrid_memory.recall.hit import Hit

TIERS = {
    "blocks": display.CONTEXT,
    "turns": display.CONTEXT,
    "question": display.CONTEXT,
    "profile": display.SEMANTIC,
    "recalled": display.SEMANTIC,
    "summary": display.CONTEXT,
    "artifacts": display.CONTEXT,
}
"""The hue of each section."""

_TOLD = {
    display.CONTEXT: "L1: kept in the context",
    display.SEMANTIC: "L2: found or learned",
    display.PLAIN: "the caller's own",
}


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that did not fit.

    Attributes:
        section: where it would have stood.
        what: in a few words.
        handle: what `expand` takes to show it; empty if it can only be had by a larger budget.
        tokens: it would have cost.
    """

    section: str
    what: str
    handle: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt, or one that has no place in it, and why.

    Attributes:
        section: where it stands, or would.
        what: in a few words.
        tokens: that it takes; of what is left out, that it would.
        reason: such as ``whole`` or ``shortened: 9,100 tokens``.
        handle: what `expand` takes to show it; empty for what is no part of the log.
        shown: whether it stands in the prompt.
    """

    section: str
    what: str
    tokens: int
    reason: str
    handle: str = ""
    shown: bool = True

    def __repr__(self) -> str:
        return f"<Piece {self.section}: {self.what} ({self.tokens:,} tokens) {self.reason}>"


@dataclass(frozen=True, slots=True)
class Context:
    """What `assemble` laid out.

    Attributes:
        messages: to send: one system message if there is anything for it, then the conversation, which begins with
            the user's turn; what was recalled stands in front of the turn that it was recalled for.
        sections: the text of each part by its name, in the order of the layout.
        tokens: of all of it, with the framing of messages and the tool schemas. More than ``max_tokens`` only where
            identity, instructions, tools and the last turn need more: these stand in the prompt in any case.
        max_tokens: the budget.
        section_tokens: of each part.
        dropped: what did not fit, and how to get at it.
        hits: what was recalled for this question now, best first.
        note: what stands in front of the question as recalled, now or when it was asked before; empty if nothing.
        breakpoints: rows of ``messages`` after which the prompt stays the same in the next call, or longer.
        pressure: share of the budget that is used by what stays in the prompt, in [0, 1].
        under_pressure: whether that is more than the configured share: time to save what matters.
        compacted: why older turns were folded for this call; empty if they were not.
        reader: the tool that the prompt names for reading on; empty if it names none.
        preface: what stands in front of the question in marked places, for hosts that add the question themselves.
        plan: every part, with the reason why it stands as it does.
    """

    messages: tuple[Message, ...]
    sections: Mapping[str, str]
    tokens: int
    max_tokens: int
    section_tokens: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    hits: tuple[Hit, ...] = ()
    note: str = ""
    breakpoints: tuple[int, ...] = ()
    pressure: float = 0.0
    under_pressure: bool = False
    compacted: str = ""
    reader: str = ""
    preface: str = ""
    plan: tuple[Piece, ...] = ()

    @property
    def text(self) -> str:
        """All messages as one text, each behind its role."""
        return "\n\n".join(f"{message.role}: {message.text}" for message in self.messages)

    def as_dicts(self, *, cache_control: bool = False) -> list[dict[str, Any]]:
        """The messages in the OpenAI form.

        Args:
            cache_control: mark the breakpoints with ``{"cache_control": {"type": "ephemeral"}}`` on the last content
                block, for providers that cache only what is marked.
        """
        marked = set(self.breakpoints) if cache_control else set()
        return [_as_dict(message, row in marked) for row, message in enumerate(self.messages)]

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {tokens}" for name, tokens in self.section_tokens.items())
        dropped = f"; {len(self.dropped)} dropped" if self.dropped else ""
        return f"<Context {self.tokens} of {self.max_tokens} tokens: {parts}{dropped}>"

    def _repr_html_(self) -> str:
        sections = [
            display.Part(name, tokens / self.max_tokens, TIERS.get(name, display.PLAIN), f"{tokens:,}")
            for name, tokens in self.section_tokens.items()
        ]
        parts = "".join(self._opened(name, words) for name, words in self.sections.items())
        plan = display.table(
            ("part", "what", "tokens", "why"),
            [
                (
                    display.text(piece.section),
                    f"{piece.handle} {display.text(piece.what)}".strip(),
                    f"{piece.tokens:,}",
                    display.text(piece.reason),
                )
                for piece in self.plan
            ],
        )
        lost = f", {len(self.dropped):,} left out" if self.dropped else ""
        return display.card(
            f"{self.tokens:,} of {self.max_tokens:,} tokens",
            f"<div>{display.bar(sections, width='40em')}</div><small>{display.legend(sections)}</small>"
            + parts
            + (display.fold(f"plan: {display.counted(len(self.plan), 'part')}{lost}", plan) if self.plan else "")
            + (f"<small>folded: {display.text(self.compacted)}</small>" if self.compacted else ""),
        )

    def _opened(self, name: str, words: str) -> str:
        hue = TIERS.get(name, display.PLAIN)
        head = f"{display.text(name)} <small>{self.section_tokens.get(name, 0):,} tokens</small>"
        return display.fold(head, display.under(hue, display.text(words), _TOLD[hue]))


def _as_dict(message: Message, marked: bool) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = message.content
    if marked and content:
        plain: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [dict(block) for block in plain]
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
        content = blocks
    said: dict[str, Any] = {"role": message.role.value, "content": content}
    if message.name is not None and message.role is not Role.SYSTEM:
        said["name"] = message.name
    if message.tool_calls:
        said["tool_calls"] = [call.as_openai() for call in message.tool_calls]
    if message.tool_call_id is not None:
        said["tool_call_id"] = message.tool_call_id
    return said


@dataclass(frozen=True, slots=True)
class Payload:
    """A text that was put aside.

    Attributes:
        result_id: what `fetch` and `grep` take.
        digest: what a prompt shows instead.
    """

    result_id: str
    digest: str
