"""A summary of headlines: the first sentence of each turn of the user."""

import re
from collections.abc import Mapping
from typing import Any

from hybrid_memory import Line, Message, Section
from hybrid_memory.ports import SummaryJob


class Headlines:
    """Keeps the newest headlines that there is room for; asks no model."""

    name = "headlines"
    schema: Mapping[str, Any] | None = None

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """All lines after this span."""
        fresh = [
            Line(Section.NOTES, text, (event.id,), event.position, event.position)
            for event in job.span
            if event.message.role == "user" and (text := re.split(r"(?<=[.!?。！？])", event.message.text)[0].strip())
        ]
        kept: list[Line] = []
        left = job.room.standing
        for line in reversed([*job.standing, *fresh]):
            left -= job.room.count(line.text)
            if left < 0:
                break
            kept.append(line)
        return kept[::-1]

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """No question."""
        return []

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """No answer."""
        raise ValueError(f"headlines ask no model, so {answer!r} is no answer")
