"""Times named in English and Chinese texts, as ranges of instants: adjacent parts form one expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hybrid_memory.text.dates.calendar import Found, Kind, Language, Moment, Range, TimeSpan, third
from hybrid_memory.text.dates.chinese import CHINESE
from hybrid_memory.text.dates.english import ENGLISH

LANGUAGES = (CHINESE, ENGLISH)

_WINDOW = 80
"""How far to look for words that show the tense of a sentence, in characters."""

_DIGIT = re.compile(r"\d")
_STOP = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")
_OF_DAY = frozenset({Kind.DAY, Kind.WEEKDAY})
_OF_RANGE = frozenset({Kind.RANGE, Kind.THIRD})


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    found: Found
    language: Language
    past: bool


@dataclass(frozen=True, slots=True)
class _Named:
    start: int
    end: int
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
    - "this morning", "tonight" and 昨晚 are days. Hours name no time: they say when something is, not when it was said.
    - Seasons are northern: spring begins in March.
    - In figures the year comes first, or else the month, where that can be.
    - What comes again and again ("every Friday", 每周一) names no time.
    """
    zone = now.tzinfo
    wall = now.replace(tzinfo=None)
    named = [each for group in _groups(text, _pieces(text, wall)) if (each := _name(group)) is not None]
    spans = []
    for each in _reaching(text, _joined(text, named), wall):
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
                if reading is not None and (reading.range is not None or reading.kind not in {Kind.DAY, Kind.RANGE}):
                    found.append(_Piece(match.start(), match.end(), reading, language, past))
    found.sort(key=lambda piece: (piece.start, -piece.end))
    pieces: list[_Piece] = []
    for piece in found:
        if not pieces or piece.start >= pieces[-1].end:
            pieces.append(piece)
    return pieces


def _groups(text: str, pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Adjacent pieces that name one time together."""
    group: list[_Piece] = []
    for piece in pieces:
        kind = piece.found.kind
        kinds = {each.found.kind for each in group}
        if group:
            gap = text[group[-1].end : piece.start]
            linked = any(language.link.fullmatch(gap) for language in (group[-1].language, piece.language))
            if not linked or kind in kinds or not kinds <= (_OF_DAY if kind in _OF_DAY else _OF_RANGE):
                yield group
                group = []
        group.append(piece)
    if group:
        yield group


def _name(group: Sequence[_Piece]) -> _Named | None:
    """The range that these pieces name together; None if they do not determine one."""
    found = {piece.found.kind: piece.found for piece in group}
    whole = next((found[kind] for kind in (Kind.RANGE, Kind.DAY, Kind.WEEKDAY, Kind.THIRD) if kind in found), None)
    named = None if whole is None else whole.range
    if named is None:
        return None
    if Kind.THIRD in found:
        named = third(named, found[Kind.THIRD].third)
    return _Named(group[0].start, group[-1].end, named, group[0].language, len(group) == 1 and group[0].found.weak)


def _joined(text: str, named: Sequence[_Named]) -> Iterator[_Named]:
    """Joins two expressions that are the ends of a range; weak ones need that."""
    pending: _Named | None = None
    for each in named:
        if pending is not None and pending.range[0] < each.range[0]:
            gap = text[pending.end : each.start]
            if pending.language.to.fullmatch(gap) or each.language.to.fullmatch(gap):
                pending = _Named(pending.start, each.end, (pending.range[0], each.range[1]), each.language, weak=False)
                continue
        if pending is not None and not pending.weak:
            yield pending
        pending = each
    if pending is not None and not pending.weak:
        yield pending


def _reaching(text: str, named: Iterator[_Named], wall: datetime) -> Iterator[_Named]:
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
