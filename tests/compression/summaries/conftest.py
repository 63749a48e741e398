"""Turns and lines that summaries are made of."""

from hybrid_memory import Event, Line, Section
from tests.world import event


def span(texts: list[str], first: int = 1) -> list[Event]:
    return [event(position, text) for position, text in enumerate(texts, start=first)]


def line(text: str, importance: float = 0.5, position: int = 1, section: Section = Section.FACTS) -> Line:
    return Line(section, text, (f"e{position}",), position, position, importance)


def texts(lines: list[Line]) -> list[str]:
    return [found.text for found in lines]
