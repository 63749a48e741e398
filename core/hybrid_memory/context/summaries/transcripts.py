"""Turns as a language model reads them when it is asked to summarise."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.context.summaries.strategy import Room
from hybrid_memory.log.event import Event
from hybrid_memory.text.cleaning import clean

TURN_CHARS = 1200
"""A longer turn is shown by its head and its tail."""


def transcript(span: Sequence[Event], room: Room) -> str:
    """One paragraph a turn: its number in brackets, who speaks, what is said."""
    return "\n".join(f"[{event.position}] {event.message.speaker}: {_said(event, room)}" for event in span)


def _said(event: Event, room: Room) -> str:
    text = event.message.text
    if len(text) > TURN_CHARS:
        text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
    return clean(text, room.cleaning).strip()
