"""English time expressions, and numeric dates."""

from __future__ import annotations

import re
from functools import partial

from hybrid_memory.text.dates.calendar import (
    DAY,
    Found,
    Kind,
    Language,
    Moment,
    Range,
    Reading,
    Rule,
    Which,
    day_of,
    shift,
    weekday_of,
    year_of,
)
from hybrid_memory.text.patterns import lazy

NUMBERS = {
    word: value
    for value, words in enumerate("one|a|an two three four five six seven eight nine ten eleven twelve".split(), 1)
    for word in words.split("|")
} | {"fifteen": 15, "twenty": 20, "thirty": 30}
MONTHS = {
    name: number
    for number, names in enumerate(
        "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sept|sep october|oct "
        "november|nov december|dec".split(),
        1,
    )
    for name in names.split("|")
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        "monday|mon tuesday|tues|tue wednesday|wed thursday|thurs|thur|thu friday|fri saturday|sat sunday|sun".split()
    )
    for name in names.split("|")
}
DAYS = {"day after tomorrow": 2, "day before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1}
WHICH = {"last": Which.LAST, "past": Which.LAST, "previous": Which.LAST, "this": Which.THIS, "next": Which.NEXT,
          "coming": Which.COMING, "upcoming": Which.COMING}  # fmt: skip
STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1}
NUMBER = (
    r"(?:(?P<few>(?:a )?few|several|some)|(?:about |around |roughly )?"
    r"(?P<number>\d{1,3}(?:\.5)?|half an?|(?:a )?couple(?: of)?|"
    + "|".join(sorted(NUMBERS, key=len, reverse=True))
    + ")(?P<more> and a half)?)"
)
UNIT = r"(?P<unit>minute|hour|day|week|month|quarter|year|decade)s?"
MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
SPELT = r"(?-i:(?P<month>January|February|March|April|May|June|July|August|September|October|November|December))\b"
ORDINAL = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
RELATIVE_YEAR = r"(?P<year>(?:19|20)\d\d|(?:last|this|next) year)"
WEEKDAY = (
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
    r"(?:(?<=on\s...)|(?<=by\s...)|(?<=xt\s...)|(?<=st\s...)|(?<=is\s...)|(?=[.,]?\s{1,3}(?:\d|at\b))))"
)
SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
LAST_NEXT = r"(?P<which>last|past|previous|this|next|coming|upcoming)"


def _number(match: re.Match[str]) -> float | None:
    if match["few"]:
        return None
    words = match["number"].lower()
    if words.startswith("half"):
        return 0.5
    number = float(words) if words[0].isdecimal() else 2.0 if "couple" in words else float(NUMBERS[words])
    return number + (0.5 if match["more"] else 0)


def _weekday(match: re.Match[str], moment: Moment) -> Found | None:
    day = WEEKDAYS[match["weekday"].lower().rstrip(".")]
    week = (match["week"] or "").lower()
    which = (match["which"] or "").lower()
    if week:
        return Found(Kind.WEEKDAY, moment.weekday(day, STEPS[week]))
    if which == "next":
        return Found(Kind.WEEKDAY, moment.weekday(day, 1))
    if which == "this":
        meant = moment.near
    elif which:
        meant = WHICH[which]
    else:
        meant = Which.LAST if moment.past else Which.NEXT
    return Found(Kind.WEEKDAY, moment.pick(meant, partial(moment.weekday, day)))


def _unit(match: re.Match[str], moment: Moment) -> Found | None:
    which, unit = match["which"].lower(), match["unit"].lower()
    if which == "past" and unit != "weekend":
        return Found(Kind.RANGE, moment.stretch(-1, unit))
    if which == "the":
        near = moment.pick(moment.near, partial(moment.unit, unit))
        return Found(Kind.RANGE, near if unit == "weekend" else moment.unit(unit), weak=unit != "weekend")
    return Found(Kind.RANGE, moment.unit(unit, STEPS[which]))


def _ahead(match: re.Match[str], moment: Moment) -> Found:
    return moment.ahead(_number(match), match["unit"].lower())


def _date(match: re.Match[str], moment: Moment) -> Found:
    return Found(Kind.DAY, moment.date(MONTHS[match["month"].lower()], int(match["day"]), _year(match, moment)))


def _year_last(match: re.Match[str], _: Moment) -> Found:
    """The month comes first unless that is impossible; before dots the day does, as where they are used."""
    month, day = int(match["one"]), int(match["two"])
    if month > 12 or (match[2] == "." and day <= 12):  # noqa: PLR2004 - months
        month, day = day, month
    return Found(Kind.DAY, day_of(int(match["year"]), month, day))


def _which(match: re.Match[str], moment: Moment) -> Which:
    """What a month or season means: alone the latest, the coming one only by which something is due."""
    if match["which"]:
        return WHICH[match["which"].lower()]
    return Which.COMING if match["due"] and not moment.past else Which.LATEST


def _numbered(match: re.Match[str], moment: Moment) -> Found | None:
    """The first Tuesday of November, the last week of the year."""
    number, unit = _ORDINALS[match["number"].lower()], match["part"].lower()

    def of(whole: Range) -> Range:
        if unit in WEEKDAYS:
            return weekday_of(whole, WEEKDAYS[unit], number)
        if unit == "weekend":
            begin = weekday_of(whole, WEEKDAYS["saturday"], number)[0]
            return begin, begin + 2 * DAY
        begin, size = whole[0 if number >= 0 else 1], DAY if unit == "day" else 7 * DAY
        return begin + number * size, begin + (number + 1) * size

    kind = Kind.RANGE if unit in {"week", "weekend"} else Kind.DAY
    if match["unit"]:
        return Found(kind, of(moment.unit(match["unit"].lower(), STEPS.get(match["which"].lower(), 0))))
    which = None if unit in WEEKDAYS else Which.LATEST
    return Found(kind, moment.of_month(MONTHS[match["month"].lower()], of, _year(match, moment), which))


def _first_few(match: re.Match[str], moment: Moment) -> Found | None:
    """The first two weeks of October, the last three days of May."""
    count, unit = _number(match), match["size"].lower()
    whole = moment.month(MONTHS[match["month"].lower()], _year(match, moment))
    if count is None or count != int(count) or whole is None:
        return None
    if match["end"].lower() == "first":
        return Found(Kind.RANGE, (whole[0], shift(whole[0], unit, int(count))))
    return Found(Kind.RANGE, (shift(whole[1], unit, -int(count)), whole[1]))


def _end(match: re.Match[str], moment: Moment) -> Found:
    """Month end, the end of year: its last day."""
    end = moment.unit("month" if "month" in match[0].lower() else "year")[1]
    return Found(Kind.DAY, (end - DAY, end))


def _from_day(match: re.Match[str], moment: Moment) -> Found | None:
    """A week from Friday, two weeks ago today."""
    count, unit, day = _number(match), match["unit"].lower(), match["from"].lower()
    if count is None or count != int(count):
        return None
    steps = -int(count) if match["ago"] else int(count)
    if day in DAYS:
        return Found(Kind.DAY, moment.same_day(steps, unit, DAYS[day]))
    coming = moment.pick(Which.LAST if match["ago"] else Which.NEXT, partial(moment.weekday, WEEKDAYS[day]))
    begin = None if coming is None else shift(coming[0], unit, steps)
    return None if begin is None else Found(Kind.DAY, (begin, begin + DAY))


def _year(match: re.Match[str], moment: Moment) -> int | None:
    year = (match["year"] or "").lower()
    return int(year) if year.isdecimal() else moment.now.year + STEPS[year.split()[0]] if year else None


def _rule(cues: str, pattern: str, read: Reading) -> Rule:
    written = rf"(?<![a-z0-9_])(?:{pattern.replace(' ', _BLANK)})(?![a-z0-9_])"
    return Rule(tuple(cues.split()), lazy(written, re.IGNORECASE), read)


_ORDINALS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}
_FULL_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_EARLY = "early|mid|late"
_BLANK = r"\s{1,3}"
_AGAIN = r"(?<!every\s)(?<!each\s)(?<!other\s)(?<!most\s)"
_UNITS = "minute hour day week month quarter year decade"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_SEASONS = "spring summer autumn fall winter"
_OTHER_WORDS = frozenset(("March", "April", "May", "June", "August"))
"""Months that may be verbs or names."""
_NO_YEAR = r"(?!,?\s{1,3}(?:of\s{1,3})?(?:\d|(?:last|this|next)\s{1,3}year))"
_PARTS = "morning afternoon evening night"

ENGLISH = Language(
    rules=(
        _rule(
            "yesterday today tomorrow",
            r"(?:the )?day after tomorrow|(?:the )?day before yesterday|yesterday|today|tomorrow",
            lambda match, moment: Found(
                Kind.DAY, moment.unit("day", DAYS[" ".join(match[0].lower().split()).removeprefix("the ")])
            ),
        ),
        _rule(
            _PARTS,
            r"(?P<which>this|last) (?:morning|afternoon|evening|night)",
            lambda match, moment: Found(Kind.DAY, moment.unit("day", -(match["which"].lower() == "last"))),
        ),
        _rule(
            "day mon tue wed thu fri sat, sun,",
            rf"{_AGAIN}(?:{LAST_NEXT} )?{WEEKDAY}(?: (?:of )?(?P<week>last|next|this) week)?",
            _weekday,
        ),
        _rule(
            "of in",
            rf"(?:on )?(?:the )?(?P<number>{'|'.join(_ORDINALS)}) (?P<part>{_FULL_WEEKDAY}|day|weekend|week) (?:of|in) "
            rf"(?:{MONTH}(?:,? (?:of )?{RELATIVE_YEAR})?|(?P<which>this|last|next|the|that) (?P<unit>month|year))",
            _numbered,
        ),
        _rule(
            "of in",
            rf"(?:(?:in|during|over) )?(?:the )?(?P<end>first|last) {NUMBER} (?P<size>day|week)s? (?:of|in) "
            rf"{MONTH}(?:,? (?:of )?{RELATIVE_YEAR})?",
            _first_few,
        ),
        _rule("end", r"(?:(?:by|at|before) )?(?:the )?(?:end of (?:month|year)|(?:month|year)(?:['’]s)?[ -]end)", _end),
        _rule(
            "from ago after",
            rf"{NUMBER} {UNIT} (?:from|after|(?P<ago>ago)(?: on)?) (?:this )?"
            rf"(?P<from>today|tomorrow|yesterday|{_FULL_WEEKDAY})",
            _from_day,
        ),
        _rule(
            "last",
            r"(?:today|this day),? last (?P<unit>week|month|year)",
            lambda match, moment: Found(Kind.DAY, moment.same_day(-1, match["unit"].lower())),
        ),
        _rule("past", r"(?:the )?(?P<which>past) (?P<unit>week|month|quarter|year|weekend)", _unit),
        _rule(
            _UNITS,
            r"(?P<which>last|previous|this|current|next|coming|upcoming|the) "
            r"(?P<unit>week|month|quarter|year|decade|weekend|(?<=the\s)day)",
            _unit,
        ),
        _rule(
            "last next",
            r"the (?P<unit>week|month|year|weekend) (?:(?P<last>before last)|after next)",
            lambda match, moment: Found(Kind.RANGE, moment.unit(match["unit"].lower(), -2 if match["last"] else 2)),
        ),
        _rule(
            "ago back",
            rf"{NUMBER} {UNIT} (?:ago|back\b(?! (?:to|from|in|at|on|home)\b))",
            lambda match, moment: moment.back(_number(match), match["unit"].lower()),
        ),
        _rule(_UNITS, rf"(?<!once\s)(?<!twice\s)(?<!times\s)in {NUMBER} {UNIT}(?! (?:a|per) )", _ahead),
        _rule("from", rf"{NUMBER} {UNIT} from now", _ahead),
        _rule(
            "last past next coming",
            rf"(?P<which>last|past|next|coming) {NUMBER} {UNIT}",
            lambda match, moment: Found(
                Kind.RANGE,
                moment.stretch(
                    -(_number(match) or 5) if match["which"].lower() in {"last", "past"} else _number(match),
                    match["unit"].lower(),
                ),
            ),
        ),
        _rule(_MONTHS, rf"{MONTH} {ORDINAL}(?:,? {YEAR}(?!:))?", _date),
        _rule(_MONTHS, rf"(?:the )?{ORDINAL}\.? (?:of )?{MONTH}(?:,? {YEAR}(?!:))?", _date),
        Rule(
            ("0-0", "0/0", "0.0"),
            lazy(r"(?<![A-Za-z0-9_.])(?P<year>(?:19|20)\d\d)([-/.])(?P<one>\d\d?)\2(?P<two>\d\d?)(?!\d)"),
            lambda match, _: Found(Kind.DAY, day_of(*(int(match[name]) for name in ("year", "one", "two")))),
        ),
        _rule("0-0 0/0 0.0", r"(?P<one>\d\d?)([/.-])(?P<two>\d\d?)\2(?P<year>(?:19|20)\d\d)(?!\.\d)", _year_last),
        _rule(
            "0st 0nd 0rd 0th",
            r"(?:on |by |until |before |since )?the (?P<day>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)"
            r"(?: of (?P<which>this|next|last) month|(?=\s?(?:[.,;!?)]|$|(?:at|and|about)\b)))",
            lambda match, moment: Found(
                Kind.DAY, moment.day_of_month(int(match["day"]), STEPS.get((match["which"] or "").lower()))
            ),
        ),
        _rule(
            _MONTHS,
            rf"{MONTH},? (?:of )?{RELATIVE_YEAR}",
            lambda match, moment: Found(Kind.RANGE, moment.month(MONTHS[match["month"].lower()], _year(match, moment))),
        ),
        _rule(
            _MONTHS,
            rf"(?:(?:{LAST_NEXT}|in|for|over|during|throughout|(?P<due>until|till|by)|{_EARLY}) |(?<=since\s))"
            rf"{MONTH}{_NO_YEAR}",
            lambda match, moment: Found(
                Kind.RANGE, moment.month(MONTHS[match["month"].lower()], which=_which(match, moment))
            ),
        ),
        _rule(
            _MONTHS,
            rf"{SPELT}{_NO_YEAR}",
            lambda match, moment: Found(
                Kind.RANGE, moment.month(MONTHS[match["month"].lower()]), weak=match["month"] in _OTHER_WORDS
            ),
        ),
        _rule(
            _SEASONS,
            rf"{SEASON},? (?:of )?{RELATIVE_YEAR}",
            lambda match, moment: Found(Kind.RANGE, moment.season(match["season"].lower(), _year(match, moment))),
        ),
        _rule(
            _SEASONS,
            rf"(?:(?:(?:the )?{LAST_NEXT}|(?:in|over|during|through|throughout|all|(?P<due>by|until))(?: the)?) "
            rf"|(?<=since\s)(?:the )?){SEASON}{_NO_YEAR}",
            lambda match, moment: Found(
                Kind.RANGE, moment.season(match["season"].lower(), which=_which(match, moment))
            ),
        ),
        _rule(
            "0000",
            rf"(?P<led>(?:in|of|during|by|until|till|around|year|{_EARLY}) |(?<=since\s))?"
            rf"(?<![\d.,$€£:/-]){YEAR}(?![:/-]?\d)",
            lambda match, _: Found(Kind.RANGE, year_of(int(match["year"])), weak=match["led"] is None),
        ),
    ),
    link=lazy(r"[\s,-]{0,3}(?:(?:at|on|by|around|about|from|in the|of|in)\s{1,3})?", re.IGNORECASE),
    to=lazy(r"\s{0,3}(?:to|until|till|through|-|–|—)\s{0,3}", re.IGNORECASE),
    since=lazy(r"(?<!\w)(?:ever )?since\s{1,3}$", re.IGNORECASE),
    part=lazy(
        r"(?<!\w)(?:(?P<due>by|until|till|before|due(?: at| by)?)\s)?(?:(?:at|in|from)\s)?(?:the\s)?(?:very\s)?"
        r"(?:(?P<first_half>first half)|(?P<second_half>(?:second|other|latter) half)|(?P<start>start|beginning)"
        r"|(?P<middle>middle)|(?P<end>end))(?:\s(?:of|in))?(?:\sthe)?\s$",
        re.IGNORECASE,
    ),
    past=lazy(
        r"\b(?:happened|changed|started|finished|visited|moved|been|was|were|did|didn't|had|went|got|took|came|saw|met|made|said|told|bought|ate|left|began|gave|felt|heard"
        r"|quit|lost|found|won|sold|ran|flew|drove|spent|wrote|became|grew|broke|fell|kept|paid|sent|slept|spoke|taught"
        r"|woke|born|ago|just|already)\b|\b(?:I|we|he|she|they|you|[A-Z][a-z]+)\s(?:\w{2,9}ly\s)?\w{3,}ed\b"
    ),
    future=lazy(
        r"\b(?:will|won't|going to|gonna|shall|must|needs? to|have to|has to|want|wants|plans?|hope|remind|let's|should"
        r"|can|could|would|might|due|deadline|am|is|are|see you)\b|'(?:ll|m|d|s)\b",
        re.IGNORECASE,
    ),
)
