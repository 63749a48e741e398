"""Times named in texts, as ranges of instants: adjacent parts form one expression."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from hybrid_memory.text import lazy
from hybrid_memory.text.dates.calendar import DAY, Language, Moment, Part, Range, TimeSpan, part_of, shift
from hybrid_memory.text.dates.chinese import CHINESE, LUNAR
from hybrid_memory.text.dates.european import WORDS, european
from hybrid_memory.text.tokenize import language_of

_CHINESE_MONTHS = "一 二 三 四 五 六 七 八 九 十 十一 十二".split()
_TABLES = [table.split() for words in WORDS.values() for table in (words.month, words.doubtful) if table]
_MONTH_NAMES = [  # of each month, from January on, its names in all languages
    re.compile(rf"\b(?:{'|'.join(set(names) - {'-'})})\b|(?<![\d十])(?:{number}|{chinese})月", re.IGNORECASE)
    for number, (chinese, *names) in enumerate(zip(_CHINESE_MONTHS, *_TABLES, strict=True), 1)
]

_WINDOW = 80  # how far to look for words that show the tense of a sentence, in characters
_REACH = 40  # how far before an expression to look for "since" and for a part of it, in characters

_MONTH = 28 * DAY
_DIGIT = re.compile(r"\d")
_BETWEEN = re.compile(r"(?<!\w)(?:between|zwischen|entre|tra|fra)\s$", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|und|et|y|e)\s(?:in\s)?", re.IGNORECASE)
_STOP = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SIGNS = {  # of each language, the words for times
    name: lazy(re.sub(r"[\s_]+", "|", " ".join(tables)), re.IGNORECASE)
    for name, words in WORDS.items()
    for units in [re.sub("(?= |$)", words.plural, words.unit)]
    for tables in [(words.day, words.weekday, words.month, words.doubtful, words.context, words.season, units,
                    words.number, words.which, words.parts)]
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    range: Range
    language: Language
    weekday: bool | None = None  # None for what has been joined
    weak: bool = False


def find_times(text: str, now: datetime) -> list[TimeSpan]:
    """The time expressions of a text that was written at ``now``, in order, without overlap.

    In English and Chinese; and in German, French, Spanish, Italian and Portuguese, if its words show the language.

    Spans are half-open and in the time zone of ``now``, which must be aware. What they mean:

    - Weeks are ISO weeks: "next Tuesday" and 下周二 lie in the next one, "last week" and 上周 are the one before.
      "last Friday", "last May", "last spring" are the latest that are over; "next May" the first that begins after now.
    - A month or season alone is the latest that has begun, or the coming one if something is due by then.
    - A weekday or date alone is the coming one, or the last one if its sentence tells of the past.
    - The end of a period is its last day, or its last third if it is over and nothing was due by then.
    - "two weeks ago" is the whole calendar unit that lies two units back, "in two weeks" the day after exactly two;
      hours and minutes count from now. "the last two weeks" reaches until now. A few are 2 to 5.
    - "since May" begins where the latest May begins and ends now.
    - "this morning" and 昨晚 are days. Hours and tonight name none: they say when something is, not when it was said.
    - Seasons are northern: spring begins in March.
    - In figures the year comes first, or else the month, where that can be; before dots, and in texts of the
      other languages, the day.
    - Dates of the lunar calendar (农历八月十五, 大年初二) are not read.
    - What comes again and again ("every Friday", 每周一) names no time, nor does the last or next day of a story.
    """
    zone = now.tzinfo
    readable = LUNAR.sub(lambda words: " " * len(words[0]), text)
    # Function words and words for times show the language, English if they show no other. Where the same word means a
    # time in one language only ("hier"), the others decide.
    words, also = set(_WORD.findall(readable.lower())), defaultdict[str, set[str]](set)
    for word in words:
        for name in _languages_of(word):
            also[name].add(word)
    also["english"] |= words & {"ago", "mars"}  # the planet, so that its name alone is no month
    language = language_of(words, 1, also)
    rules = european(language if language in WORDS else "english")
    wall = now.replace(tzinfo=None)
    spans = []
    for each in _joined(readable, _pieces(readable, (CHINESE, rules), wall)):
        (begin, end), (first, last) = each.range, _reach(readable, each.start, each.end, each.language)
        if (first, last) == (each.start, each.end) or begin >= wall:
            first, last = each.start, each.end
        else:  # with "since" it reaches until now
            end = wall
        try:
            since, until = begin.replace(tzinfo=zone).astimezone(UTC), end.replace(tzinfo=zone).astimezone(UTC)
            if until <= since:  # a time skipped by a clock change is that long after it
                until = since + (end - begin)
            since, until = since.astimezone(zone), until.astimezone(zone)
        except OverflowError:
            continue
        spans.append(TimeSpan(first, last, text[first:last], since, until))
    return spans


def _pieces(text: str, languages: Sequence[Language], wall: datetime) -> list[_Piece]:
    """The matches of the rules; of overlapping ones the first, then the longest."""
    found: list[_Piece] = []
    shape = _DIGIT.sub("0", text.lower())
    for language in languages:
        for rule in language.rules:
            for cue in rule.cues:
                if cue in shape:
                    break
            else:
                continue
            for match in rule.pattern.finditer(text):
                try:
                    named = rule.read(match, Moment(wall, _past(text, match, language)))
                    if named is not None:
                        weak = match.groupdict().get("weak") is not None
                        whole = _Piece(*match.span(), named, language, rule.weekday, weak)
                        found.append(_parted(text, whole, wall))
                except (ValueError, OverflowError):
                    continue
    found.sort(key=lambda piece: (piece.start, -piece.end))
    pieces: list[_Piece] = []
    for piece in found:
        if not pieces or piece.start >= pieces[-1].end:
            pieces.append(piece)
    return pieces


@lru_cache(maxsize=4096)
def _languages_of(word: str) -> frozenset[str]:
    """The languages in which a word in lower case is one for times."""
    return frozenset(name for name, signs in _SIGNS.items() if signs.fullmatch(word))


def _past(text: str, match: re.Match[str], language: Language) -> bool:
    """Whether the sentence around an expression tells of the past, or of what has been so since then."""
    start, end = match.span()
    around = f"{_STOP.split(text[max(start - _WINDOW, 0) : start])[-1]} {_STOP.split(text[end : end + _WINDOW])[0]}"
    future = language.future.search(around) is not None
    first, last = _reach(text, start, end, language)
    if last > end or first < start:
        return not future or last == end
    return not future and language.past.search(around) is not None


def _reach(text: str, start: int, end: int, language: Language) -> tuple[int, int]:
    """Where an expression begins and ends with the words that extend it until now, if there are any."""
    before = language.since.search(text, max(start - _REACH, 0), start)
    behind = language.onward.match(text, end)
    if language.reaches(before[0] if before else "", behind[0] if behind else ""):
        return before.start() if before else start, behind.end() if behind else end
    return start, end


def _parted(text: str, whole: _Piece, wall: datetime) -> _Piece:
    """The part of a period that the words before or after it name, or all of it."""
    language = whole.language
    before = language.part.search(text, max(whole.start - _REACH, 0), whole.start)
    words = before or language.part_behind.match(text, whole.end)
    if words is None or whole.weekday or whole.range[1] - whole.range[0] <= DAY:
        return whole
    due = words["due"] is not None or whole.range[1] > wall
    range_ = part_of(whole.range, Part.named_by(words), last_day=due)
    return replace(
        whole, start=min(words.start(), whole.start), end=max(words.end(), whole.end), range=range_, weak=False
    )


def _joined(text: str, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """A weekday and its date are one, and so are the two ends of a range; what is weak needs the other."""
    pending: _Piece | None = None
    for each in pieces:
        if pending is not None:
            gap, languages = text[pending.end : each.start], (pending.language, each.language)
            whole: Range | None = None
            if {pending.weekday, each.weekday} == {True, False}:
                begin, end = (pending if each.weekday else each).range
                if end - begin == DAY and any(language.link.fullmatch(gap) for language in languages):
                    whole = begin, end
            between = _AND.fullmatch(gap) and _BETWEEN.search(text, max(pending.start - _REACH, 0), pending.start)
            if whole is None and (between or any(language.to.fullmatch(gap) for language in languages)):
                begin = pending.range[0]
                if begin > each.range[0] and _MONTH <= pending.range[1] - begin <= 4 * _MONTH:
                    begin = shift(begin, "year", -1)  # from October to January
                whole = (begin, each.range[1]) if begin < each.range[0] else None
            if whole is not None:
                pending = _Piece(pending.start, each.end, whole, each.language)
                continue
            if not pending.weak:
                yield pending
        pending = each
    if pending is not None and not pending.weak:
        yield pending


def months_in(text: str) -> frozenset[int]:
    """The months that a text names, from 1 on, whatever their year."""
    return frozenset(number for number, names in enumerate(_MONTH_NAMES, 1) if names.search(text))
