"""Compaction strategies that exist to be compared with those of the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybrid_memory import Line, Message, Role
from hybrid_memory.analysis import (
    STRATEGIES,
    Anchored,
    Recursive,
    Strategy,
    SummaryJob,
    candidates,
    chosen,
    statements,
)


class Regenerate(Anchored):
    """Rewrites the whole structured summary from the last one and the span, to the length of its share of a prompt."""

    name = "regenerate"

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important of the existing lines and the span's sentences."""
        fresh = candidates(job.span, job.room.cleaning)
        return chosen([*job.standing, *fresh], max_tokens=job.room.shown, count=job.room.count)

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The last summary and the span, both to be rewritten."""
        rules, turns = super().prompt(replace(job, standing=()))
        before = "\n".join(f"[{line.last}] {line.section}: {line.text}" for line in job.standing)
        both = f"Notes so far:\n{before}\n\nNew turns:\n{turns.text}" if before else turns.text
        task = f"{rules.text}\n\nRewrite the notes so far together with the new turns."
        return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=both)]

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's lines and nothing else."""
        return chosen(statements(answer, job.span, job.standing), max_tokens=job.room.shown, count=job.room.count)


class Dense(Recursive):
    """The highest compression: one dense text of a third of the budget."""

    name = "compact"
    share = 0.35
    task = (
        "Write the densest possible note of a conversation: names, numbers, dates, paths, codes, decisions and open "
        "points, separated by semicolons, no sentences, at most {words} words. Keep what the note so far says."
    )


COMPARED: dict[str, str | Strategy] = {
    **{name: name for name in STRATEGIES},
    "regenerate": Regenerate(),
    "compact": Dense(),
}
"""By name, what `CompactionConfig` takes: those of the library, and these."""
