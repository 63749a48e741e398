"""Turns and lines that summaries are made of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hybrid_memory import Event, EventKind, Line, Message, Role, Scope, Section

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def event(position: int, text: str, role: Role = Role.USER, **more: Any) -> Event:
    message = Message(role=role, content=text, **more)
    payload = message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})
    return Event(position, f"e{position}", Scope(user="a", session="s"), EventKind.MESSAGE, NOON, payload)


def span(texts: list[str], first: int = 1) -> list[Event]:
    return [event(position, text) for position, text in enumerate(texts, start=first)]


def line(text: str, importance: float = 0.5, position: int = 1, section: Section = Section.FACTS) -> Line:
    return Line(section, text, (f"e{position}",), position, position, importance)


def texts(lines: list[Line]) -> list[str]:
    return [found.text for found in lines]
