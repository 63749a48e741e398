"""What a memory has of somebody, session by session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid_memory import Event, ScopedMemory

PAGE = 2_000
"""How many events are read at once."""

SHOWN = 10
"""How many names an error lists."""


@dataclass(slots=True)
class SessionRow:
    """A session: the number of its turns, and the times of the first and the last."""

    session: str | None
    turns: int
    first: datetime
    last: datetime


def sessions_of(whose: ScopedMemory) -> list[SessionRow]:
    """The sessions with turns, newest first."""
    rows: dict[str | None, SessionRow] = {}
    for event in _messages(whose):
        at, name = event.message.at or event.at, event.scope.session
        row = rows.setdefault(name, SessionRow(name, 0, at, at))
        row.turns += 1
        row.first, row.last = min(row.first, at), max(row.last, at)
    return sorted(rows.values(), key=lambda row: row.last, reverse=True)


def _messages(whose: ScopedMemory) -> Iterator[Event]:
    """All messages, the newest first."""
    before: int | None = None
    while page := whose.events(kinds=["message"], before=before, limit=PAGE):
        yield from reversed(page)
        before = page[0].position


def listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - SHOWN
    return "; ".join([*names[:SHOWN], *([f"and {more:,} more"] if more > 0 else [])])
