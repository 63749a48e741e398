"""The words of English time expressions, and how they are written."""

from __future__ import annotations

from hybrid_memory.text.dates.calendar import Which

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
DAYS = {
    "day after tomorrow": 2,
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
}
WHICH = {"last": Which.LAST, "past": Which.LAST, "previous": Which.LAST, "this": Which.THIS, "next": Which.NEXT,
          "coming": Which.COMING, "upcoming": Which.COMING}  # fmt: skip
STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1}
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}

NUMBER = (
    r"(?:(?P<few>a few|several|some)|(?:about |around |roughly )?(?P<number>\d{1,3}(?:\.5)?|half an?|a couple(?: of)?|"
    + "|".join(sorted(NUMBERS, key=len, reverse=True))
    + ")(?P<more> and a half)?)"
)
HOUR = rf"(?P<hour>\d\d?|{'|'.join(word for word in NUMBERS if word not in {'a', 'an'})})"
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
