"""Summaries that select: nothing, what is important, or one of what was said repeatedly; no model needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hybrid_memory.context.summaries.importance import CRITICAL, THRESHOLD, critical, importance
from hybrid_memory.context.summaries.lines import candidates, chosen, line_of, merged, prose
from hybrid_memory.context.summaries.strategy import Job
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokenize import terms

REPEATED = 0.6
"""Turns that share this much of their terms (Jaccard) are merged."""


class Window:
    """Nothing stands for what leaves the queue; the log and recall have it."""

    name = "window"
    schema: Mapping[str, Any] | None = None

    def extract(self, _job: Job, /) -> list[Line]:
        """No lines."""
        return []

    def prompt(self, _job: Job, /) -> list[Message]:
        """No question."""
        return []

    def read(self, answer: Any, _job: Job, /) -> list[Line]:
        """No lines."""
        raise ValueError(f"the window asks no model, so {answer!r} is no answer")


class Importance(Window):
    """Turns above the threshold, the critical ones verbatim, others by their weightiest sentences."""

    name = "importance"

    def extract(self, job: Job, /) -> list[Line]:
        """Standing lines and those of the span."""
        fresh: list[Line] = []
        for event in job.span:
            said = " ".join(clean(prose(event.message), job.room.cleaning).split())
            worth = importance(said)
            ordered = event.message.role is Role.SYSTEM and not event.message.event
            if event.message.role is Role.TOOL or not said or (worth < THRESHOLD and not ordered):
                continue
            if ordered or critical(said):
                fresh.append(line_of(event, said, Section.FACTS, max(worth, CRITICAL)))
            else:
                fresh += candidates([event], job.room.cleaning)
        fresh = chosen(fresh, max_tokens=job.room.fresh, count=job.room.count)
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)


class Merging(Window):
    """Turns that say nearly the same become one line, the newest and fullest, with all of them as its sources."""

    name = "merging"

    def extract(self, job: Job, /) -> list[Line]:
        """Standing lines, and one for each group of the span."""
        groups: list[tuple[frozenset[str], list[Event]]] = []
        for event in job.span:
            key = frozenset(terms(prose(event.message)))
            if event.message.role is Role.TOOL or not key:
                continue
            row = next((row for row, (other, _) in enumerate(groups) if _jaccard(key, other) >= REPEATED), None)
            if row is None:
                groups.append((key, [event]))
            else:
                other, events = groups[row]
                groups[row] = (key | other, [*events, event])
        fresh = []
        for _, events in groups:
            fullest = max(events, key=lambda event: (len(event.message.text), event.position))
            said = " ".join(clean(prose(fullest.message), job.room.cleaning).split())
            line = line_of(fullest, said, Section.NOTES, importance(said))
            sources = tuple(event.id for event in events)
            fresh.append(replace(line, sources=sources, first=events[0].position, last=events[-1].position))
        fresh = chosen(
            [line for line in fresh if line.importance >= THRESHOLD], max_tokens=job.room.fresh, count=job.room.count
        )
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
