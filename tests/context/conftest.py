"""Sessions as the log would have them, planned without a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import CompactionConfig, Event, EventKind, Line, Message, Role, Summary
from hybrid_memory.context.layout import PromptRequest
from hybrid_memory.context.queue import QueueState, Session, queue
from hybrid_memory.context.shortening import Costs
from hybrid_memory.context.view import PromptView, view
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import orphans
from tests.world import ALICE, NOON, event


def page(name: str, tokens: int) -> str:
    """A text of about so many tokens whose lines all differ."""
    lines = [f"{name} line {row} says nothing much." for row in range(tokens // 6 + 1)]
    while len(lines) > 1 and estimate_tokens("\n".join(lines)) > tokens:
        lines.pop()
    return "\n".join(lines)


def events_of(messages: Sequence[Message], notes: Mapping[int, str]) -> list[Event]:
    """Messages at the positions 10, 20, ...; the note of a row was recalled for it."""
    found = []
    for row, message in enumerate(messages):
        at = NOON + timedelta(minutes=row)
        position = 10 * (row + 1)
        found.append(replace(event(position, message), id=f"m{row}", at=at))
        if row in notes:
            recalled = {"query": message.text, "text": notes[row], "turn": f"m{row}"}
            found.append(Event(position + 1, f"n{row}", ALICE, EventKind.RECALLED, at, recalled, sources=(f"e{row}",)))
    return found


See = Callable[..., PromptView]
"""A session as a call of assemble sees it."""


@pytest.fixture
def see() -> See:
    def made(
        messages: Sequence[Message], query: str | None = None, *, max_tokens: int = 1000,
        lines: Sequence[Line] = (), notes: Mapping[int, str] | None = None, config: CompactionConfig | None = None,
        **asked: Any,
    ) -> PromptView:  # fmt: skip
        request = PromptRequest.of(
            query, max_tokens=max_tokens, k=20, layout=asked.pop("layout", "stable"), tools=asked.pop("tools", ()),
            blocks=asked.pop("blocks", None), reader=asked.pop("reader", None), **asked,
        )  # fmt: skip
        stretches = ((1, 9),) if lines else ()
        state = QueueState(number=len(stretches), summary=Summary(tuple(lines), stretches=stretches))
        session = Session(ALICE, state, queue(events_of(messages, notes or {})))
        return view(session, Costs(estimate_tokens, LruCache(8192)), config or CompactionConfig(), request, lines)

    return made


def assert_accepted(laid: Sequence[Message]) -> None:
    """What a chat model takes: one system message at most, then the user, and each call before exactly its results."""
    turns = laid[1:] if laid[0].role is Role.SYSTEM else laid
    assert all(message.role is not Role.SYSTEM for message in turns), "one system message, in front"
    assert turns[0].role is Role.USER
    assert orphans(turns) == []
