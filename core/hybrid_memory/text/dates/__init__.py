"""Times named in English and Chinese texts, as ranges of instants: adjacent parts form one expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hybrid_memory.text.dates.calendar import Kind, Language, Moment, Range, TimeSpan
from hybrid_memory.text.dates.chinese import CHINESE
from hybrid_memory.text.dates.english import ENGLISH

LANGUAGES = (CHINESE, ENGLISH)

_WINDOW = 80
"""How far to look for words that show the tense of a sentence, in characters."""

_DIGIT = re.compile(r"\d")
_STOP = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    kind: Kind
    range: Range
    language: Language
    weak: bool


def find_times(text: str, now: datetime) -> list[TimeSpan]:
    """The time expressions of a text that was written at ``now``, in order, without overlap; English and Chinese.

    Spans are half-open and in the time zone of ``now``, which must be aware. What they mean:

    - Weeks are ISO weeks: "next Tuesday" and 下周二 lie in the next one, "last week" and 上周 are the one before.
      "last Friday", "last May", "last spring" are the latest that are over; "next May" the first that begins after now.
    - A weekday, month or date alone is the coming one, or the last one if its sentence tells of the past.
    - "two weeks ago" is the whole calendar unit that lies two units back, "in two weeks" the day after exactly two;
      hours and minutes count from now. "the last two weeks" reaches until now. A few are 2 to 5.
    - "since last May" begins where last May begins and ends now.
    - "this morning" and 昨晚 are days. Hours and tonight name none: they say when something is, not when it was said.
    - Seasons are northern: spring begins in March.
    - In figures the year comes first, or else the month, where that can be.
    - What comes again and again ("every Friday", 每周一) names no time.
    """
    zone = now.tzinfo
    wall = now.replace(tzinfo=None)
    spans = []
    for each in _reaching(text, _joined(text, _pieces(text, wall)), wall):
        try:
            since, until = (end.replace(tzinfo=zone).astimezone(UTC) for end in each.range)
            if until <= since:  # a time skipped by a clock change is that long after it
                until = since + (each.range[1] - each.range[0])
            since, until = since.astimezone(zone), until.astimezone(zone)
        except OverflowError:
            continue
        spans.append(TimeSpan(each.start, each.end, text[each.start : each.end], since, until))
    return spans


def _pieces(text: str, wall: datetime) -> list[_Piece]:
    """The matches of the rules; of overlapping ones the first, then the longest."""
    found: list[_Piece] = []
    shape = _DIGIT.sub("0", text.lower())
    for language in LANGUAGES:
        for rule in language.rules:
            if not any(cue in shape for cue in rule.cues):
                continue
            for match in rule.pattern.finditer(text):
                start = match.start()
                end = match.end()
                before = _STOP.split(text[max(start - _WINDOW, 0) : start])[-1]
                after = _STOP.split(text[end : end + _WINDOW])[0]
                around = f"{before} {after}"
                past = language.past.search(around) is not None and language.future.search(around) is None
                try:
                    reading = rule.read(match, Moment(wall, past))
                except (ValueError, OverflowError):
                    continue
                if reading is not None and reading.range is not None:
                    found.append(_Piece(start, end, reading.kind, reading.range, language, reading.weak))
    found.sort(key=lambda piece: (piece.start, -piece.end))
    pieces: list[_Piece] = []
    for piece in found:
        if not pieces or piece.start >= pieces[-1].end:
            pieces.append(piece)
    return pieces


def _joined(text: str, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """A weekday and its date are one, and so are the two ends of a range; what is weak needs the other."""
    pending: _Piece | None = None
    for each in pieces:
        if pending is not None:
            gap, languages = text[pending.end : each.start], (pending.language, each.language)
            day = each if each.kind is Kind.DAY else pending
            whole: Range | None = None
            if {pending.kind, each.kind} == {Kind.DAY, Kind.WEEKDAY}:
                whole = day.range if any(language.link.fullmatch(gap) for language in languages) else None
            if whole is None and pending.range[0] < each.range[0]:
                ends = any(language.to.fullmatch(gap) for language in languages)
                whole = (pending.range[0], each.range[1]) if ends else None
            if whole is not None:
                pending = _Piece(pending.start, each.end, Kind.RANGE, whole, each.language, weak=False)
                continue
            if not pending.weak:
                yield pending
        pending = each
    if pending is not None and not pending.weak:
        yield pending


def _reaching(text: str, named: Iterator[_Piece], wall: datetime) -> Iterator[_Piece]:
    """Extends expressions with a "since" until now."""
    for each in named:
        language = each.language
        before = language.since.search(text, max(each.start - 12, 0), each.start)
        behind = language.onward.match(text, each.end)
        start, end = before.start() if before else each.start, behind.end() if behind else each.end
        reaches = language.reaches(before[0] if before else "", behind[0] if behind else "")
        start, end = (start, end) if reaches else (each.start, each.end)
        if (start, end) != (each.start, each.end) and each.range[0] < wall:
            yield replace(each, start=start, end=end, range=(each.range[0], wall))
        else:
            yield each
