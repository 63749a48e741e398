"""How well recall keeps to the time that a question names: a diary of 75 days, in English and in Chinese.

The diary is made here: three to five entries a day on what recurs in anybody's days, so that what was done yesterday
was also done three weeks ago. It is kept once in one session and once in a session a day, and asked 28 questions with a
time in each language, half of which name nothing but the time. What counts is whether the first hit lies in the range
that the question means; the ranges are written down by hand, not read from the words. Six more questions
ask for what was talked of last, and for the first or the last time of something.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hybrid_memory import MemoryConfig, Message, ScopedMemory, open_memory

NOW = datetime(2026, 5, 20, 21, 30, tzinfo=UTC)
"""A Wednesday."""

DAYS = 75
DAY = timedelta(days=1)
Entry = tuple[datetime, str]
LAYOUTS = ("one session", "a session a day")

DATA: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Of each language: entries (kind, forms, things), questions (first and last day, words), and `ORDERED`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the range that it means, half-open."""

    text: str
    since: datetime
    until: datetime


def _asked(first: str, last: str, text: str) -> Question:
    begin, end = (datetime.strptime(f"2026-{day}", "%Y-%m-%d").replace(tzinfo=UTC) for day in (first, last))
    return Question(text, begin, end + DAY)


QUESTIONS: Mapping[str, Sequence[Question]] = {
    language: [_asked(*row) for row in data["questions"]] for language, data in DATA.items()
}
ORDERED: Mapping[str, Sequence[tuple[str, str, str]]] = {language: data["ordered"] for language, data in DATA.items()}
"""A question, a word of the entries that it is about (empty: any of the last day before today), and which it wants."""


def diary(language: str, days: int = DAYS) -> Iterator[Entry]:
    """The entries, oldest first: three to five a day, today included."""
    sides = [[part.split("|") for part in (forms, things)] for _, forms, things in DATA[language]["entries"]]
    number = 0
    for day in range(days):
        begin = (NOW - (days - 1 - day) * DAY).replace(hour=8, minute=0)
        for entry in range(3 + day * 7 % 3):
            number += 1
            forms, things = sides[(number * 3 + day) % len(sides)]
            text = forms[number % len(forms)].format(things[(number * 5 + day // 7) % len(things)])
            yield begin + entry * timedelta(hours=3), text[0].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was found.

    Attributes:
        asked: questions with a time; first: of these, with the first hit in range.
        ordered: questions for the first or last time whose first hit is that.
        missed: those whose first hit is wrong.
    """

    asked: int
    first: int
    ordered: int
    missed: tuple[str, ...]


def asked(memory: ScopedMemory, language: str, entries: Sequence[Entry]) -> Counts:
    """All questions of a language, put to a diary."""
    first = ordered = 0
    missed = []
    for question in QUESTIONS[language]:
        within = [question.since <= hit.record.at < question.until for hit in memory.recall(question.text, k=1)]
        first += any(within)
        if not any(within):
            missed.append(question.text)
    for text, word, which in ORDERED[language]:
        about = [at for at, entry in entries if word in entry]
        wanted = about[0] if which == "first" else about[-1]
        hits = memory.recall(text, k=1)
        if hits and hits[0].record.at == wanted:
            ordered += 1
        else:
            missed.append(text)
    return Counts(len(QUESTIONS[language]), first, ordered, tuple(missed))


def measured(language: str, layout: str, config: MemoryConfig) -> Counts:
    """The counts for a diary in one language and layout."""
    entries = list(diary(language))
    with open_memory(config, clock=lambda: NOW) as memory:
        sessions: dict[str, list[Message]] = {}
        for at, text in entries:
            session = "diary" if layout == LAYOUTS[0] else str(at.date())
            sessions.setdefault(session, []).append(Message(content=text, at=at))
        for session, said in sessions.items():
            memory.scoped(user="me", session=session).remember(said)
        mine = memory.scoped(user="me")
        mine.flush(progress=False)
        return asked(mine, language, entries)
