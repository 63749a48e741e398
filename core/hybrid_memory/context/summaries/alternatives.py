"""Alternatives to the anchored strategy.

One keeps nothing, the other writes a single text: MemGPT's recursive summary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.context.summaries.importance import judged
from hybrid_memory.context.summaries.lines import chosen, cost, updated
from hybrid_memory.context.summaries.strategy import ModelKind, SummaryJob, transcript
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.origin import Origin, lowest

_LABEL = re.compile(r"\A[#*\s]*(?:new |updated )?(?:summary|notes?)(?: so far)?[*\s]*[:：]\s*", re.IGNORECASE)
"""Labels that small models write before a summary."""


SEPARATOR = " | "


class WindowOnly:
    """No summary; what leaves the queue is only in the log and found by recall."""

    name = "window"
    schema: Mapping[str, Any] | None = None
    model: ModelKind = "language"
    asks_again = False

    def extract(self, _job: SummaryJob, /) -> list[Line]:
        """No lines."""
        return []

    def prompt(self, _job: SummaryJob, /) -> list[Message]:
        """No question."""
        return []

    def read(self, answer: Any, _job: SummaryJob, /) -> list[Line]:
        """No lines."""
        raise ValueError(f"the window asks no model, so {answer!r} is no answer")


class Recursive:
    """A new summary from the previous one and the evicted turns (MemGPT, arXiv 2310.08560, section 2.2)."""

    name = "recursive"
    schema: Mapping[str, Any] | None = None
    model: ModelKind = "language"
    asks_again = True
    share = 1.0
    task = (
        "Write the summary of a conversation so that somebody can go on with it: first what the summary so far says, "
        "then what the new turns add. Keep names, numbers, dates, paths, codes and decisions exactly. Plain text in "
        "the language of the turns, at most {words} words, no heading."
    )

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important sentences of the previous summary and the span, in order, as one text."""
        size = int(job.room.shown * self.share)
        standing, said = updated(_parts(job.standing), job.span, job.room.cleaning, job.worth)
        parts = chosen([*standing, *said], max_tokens=size, count=job.room.count)
        origin = lowest(part.origin or Origin.ASSISTANT for part in parts)
        return [replace(line, origin=origin) for line in _whole(_joined(parts), job.standing, job.span)]

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The previous summary and the evicted turns."""
        before = "\n".join(line.text for line in job.standing)
        turns = transcript(job.span, job.room)
        task = self.task.format(words=max(20, int(job.room.shown * self.share * 0.6)))
        told = f"Summary so far:\n{before}\n\nNew turns:\n{turns}" if before else f"Turns:\n{turns}"
        told = f"{told}\n\nWrite the summary of all of this now, without copying the turns."
        return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=told)]

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's text, cut to the budget at a sentence."""
        if not isinstance(answer, str) or not answer.strip():
            raise ValueError(f"expected a summary as text, got {answer!r}")
        size = int(job.room.shown * self.share)
        text = _LABEL.sub("", " ".join(answer.split()))
        lines = _whole(text, job.standing, job.span)
        while lines and cost(lines[0], job.room.count) > size and len(text) > 1:
            text = text[: max(1, int(len(text) * 0.9))]
            lines = _whole(text, job.standing, job.span)
        return lines


def _parts(standing: Sequence[Line]) -> list[Line]:
    """The sentences of an extracted summary, each with roughly where it was said."""
    found = []
    for line in standing:
        parts = [part for part in line.text.split(SEPARATOR) if part.strip()]
        for row, part in enumerate(parts):
            worth = judged(part)
            at = line.first + (line.last - line.first) * row // len(parts)
            found.append(Line(worth.section, part, line.sources, at, at, importance=worth.score, origin=line.origin))
    return found


def _joined(parts: Sequence[Line]) -> str:
    return SEPARATOR.join(part.text for part in parts)


def _whole(text: str, standing: Sequence[Line], span: Sequence[Event]) -> list[Line]:
    """One line for everything so far; its sources are the turns of the span, its handle covers everything."""
    if not text:
        return []
    # A span that is summarised again may lie before the end of what stands.
    first = min([span[0].position, *(line.first for line in standing)])
    last = max([span[-1].position, *(line.last for line in standing)])
    sources = tuple(event.id for event in span)
    return [Line(Section.NOTES, text, sources, first, last, importance=1.0)]
