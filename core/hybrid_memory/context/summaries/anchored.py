"""Structured summaries: lines under fixed sections, each with its source events.

The anchored strategy only merges new lines into the existing ones, so that nothing is retold and degraded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hybrid_memory.context.summaries.lines import MAX_LINE_CHARS, chosen, merged, selected, updated
from hybrid_memory.context.summaries.strategy import ModelKind, SummaryJob, transcript
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.tokenize import terms

MODEL_IMPORTANCE = 0.8
"""The least importance of a line written by a model; it is otherwise scored like any sentence."""

CITED = 0.5
"""The share of a statement's terms that its source turns must have."""

MAX_READ = 20_000

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
"""The answer of a language model: lines by section, each with the numbers of its source turns."""

_TASK = (
    "You keep the notes of a long conversation for somebody who must go on with it and will not see the turns below. "
    "Write short, complete statements in the language of the turns. Copy names, numbers, dates, paths, codes and "
    "ids exactly. Leave out greetings and small talk. Under 'turns' give the numbers in brackets of the turns that "
    "each statement comes from."
)


class Anchored:
    """Summarises only the new span, and merges it into the existing lines."""

    name = "anchored"
    schema: Mapping[str, Any] | None = SCHEMA
    model: ModelKind = "language"
    asks_again = True

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important sentences of the span, added to the existing lines."""
        standing, said = updated(job.standing, job.span, job.room.cleaning, job.worth)
        fresh = selected(said, job.room, standing)
        return merged(standing, fresh, max_tokens=job.room.standing, count=job.room.count)

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The existing lines for reference, and the turns to summarise."""
        known = "\n".join(f"- {line.text}" for line in job.standing[-20:])
        already = f"\n\nAlready noted, do not repeat:\n{known}" if known else ""
        return _question(f"{_TASK}\n\n{_described()}{already}", transcript(job.span, job.room))

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's lines merged into the existing ones."""
        fresh = chosen(statements(answer, job.span), max_tokens=job.room.fresh, count=job.room.count)
        standing, _ = updated(job.standing, job.span, job.room.cleaning)
        return merged(standing, fresh, max_tokens=job.room.standing, count=job.room.count)


def _described() -> str:
    return "\n".join(f"{section.value}: {what}" for section, what in _SECTIONS.items())


def _question(task: str, turns: str) -> list[Message]:
    return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=turns)]


def statements(answer: Any, span: Sequence[Event], standing: Sequence[Line] = ()) -> list[Line]:
    """The statements of an answer, parsed leniently; raises ValueError if there are none."""
    if not isinstance(answer, Mapping):
        raise ValueError(f"expected an object with sections, got {type(answer).__name__}")  # noqa: TRY004 - no usable answer
    places = [_Place(line.last, line.sources, frozenset(terms(line.text))) for line in standing]
    places += [_Place(event.position, (event.id,), frozenset(terms(event.message.text[:MAX_READ]))) for event in span]
    found = []
    for section in _SECTIONS:
        items = answer.get(section.value, [])
        for item in items if isinstance(items, list) else [items]:
            text, turns = (item.get("text"), item.get("turns")) if isinstance(item, Mapping) else (item, None)
            if isinstance(text, str) and text.strip():
                found.append(_line(section, " ".join(text.split()), turns, places))
    if not found:
        raise ValueError("no section of the answer has a statement")
    return found


class _Place(NamedTuple):
    """A possible source of a statement: its position, its events, its terms."""

    position: int
    sources: tuple[str, ...]
    terms: frozenset[str]


def _line(section: Section, text: str, turns: Any, places: Sequence[_Place]) -> Line:
    behind = _behind(frozenset(terms(text)), turns, places)
    return Line(
        section=section,
        text=text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…",
        sources=tuple(dict.fromkeys(source for place in behind for source in place.sources)),
        first=min(place.position for place in behind),
        last=max(place.position for place in behind),
        importance=MODEL_IMPORTANCE,
    )


def _behind(said: frozenset[str], turns: Any, places: Sequence[_Place]) -> Sequence[_Place]:
    """The turns that a statement cites, if they have its words; otherwise the one with most; otherwise all.

    Small models miscount turns.
    """
    numbers = turns if isinstance(turns, list) else [turns]
    cited = [place for place in places if place.position in numbers]
    words = frozenset().union(*(place.terms for place in cited))
    if cited and len(said & words) >= CITED * len(said):
        return cited
    best = max(places, key=lambda place: len(said & place.terms))
    return [best] if len(said & best.terms) >= CITED * len(said) > 0 else cited or places
