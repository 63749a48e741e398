"""What the words of a query ask for, and what the words of a turn offer: cues that vectors do not capture.

Pure functions over single texts. There are cue words for English and Chinese; in other languages, digits, marks and
names count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.text.asking import ends
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.tokenize import terms

READ_CHARS = 600
"""How much of a turn is searched for cues: its topic is usually at the beginning."""

TERM_CHARS = 4_000
"""How much of a turn is compared with the query's terms."""

MOST = 4
"""The most cues of a kind that count."""


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    return lazy(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


_WORD = lazy(r"[a-z0-9']+")
_TIMES = frozenset(
    """yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years morning
    evening night noon monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december recently just soon since o'clock""".split()
)
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand dozen
    couple several once twice""".split()
)
_CHINESE = lazy(
    r"([昨今明前后]天|上周|下周|上个?月|下个?月|去年|明年|周[一二三四五六日末]|星期|[月号日点]|早上|晚上|下午|中午|刚|最近)"
    r"|[一二两三四五六七八九十百千]"
)
"""Words that state a time (in a group), and words that state a number."""

YEAR_DIGITS = 4

_SELF = _pattern("i", "我(?=[住在是对喜会用叫爱想有做不])")
_YOURS = _pattern("you|your|yours", "你|您")
_ASKED = {
    "time": _pattern(
        r"when|what (?:date|day|time|year|month)|which (?:day|month|year)|how long ago",
        r"什么时候|何时|哪[天年]|哪一天|几[点号月]|时间",
    ),
    "number": _pattern(
        r"how (?:many|much|old|long|far|often|tall|big)|number of", r"多少|几[个岁次人本]|第几|多[大久远]"
    ),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """What a text offers; shares and counts scaled to [0, 1].

    Attributes:
        terms, pairs: hashes of its terms in the text index, and of adjacent pairs of them.
        times, numbers: words that state one.
    """

    terms: frozenset[int]
    pairs: frozenset[tuple[int, int]]
    times: float
    numbers: float


_read: LruCache[int, Offer] = LruCache(8192)
"""Cached by the hash of a text, so that no words are kept here."""


def offer(text: str) -> Offer:
    """What a turn offers; cached, as the best candidates of one query are often those of the next."""
    key = hash(text)
    known = _read.get(key)
    if known is None:
        known = _offer(text)
        _read.put(key, known)
    return known


def _offer(text: str) -> Offer:
    words = list(map(hash, terms(text[:TERM_CHARS])))
    times, numbers = _cues(text[:READ_CHARS].lower())
    return Offer(
        terms=frozenset(words),
        pairs=frozenset(pairwise(words)),
        times=min(times, MOST) / MOST,
        numbers=min(numbers, MOST) / MOST,
    )


def _cues(text: str) -> tuple[int, int]:
    """How many words state a time, and how many a number."""
    words = _WORD.findall(text)
    digits = [word for word in words if "0" <= word[0] <= "9"]
    years = sum(len(word) == YEAR_DIGITS and word.isdecimal() for word in digits)
    times = sum(map(_TIMES.__contains__, words)) + years
    numbers = sum(map(_NUMBERS.__contains__, words)) + len(digits)
    if not text.isascii():
        chinese = _CHINESE.findall(text)
        times, numbers = times + sum(map(bool, chinese)), numbers + sum(not time for time in chinese)
    return times, numbers


@dataclass(frozen=True, slots=True)
class Demand:
    """What a query asks for.

    Attributes:
        terms: in order, each once; pairs: hashes of adjacent ones.
        kinds: of the answer: ``time``, ``number``.
        of_self: whether users ask about themselves ("I", not "my sister"); yours: whether it addresses the assistant.
    """

    terms: tuple[str, ...]
    pairs: frozenset[tuple[int, int]]
    kinds: frozenset[str]
    of_self: bool
    yours: bool


def demand(query: str) -> Demand:
    """What a query asks for."""
    words, read = terms(query), ends(query)
    return Demand(
        terms=tuple(dict.fromkeys(words)),
        pairs=frozenset(pairwise(map(hash, words))),
        kinds=frozenset(kind for kind, pattern in _ASKED.items() if pattern.search(read)),
        of_self=_SELF.search(read) is not None,
        yours=_YOURS.search(read) is not None,
    )


def named(query: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that the query names, at least by the first part of their name."""
    lowered = ends(query).lower()
    found = set()
    for speaker in speakers:
        first = speaker.lower().split()[0] if speaker.strip() else ""
        if first and first not in {"user", "assistant", "ai"} and _has(lowered, first):
            found.add(speaker)
    return frozenset(found)


def _has(text: str, name: str) -> bool:
    if not name.isascii():
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?![a-z0-9])", text) is not None
