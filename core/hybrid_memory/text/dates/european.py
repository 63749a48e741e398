"""English, German, French, Spanish, Italian and Portuguese time expressions: one reader of the tables in `words`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any

from hybrid_memory.text.dates.calendar import (
    DAY,
    SPRING,
    Found,
    Kind,
    Language,
    Moment,
    Part,
    Range,
    Reading,
    Rule,
    Which,
    date_of,
    nth,
    shift,
    year_of,
)
from hybrid_memory.text.dates.words import WORDS, Words
from hybrid_memory.text.languages import language_of
from hybrid_memory.text.patterns import lazy

_UNITS = ("day", "week", "weekend", "month", "year", "quarter", "decade", "hour", "minute")
_WHICH = (Which.BEFORE_LAST, Which.LAST, Which.THIS, Which.NEXT, Which.AFTER_NEXT, Which.COMING)
_MEANT: dict[str, Sequence[Any]] = {
    "day": (-2, -1, 0, 1, 2),
    "weekday": range(7),
    "month": range(1, SPRING),
    "context": range(1, SPRING),
    "season": range(SPRING, SPRING + 4),
    "unit": _UNITS,
    "part": _UNITS,
    "number": (None, 0.5, *range(1, 21), 30),
    "ordinal": (0, 1, 2, 3, -1),
    **dict.fromkeys(("which", "behind", "inner", "weekwhich", "weekbehind", "yearwhich", "yearbehind"), _WHICH),
    **dict.fromkeys(("before", "after"), ("lasting", "ago", "ahead")),
}
"""What the entries of a table mean, in their order."""

_STEPS = {None: 0, **dict(zip(_WHICH, (-2, -1, 0, 1, 2, 1), strict=True))}

_BLANK = r"(?:\s{1,3}|(?<=['’]))"
_DAY = r"(?P<date>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|[ºª°])?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![:/-]?\d)"
_YEAR_LED = (
    r"(?P<led>(?:in|of|during|by|until|till|around|year|early|mid|late|en|em|nel|del?|di|im_jahre?|von|bis)_"
    r"|(?<=since\s)|(?<=seit\s)|(?<=depuis\s)|(?<=desde\s)|(?<=dal\s)|(?<=l['’]an\s))?"
)
_LINK = r"[\s,-]{0,3}(?:(?:at|on|by|around|about|from|in the|of|in|den|dem|le|el|il|o|dia)\s{1,3})?"
_TO = r"\s{0,3}(?:to|until|till|through|bis(?: zum)?|à|au|jusqu['’](?:à|en)|ao?|al|hasta|fino a|até|-|–|—)\s{0,3}"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_VAGUE = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)|\([^()]*\)\?|\[[^\]]*\]")


def _named(table: str, written: str) -> str:
    """A pattern for the words of a table, each in a group of the table's name and its place."""
    forms = [f"(?P<{table}{place}>{words})" for place, words in enumerate(written.split()) if words != "-"]
    return f"(?:{'|'.join(forms) or '(?!)'})"


def _meant(match: re.Match[str], table: str) -> Any:
    """What the word of a table means that matched; None if there is none."""
    for name, words in match.groupdict().items():
        if words and name.startswith(table) and name[len(table) :].isdecimal():
            return _MEANT[table][int(name[len(table) :])]
    return None


def _which(match: re.Match[str], noun: str = "") -> Which | None:
    return _meant(match, f"{noun}which") or _meant(match, f"{noun}behind")


def _period(match: re.Match[str]) -> int | None:
    return _meant(match, "month") or _meant(match, "context") or _meant(match, "season")


def _year(match: re.Match[str], moment: Moment) -> int | None:
    which = _which(match, "year")
    return int(match["year"]) if match["year"] else None if which is None else moment.now.year + _STEPS[which]


def _count(match: re.Match[str]) -> float | None:
    """How many; None is a few."""
    number = float(match["figures"]) if match["figures"] else _meant(match, "number")
    return None if number is None else number + (0.5 if match["half"] else 0)


def _direction(match: re.Match[str]) -> Any:
    return _meant(match, "after") or _meant(match, "before")


def _of_amount(match: re.Match[str], moment: Moment) -> Found | None:
    """Two weeks ago, in two weeks, for two weeks, the last two weeks."""
    count, unit, direction = _count(match), _meant(match, "unit"), _direction(match)
    if direction in {"ago", "ahead"}:
        return moment.away(count, unit, -1 if direction == "ago" else 1)
    which = _meant(match, "which") or (_meant(match, "inner") if count != 1 else None)  # not for "one last day"
    if direction is None and which is None:
        return None
    ahead = direction is None and _STEPS[which] > 0
    return Found(Kind.RANGE, moment.stretch((count or 5) * (1 if ahead else -1), unit))


def _of_day_away(match: re.Match[str], moment: Moment) -> Found | None:
    """A week from Friday, two weeks ago today, today two weeks ago."""
    count, unit, weekday, back = (
        _count(match),
        _meant(match, "unit"),
        _meant(match, "weekday"),
        _direction(match) == "ago",
    )
    if not (back or match.groupdict().get("counted")) or unit in {"weekend", "hour", "minute"}:
        return None
    if count is None or count != int(count):
        return None
    if weekday is None:
        begin = moment.unit("day", _meant(match, "day") or 0)[0]
    else:
        begin = moment.pick(Which.LAST if back else Which.NEXT, partial(moment.weekday, weekday))[0]
    begin = shift(begin, unit, int(-count if back else count))
    return Found(Kind.DAY, (begin, begin + DAY))


def _of_unit(match: re.Match[str], moment: Moment) -> Found | None:
    unit, which = _meant(match, "unit"), _which(match)
    if unit in {"hour", "minute"} or (unit == "day" and which not in {None, Which.THIS}):
        return None  # the last day is that of a story
    if which is None and unit == "weekend":
        return Found(Kind.RANGE, moment.pick(moment.near, partial(moment.unit, unit)))
    return Found(Kind.RANGE, moment.unit(unit, _STEPS[which]), weak=which is None)


def _of_weekday(match: re.Match[str], moment: Moment) -> Found:
    weekday, which, week = partial(moment.weekday, _meant(match, "weekday")), _which(match), _which(match, "week")
    if week is not None or which in {Which.NEXT, Which.AFTER_NEXT}:
        return Found(Kind.WEEKDAY, weekday(_STEPS[week or which]))
    if which in {None, Which.THIS}:
        which = moment.near if which else Which.LAST if moment.past else Which.NEXT
    return Found(Kind.WEEKDAY, moment.pick(which, weekday))


def _of_ordinal(match: re.Match[str], moment: Moment) -> Found:
    """The first Tuesday of November, the last week of the year."""
    number, part, period = _meant(match, "ordinal"), _meant(match, "part"), _period(match)
    if part is None:
        part = _meant(match, "weekday")
    if period is None:
        range_ = nth(moment.unit(_meant(match, "unit"), _STEPS[_which(match)]), part, number)
    else:
        range_ = moment.nth_of(period, part, number, _year(match, moment))
    return Found(Kind.RANGE if part in {"week", "weekend"} else Kind.DAY, range_)


def _of_first_few(match: re.Match[str], moment: Moment) -> Found | None:
    """The first two weeks of October, the last three days of May."""
    count, unit, number = _count(match), _meant(match, "unit"), _meant(match, "ordinal")
    begin, end = moment.period(_period(match), _year(match, moment))
    if count is None or count != int(count) or number > 0 or unit not in {"day", "week"}:
        return None
    first = shift(begin, unit, int(count)), shift(end, unit, -int(count))
    return Found(Kind.RANGE, (begin, first[0]) if number == 0 else (first[1], end))


def _of_figures(match: re.Match[str], _: Moment, *, day_first: bool) -> Found:
    """The day or the month first, as is usual in the language, or else as can be; before dots the day."""
    month, day = int(match["one"]), int(match["two"])
    if month > 12 or (day <= 12 and (day_first or match["sign"] == ".")):  # noqa: PLR2004 - months
        month, day = day, month
    return Found(Kind.DAY, date_of(int(match["year"]), month, day))


def _of_period(match: re.Match[str], moment: Moment, *, words: Words) -> Found | None:
    """A month or season; in English alone only where nothing else is written like that."""
    which, year = _which(match), _year(match, moment)
    alone = which is None and year is None
    if alone and words.context and _meant(match, "month") is None:
        return None
    weak = alone and re.fullmatch(words.doubtful, match[0], re.IGNORECASE) is not None
    return Found(Kind.RANGE, moment.period(_period(match), year, which or Which.LATEST), weak)


def _of_led_period(match: re.Match[str], moment: Moment) -> Found:
    which = Which.COMING if match["due"] and not moment.past else Which.LATEST
    return Found(Kind.RANGE, moment.period(_period(match), None, which))


def _rule(cues: Iterable[str], written: str, read: Reading) -> Rule:
    """Of words that are not within others, or within a name like "due_today"."""
    pattern = rf"(?<![a-z0-9À-ɏ])(?<!\w_)(?:{written.replace('_', _BLANK)})(?![a-z0-9À-ɏ]|_\w)"
    return Rule(tuple(cues), lazy(pattern, re.IGNORECASE), read)


def _cues(*tables: str) -> list[str]:
    """Letters of which any text with a word of the tables has some: of each form the most that it always has."""
    forms = re.split(r"[\s|]", _VAGUE.sub(" ", " ".join(tables)).lower())
    letters = (re.findall(r"[^\W_]+(?![?])", form) for form in forms)
    cues = {re.sub(r"\d", "0", max(each, key=len)) for each in letters if each}
    return [cue for cue in cues if not any(other in cue for other in cues - {cue})]


def _rules(words: Words) -> Iterator[Rule]:
    names = ("day", "weekday", "month", "context", "season", "unit", "ordinal", "which", "behind")
    tables = (words.days, words.weekdays, words.months, words.context, words.seasons, words.units, words.ordinals,
              words.which, words.behind or words.which)  # fmt: skip
    day, weekday, month, context, season, unit, ordinal, which, behind = map(_named, names, tables)
    day_cues, weekday_cues, unit_cues, ordinal_cues = map(
        _cues, (words.days, words.weekdays, words.units, words.ordinals)
    )
    period, period_cues = f"(?:{month}|{context}|{season})", _cues(words.months, words.context, words.seasons)

    def meant(noun: str) -> str:  # last week, la semaine dernière
        forms = words.units.split()[_UNITS.index(noun)]
        return f"(?:{which}_{forms}|{forms}_{behind})".replace("P<which", f"P<{noun}which").replace(
            "P<behind", f"P<{noun}behind"
        )

    each = "".join(rf"(?<!{word}\s)" for word in words.each.split())
    of, within = f"(?:_(?:{words.of}))*_", f"(?:_(?:{words.within or words.of}))+_"
    year = f",?{of}(?:{_YEAR}|{meant('year')})"
    yield _rule(day_cues, day, lambda match, at: Found(Kind.DAY, at.unit("day", _meant(match, "day"))))

    number = rf"(?:(?:{words.about})_)?(?:(?P<figures>\d{{1,3}}(?:\.5)?)|{_named('number', words.numbers)})"
    sides = words.which.replace(words.which.split()[2], "-")
    amount = f"{number}(?P<half>_(?:{words.half}))?_(?:{_named('inner', sides)}_)?{unit}{words.plural}"
    forms = [each.split() for each in (words.lasting, words.ago, words.ahead)]
    before = " ".join("|".join(form[:-3] for form in each if form.endswith("_{}")) or "-" for each in forms)
    after = " ".join("|".join(form[3:] for form in each if form.startswith("{}_")) or "-" for each in forms)
    away = f"(?:(?:{_named('before', before)}|{_named('which', sides)})_)?{amount}(?:_{_named('after', after)})?"
    yield _rule(unit_cues, away, _of_amount)
    yield _rule(_cues(words.days.split()[2]), f"(?:{words.days.split()[2]}),?_{away}", _of_day_away)
    yield _rule(unit_cues, f"{away}(?:_?(?:{words.counted}))?_(?:{day}|{weekday})", _of_day_away)
    yield _rule(unit_cues, f"{each}(?:{which}_|{words.the}){unit}(?:_{behind})?", _of_unit)

    yield _rule(weekday_cues, f"{each}(?:{which}_)?{weekday}(?:{of}{meant('week')}|_{behind})?", _of_weekday)
    part = _named("part", " ".join(words.units.split()[:3]))
    whole = f"(?:{period}(?:{year})?|(?:{which}_)?{unit}(?:_{behind})?)"
    yield _rule(ordinal_cues, f"{words.ordinal}{ordinal}_(?:{weekday}|{part}){within}{whole}", _of_ordinal)
    first = f"(?:{words.led})?{words.ordinal}{ordinal}_{amount}{within}{period}(?:{year})?"
    yield _rule(ordinal_cues, first, _of_first_few)

    dates = [rf"(?:{words.the})?{_DAY}\.?{of}{period}"] + ([] if words.day_first else [f"{period}_{_DAY}"])
    for date in dates:
        yield _rule(
            period_cues,
            f"{date}(?:{year})?",
            lambda match, at: Found(Kind.DAY, at.date(_period(match), int(match["date"]), _year(match, at))),
        )
    figures = ("0-0", "0/0", "0.0")
    yield Rule(
        figures,
        lazy(r"(?<![A-Za-z0-9_.])(?P<year>(?:19|20)\d\d)([-/.])(?P<one>\d\d?)\2(?P<two>\d\d?)(?!\d)"),
        lambda match, _: Found(Kind.DAY, date_of(*(int(match[name]) for name in ("year", "one", "two")))),
    )
    year_last = rf"(?<!\d\.)(?P<one>\d\d?)(?P<sign>[/.-])(?P<two>\d\d?)(?P=sign){_YEAR}(?!\.\d)"
    yield _rule(figures, year_last, partial(_of_figures, day_first=words.day_first))

    if words.led:
        yield _rule(
            period_cues, rf"(?:{words.led})(?:{month}|{context}|(?:the_)?{season})(?!{year}|,?{of}\d)", _of_led_period
        )
    named = f"{each}(?:{which}_)?{period}(?:{year}|_{behind})?"
    yield _rule(period_cues, named, partial(_of_period, words=words))
    yield _rule(
        ("0000",),
        rf"{_YEAR_LED}(?<![\d.,$€£:/-]){_YEAR}",
        lambda match, _: Found(Kind.RANGE, year_of(int(match["year"])), weak=match["led"] is None),
    )


def _of_end(match: re.Match[str], moment: Moment) -> Found:
    """Month end, the end of year: its last day."""
    end = moment.unit("month" if "month" in match[0].lower() else "year")[1]
    return Found(Kind.DAY, (end - DAY, end))


_ENGLISH = (
    _rule(
        ("end",),
        "(?:(?:by|at|before)_)?(?:the_)?(?:end_of_(?:month|year)|(?:month|year)(?:['’]s)?(?:_|-)end)",
        _of_end,
    ),
    _rule(
        ("last",),
        f"(?:today|this_day),?_last_{_named('unit', '- week - month year')}",
        lambda match, moment: Found(Kind.DAY, moment.same_day(-1, _meant(match, "unit"))),
    ),
    _rule(
        ("past",),
        f"(?:the_)?past_{_named('unit', '- week - month year quarter decade')}",
        lambda match, moment: Found(Kind.RANGE, moment.stretch(-1, _meant(match, "unit"))),
    ),
    _rule(
        ("0st", "0nd", "0rd", "0th"),
        r"(?:(?:on|by|until|before|since)_)?the_(?P<date>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)"
        rf"(?:_of_{_named('which', '- last this next')}_month|(?=\s?(?:[.,;!?)]|$|(?:at|and|about)\b)))",
        lambda match, moment: Found(
            Kind.DAY, moment.day_of_month(int(match["date"]), _STEPS[which] if (which := _which(match)) else None)
        ),
    ),
)


@cache
def european(name: str) -> Language:
    """The rules of a language of `WORDS`; "german" for example."""
    words = WORDS[name]
    parts = "|".join(f"(?P<{part}>{forms})" for part, forms in zip(Part, words.parts.split(), strict=True))

    def spaced(written: str) -> re.Pattern[str]:
        return lazy(written.replace("_", _BLANK), re.IGNORECASE)

    return Language(
        rules=(*(_ENGLISH if name == "english" else ()), *_rules(words)),
        link=spaced(_LINK),
        to=spaced(_TO),
        since=spaced(rf"(?<!\w)(?:{words.since})_$"),
        part=spaced(rf"(?<!\w){words.part_of}(?:{parts})(?:-|(?:_(?:{words.of}))*_)$"),
        past=spaced(rf"\b(?:{words.past})\b"),
        future=spaced(rf"\b(?:{words.future})\b"),
    )


@lru_cache(maxsize=4096)
def languages_of(word: str) -> frozenset[str]:
    """The languages of `WORDS` in which a word in lower case is one for times."""
    return frozenset(name for name in WORDS if _signs(name).fullmatch(word))


@cache
def _signs(name: str) -> re.Pattern[str]:
    words = WORDS[name]
    units = " ".join(unit + words.plural for unit in words.units.split())
    tables = (words.days, words.weekdays, words.months, words.context, words.seasons, units, words.numbers, words.which,
              words.parts)  # fmt: skip
    return lazy(re.sub(r"[\s_]+", "|", " ".join(filter(None, tables))), re.IGNORECASE)


def language_of_times(text: str) -> Language:
    """The rules for a text by its function words and its words for times: English if these show no other language.

    Where the same word means a time in one language only ("hier"), the others decide.
    """
    words = set(_WORD.findall(text.lower()))
    also = defaultdict[str, set[str]](set)
    for word in words:
        for name in languages_of(word):
            also[name].add(word)
    also["english"] |= words & {"ago", "mars"}  # the planet, so that its name alone is no month
    language = language_of(words, 1, also)
    return european(language if language in WORDS else "english")
