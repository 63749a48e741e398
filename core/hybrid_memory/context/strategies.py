"""How turns that leave the queue become a summary: anchored lines, one recursive text, or nothing.

A strategy returns the whole summary after a new span. Each has a deterministic method, which works in English and
Chinese without a model, and most have a prompt for a language model, whose answer replaces the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

from hybrid_memory.context.lines import (
    MAX_LINE_CHARS,
    SummaryRoom,
    candidates,
    chosen,
    cost,
    cut_line,
    judged,
    merged,
    selected,
)
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Origin, Role, lowest
from hybrid_memory.sockets import load
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.speakers import escaped, speaker_of
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

_KINDS = {"anchored": "Anchored", "recursive": "Recursive", "window": "WindowOnly"}
STRATEGIES = {name: f"{__name__}:{kind}" for name, kind in _KINDS.items()}
"""The library's own, by name; packages add theirs as entry points of ``hybrid_memory.strategies``."""

_PARTS = ("name", "schema", "extract", "prompt", "read")

TURN_CHARS = 1200  # of a longer turn a model sees only head and tail
MODEL_IMPORTANCE = 0.8  # the importance of a line written by a model
CITED = 0.5  # the share of a statement's terms that its source turns must have

MAX_READ = 20_000
SEPARATOR = " | "

_NUMBER = re.compile(r"^(?=[ \t]*\[\d+\])", re.MULTILINE)  # a line that looks like the start of a turn in a transcript

_LABEL = re.compile(r"\A[#*\s]*(?:new |updated )?(?:summary|notes?)(?: so far)?[*\s]*[:：]\s*", re.IGNORECASE)
"""Labels that small models write before a summary."""


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """What to summarise: the turns of a span, and the existing lines."""

    standing: Sequence[Line]
    span: Sequence[Event]
    room: SummaryRoom


class Strategy(Protocol):
    """A compaction strategy.

    Attributes:
        name: the name by which it is selected and shown in the summary.
        schema: JSON schema of a language model's answer; None if the answer is text.
    """

    name: str
    schema: Mapping[str, Any] | None

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, without a model; deterministic."""
        ...

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The prompt for a language model; empty if this strategy does not use one."""
        ...

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, from the model's answer: text, or an object for a schema.

        Raises:
            ValueError: the answer has nothing usable.
        """
        ...


def resolve_strategy(given: object) -> Strategy:
    """The strategy itself, or the one with this name, from the library or installed packages.

    Raises `InvalidConfigError` if there is none with this name, or the object is not a strategy.
    """
    strategy = _named(given) if isinstance(given, str) else given
    missing = [name for name in _PARTS if not hasattr(strategy, name)]
    if missing:
        raise InvalidConfigError(
            f"a strategy is a name, or has {', '.join(_PARTS)}; {shown(given)} has no {', '.join(missing)}"
        )
    return cast("Strategy", strategy)


@cache
def _named(name: str) -> object:
    strategy = load("strategy", name, STRATEGIES)
    return strategy() if isinstance(strategy, type) else strategy


def transcript(span: Sequence[Event], room: SummaryRoom) -> str:
    """One paragraph per turn: number in brackets, speaker, and words, which cannot look like another turn."""
    rows = []
    for event in span:
        text = event.message.text
        if len(text) > TURN_CHARS:
            text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
        text = escaped(_NUMBER.sub("> ", clean(text, room.cleaning).strip()))
        rows.append(f"[{event.position}] {speaker_of(event)}: {text}")
    return "\n".join(rows)


class WindowOnly:
    """No summary; what leaves the queue is only in the log and found by recall."""

    name = "window"
    schema: Mapping[str, Any] | None = None

    def extract(self, _job: SummaryJob, /) -> list[Line]:
        """No lines."""
        return []

    def prompt(self, _job: SummaryJob, /) -> list[Message]:
        """No question."""
        return []

    def read(self, answer: Any, _job: SummaryJob, /) -> list[Line]:
        """No lines."""
        raise ValueError(f"the window asks no model, so {answer!r} is no answer")


_SECTIONS = {
    Section.INTENT: "what the user wants to achieve",
    Section.DECISIONS: "what was decided, with the reason",
    Section.NEXT_STEPS: "what is still to do, appointments and deadlines",
    Section.FACTS: "facts about people, things and the work: names, numbers, dates, preferences, causes of errors",
    Section.QUESTIONS: "questions that are still open",
}

_TASK = (
    "You keep the notes of a long conversation for somebody who must go on with it and will not see the turns below. "
    "Write short, complete statements in the language of the turns. Copy names, numbers, dates, paths, codes and "
    "ids exactly. Leave out greetings and small talk. Under 'turns' give the numbers in brackets of the turns that "
    "each statement comes from.\n\n" + "\n".join(f"{section.value}: {what}" for section, what in _SECTIONS.items())
)

_STATEMENT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": MAX_LINE_CHARS},
        "turns": {"type": "array", "items": {"type": "integer"}, "maxItems": 6},
    },
    "required": ["text", "turns"],
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {section.value: {"type": "array", "maxItems": 8, "items": _STATEMENT} for section in _SECTIONS},
    "required": [section.value for section in _SECTIONS],
}
"""The answer of a language model: lines by section, each with the numbers of its source turns."""


class Anchored:
    """Summarises only the new span, and merges it into the existing lines, so that nothing is retold and degraded."""

    name = "anchored"
    schema: Mapping[str, Any] | None = SCHEMA

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important sentences of the span, added to the existing lines."""
        fresh = selected(candidates(job.span, job.room.cleaning), job.room, job.standing)
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The existing lines for reference, and the turns to summarise."""
        existing = "\n".join(f"- {line.text}" for line in job.standing[-20:])
        already = f"\n\nAlready noted, do not repeat:\n{existing}" if existing else ""
        return [
            Message(role=Role.SYSTEM, content=f"{_TASK}{already}"),
            Message(role=Role.USER, content=transcript(job.span, job.room)),
        ]

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's lines merged into the existing ones."""
        fresh = chosen(statements(answer, job.span), max_tokens=job.room.fresh, count=job.room.count)
        return merged(job.standing, fresh, max_tokens=job.room.standing, count=job.room.count)


class _Place(NamedTuple):
    """A possible source of a statement: its position, its events, its terms."""

    position: int
    sources: tuple[str, ...]
    terms: frozenset[str]


def statements(answer: Any, span: Sequence[Event], standing: Sequence[Line] = ()) -> list[Line]:
    """The statements of an answer, parsed leniently; raises ValueError if there are none."""
    if not isinstance(answer, Mapping):
        raise ValueError(f"expected an object with sections, got {type(answer).__name__}")  # noqa: TRY004 - no usable answer
    places = [_Place(line.last, line.sources, frozenset(terms(line.text))) for line in standing]
    places += [_Place(event.position, (event.id,), frozenset(terms(event.message.text[:MAX_READ]))) for event in span]
    lines = []
    for section in _SECTIONS:
        items = answer.get(section.value, [])
        for item in items if isinstance(items, list) else [items]:
            text, turns = (item.get("text"), item.get("turns")) if isinstance(item, Mapping) else (item, None)
            if not isinstance(text, str) or not text.strip():
                continue
            text = " ".join(text.split())
            words = frozenset(terms(text))
            # The turns that it cites, if they have its words; otherwise the one with most; otherwise all of them: small
            # models miscount turns.
            numbers = turns if isinstance(turns, list) else [turns]
            behind: Sequence[_Place] = [place for place in places if place.position in numbers]
            if not behind or len(words & frozenset().union(*(place.terms for place in behind))) < CITED * len(words):
                best = max(places, key=lambda place: len(words & place.terms))
                behind = [best] if len(words & best.terms) >= CITED * len(words) > 0 else behind or places
            sources = tuple(dict.fromkeys(source for place in behind for source in place.sources))
            at = [place.position for place in behind]
            lines.append(Line(section, cut_line(text), sources, min(at), max(at), MODEL_IMPORTANCE))
    if not lines:
        raise ValueError("no section of the answer has a statement")
    return lines


class Recursive:
    """A new summary from the previous one and the evicted turns (MemGPT, arXiv 2310.08560, section 2.2)."""

    name = "recursive"
    schema: Mapping[str, Any] | None = None
    share = 1.0
    task = (
        "Write the summary of a conversation so that somebody can go on with it: first what the summary so far says, "
        "then what the new turns add. Keep names, numbers, dates, paths, codes and decisions exactly. Plain text in "
        "the language of the turns, at most {words} words, no heading."
    )

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important sentences of the previous summary and the span, in order, as one text."""
        sentences = []
        for line in job.standing:
            parts = [part for part in line.text.split(SEPARATOR) if part.strip()]
            for row, part in enumerate(parts):
                verdict = judged(part)
                at = line.first + (line.last - line.first) * row // len(parts)  # roughly where it was said
                sentences.append(Line(verdict.section, part, line.sources, at, at, verdict.score, origin=line.origin))
        sentences += candidates(job.span, job.room.cleaning)
        kept = chosen(sentences, max_tokens=int(job.room.shown * self.share), count=job.room.count)
        origin = lowest(line.origin or Origin.ASSISTANT for line in kept)
        return [replace(line, origin=origin) for line in _whole(SEPARATOR.join(line.text for line in kept), job)]

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The previous summary and the evicted turns."""
        before = "\n".join(line.text for line in job.standing)
        turns = transcript(job.span, job.room)
        task = self.task.format(words=max(20, int(job.room.shown * self.share * 0.6)))
        both = f"Summary so far:\n{before}\n\nNew turns:\n{turns}" if before else f"Turns:\n{turns}"
        both = f"{both}\n\nWrite the summary of all of this now, without copying the turns."
        return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=both)]

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's text, cut to the budget."""
        if not isinstance(answer, str) or not answer.strip():
            raise ValueError(f"expected a summary as text, got {answer!r}")
        size = int(job.room.shown * self.share)
        text = _LABEL.sub("", " ".join(answer.split()))
        while (lines := _whole(text, job)) and cost(lines[0], job.room.count) > size and len(text) > 1:
            text = text[: max(1, int(len(text) * 0.9))]
        return lines


def _whole(text: str, job: SummaryJob) -> list[Line]:
    """One line for everything so far; its sources are the turns of the span, its handle covers everything."""
    if not text:
        return []
    first = min([job.span[0].position, *(line.first for line in job.standing)])
    last = max([job.span[-1].position, *(line.last for line in job.standing)])
    return [Line(Section.NOTES, text, tuple(event.id for event in job.span), first, last, importance=1.0)]
