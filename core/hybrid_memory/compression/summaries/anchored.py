"""Structured summaries: lines under fixed sections, each with the events that it came from.

The anchored one merges only what is new into the standing lines, so that nothing is told a second time and worn down
by it; the regenerated one is written anew each time and exists to be compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.compression.summaries.lines import MAX_LINE_CHARS, candidates, chosen, merged
from hybrid_memory.compression.summaries.strategy import Job
from hybrid_memory.compression.summaries.transcripts import transcript
from hybrid_memory.types import Event, Line, Message, Role, Section

MODEL_IMPORTANCE = 0.8
"""Of a line that a model thought worth writing; what it writes is scored like any other sentence, but not below."""

_SECTIONS = {
    Section.INTENT: "what the user wants to achieve",
    Section.DECISIONS: "what was decided, with the reason",
    Section.NEXT_STEPS: "what is still to do, appointments and deadlines",
    Section.FACTS: "facts about people, things and the work: names, numbers, dates, preferences, causes of errors",
    Section.QUESTIONS: "questions that are still open",
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        section.value: {
            "type": "array",
            "maxItems": 8,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "maxLength": MAX_LINE_CHARS},
                    "turns": {"type": "array", "items": {"type": "integer"}, "maxItems": 6},
                },
                "required": ["text", "turns"],
            },
        }
        for section in _SECTIONS
    },
    "required": [section.value for section in _SECTIONS],
}
"""What a language model fills: lines by section, each with the numbers of the turns that it rests on."""

_TASK = (
    "You keep the notes of a long conversation for somebody who must go on with it and will not see the turns below. "
    "Write short, complete statements in the language of the turns. Copy names, numbers, dates, paths, codes and "
    "ids exactly. Leave out greetings and small talk. Under 'turns' give the numbers in brackets of the turns that "
    "each statement comes from."
)


class Anchored:
    """Only the new span is summarised, and merged into the standing lines."""

    name = "anchored"
    schema: Mapping[str, Any] | None = SCHEMA

    def extract(self, job: Job, /) -> list[Line]:
        """The most important sentences of the span, beside the standing lines."""
        fresh = chosen(
            candidates(job.span, job.room.cleaning),
            max_tokens=job.room.fresh,
            count=job.room.count,
            besides=job.standing,
        )
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)

    def prompt(self, job: Job, /) -> list[Message]:
        """The standing lines for reference, and the turns to note."""
        known = "\n".join(f"- {line.text}" for line in job.standing[-20:])
        already = f"\n\nAlready noted, do not repeat:\n{known}" if known else ""
        return _question(f"{_TASK}\n\n{_described()}{already}", transcript(job.span, job.room))

    def read(self, answer: Any, job: Job, /) -> list[Line]:
        """The model's lines merged into the standing ones."""
        fresh = chosen(_lines(answer, job.span), max_tokens=job.room.fresh, count=job.room.count)
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)


class Regenerate(Anchored):
    """The whole structured summary is rewritten from the last one and the span, to the length of a prompt's share."""

    name = "regenerate"

    def extract(self, job: Job, /) -> list[Line]:
        """The most important of the standing lines and of the span's sentences."""
        return chosen(
            [*job.standing, *candidates(job.span, job.room.cleaning)], max_tokens=job.room.shown, count=job.room.count
        )

    def prompt(self, job: Job, /) -> list[Message]:
        """The last summary and the span, both to be rewritten."""
        before = "\n".join(f"[{line.last}] {line.section}: {line.text}" for line in job.standing)
        return _question(
            f"{_TASK} Rewrite the notes so far together with the new turns.\n\n{_described()}",
            f"Notes so far:\n{before}\n\nNew turns:\n{transcript(job.span, job.room)}"
            if before
            else transcript(job.span, job.room),
        )

    def read(self, answer: Any, job: Job, /) -> list[Line]:
        """The model's lines and nothing else."""
        return chosen(_lines(answer, job.span, job.standing), max_tokens=job.room.shown, count=job.room.count)


def _described() -> str:
    return "\n".join(f"{section.value}: {what}" for section, what in _SECTIONS.items())


def _question(task: str, turns: str) -> list[Message]:
    return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=turns)]


def _lines(answer: Any, span: Sequence[Event], standing: Sequence[Line] = ()) -> list[Line]:
    """The statements of an answer, as tolerantly as it can be read; raises ValueError if there are none."""
    if not isinstance(answer, Mapping):
        raise ValueError(f"expected an object with sections, got {type(answer).__name__}")  # noqa: TRY004 - no usable answer
    places: dict[int, tuple[str, ...]] = {line.last: line.sources for line in standing}
    places |= {event.position: (event.id,) for event in span}
    found = []
    for section in _SECTIONS:
        items = answer.get(section.value, [])
        for item in items if isinstance(items, list) else [items]:
            text, turns = (item.get("text"), item.get("turns")) if isinstance(item, Mapping) else (item, None)
            if isinstance(text, str) and text.strip():
                found.append(_line(section, " ".join(text.split()), _positions(turns, places), places, span))
    if not found:
        raise ValueError("no section of the answer has a statement")
    return found


def _positions(turns: Any, places: Mapping[int, tuple[str, ...]]) -> list[int]:
    numbers = turns if isinstance(turns, list) else [turns]
    return sorted({number for number in numbers if isinstance(number, int) and number in places})


def _line(
    section: Section, text: str, at: Sequence[int], places: Mapping[int, tuple[str, ...]], span: Sequence[Event]
) -> Line:
    """A statement of the model; one without turns that exist stands for the whole span."""
    first, last = (at[0], at[-1]) if at else (span[0].position, span[-1].position)
    sources = [source for position in at for source in places[position]] or [event.id for event in span]
    return Line(
        section=section,
        text=text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…",
        sources=tuple(dict.fromkeys(sources)),
        first=first,
        last=last,
        importance=MODEL_IMPORTANCE,
    )
