"""Summaries in one piece of text: MemGPT's recursive summary, a dense one, and one by deleting tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.context.summaries.importance import judged
from hybrid_memory.context.summaries.lines import chosen, cost, updated
from hybrid_memory.context.summaries.strategy import Job
from hybrid_memory.context.summaries.transcripts import transcript
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role

_LABEL = re.compile(r"\A[#*\s]*(?:new |updated )?(?:summary|notes?)(?: so far)?[*\s]*[:：]\s*", re.IGNORECASE)
"""What small models write in front of a summary."""

DENSE = 0.35
"""Share of a prompt's room for lines that the compact form takes."""


class Recursive:
    """A new summary from the old one and what was evicted (MemGPT, arXiv 2310.08560, section 2.2)."""

    name = "recursive"
    schema: Mapping[str, Any] | None = None
    share = 1.0
    task = (
        "Write the summary of a conversation so that somebody can go on with it: first what the summary so far says, "
        "then what the new turns add. Keep names, numbers, dates, paths, codes and decisions exactly. Plain text in "
        "the language of the turns, at most {words} words, no heading."
    )

    def extract(self, job: Job, /) -> list[Line]:
        """The weightiest sentences of the old summary and the span, in order, as one text."""
        size = int(job.room.shown * self.share)
        standing, said = updated(_parts(job.standing), job.span, job.room.cleaning)
        parts = chosen([*standing, *said], max_tokens=size, count=job.room.count)
        return _whole(_joined(parts), job.standing, job.span)

    def prompt(self, job: Job, /) -> list[Message]:
        """The old summary and the evicted turns."""
        before = "\n".join(line.text for line in job.standing)
        turns = transcript(job.span, job.room)
        task = self.task.format(words=max(20, int(job.room.shown * self.share * 0.6)))
        told = f"Summary so far:\n{before}\n\nNew turns:\n{turns}" if before else f"Turns:\n{turns}"
        told = f"{told}\n\nWrite the summary of all of this now, without copying the turns."
        return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=told)]

    def read(self, answer: Any, job: Job, /) -> list[Line]:
        """The model's text, cut to the room at a sentence."""
        if not isinstance(answer, str) or not answer.strip():
            raise ValueError(f"expected a summary as text, got {answer!r}")
        size = int(job.room.shown * self.share)
        text = _LABEL.sub("", " ".join(answer.split()))
        lines = _whole(text, job.standing, job.span)
        while lines and cost(lines[0], job.room.count) > size and len(text) > 1:
            text = text[: max(1, int(len(text) * 0.9))]
            lines = _whole(text, job.standing, job.span)
        return lines


class Compact(Recursive):
    """The highest ratio: one dense text of a third of the room."""

    name = "compact"
    share = DENSE
    task = (
        "Write the densest possible note of a conversation: names, numbers, dates, paths, codes, decisions and open "
        "points, separated by semicolons, no sentences, at most {words} words. Keep what the note so far says."
    )


class Shortened(Recursive):
    """LLMLingua: the turns themselves, without the tokens that a small model finds predictable.

    The flow hands ``prompt`` to a `TextCompressor` instead of a language model; without one, or when it fails, the
    deterministic text stands.
    """

    name = "llmlingua"

    def prompt(self, job: Job, /) -> list[Message]:
        """The old text and the turns, nothing else: all of it is to be shortened."""
        before = " ".join(line.text for line in job.standing)
        return [
            Message(
                role=Role.USER, content="\n".join(part for part in (before, transcript(job.span, job.room)) if part)
            )
        ]


def _parts(standing: Sequence[Line]) -> list[Line]:
    """The sentences that an extracted summary was joined from, each about where it was said."""
    found = []
    for line in standing:
        parts = [part for part in line.text.split(SEPARATOR) if part.strip()]
        for row, part in enumerate(parts):
            worth = judged(part)
            at = line.first + (line.last - line.first) * row // len(parts)
            found.append(Line(worth.section, part, line.sources, at, at, importance=worth.score))
    return found


SEPARATOR = " | "


def _joined(parts: Sequence[Line]) -> str:
    return SEPARATOR.join(part.text for part in parts)


def _whole(text: str, standing: Sequence[Line], span: Sequence[Event]) -> list[Line]:
    """One line for everything so far; its sources are the turns of the span, and the handle covers all."""
    if not text:
        return []
    # A span that is summarised again may lie before the end of what stands.
    first = min([span[0].position, *(line.first for line in standing)])
    last = max([span[-1].position, *(line.last for line in standing)])
    sources = tuple(event.id for event in span)
    return [Line(Section.NOTES, text, sources, first, last, importance=1.0)]
