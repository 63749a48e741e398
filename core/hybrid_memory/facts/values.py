"""Whether two values are equivalent: by their wording, and for lists by words and meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from hybrid_memory.facts.fact import Claim
from hybrid_memory.text.tokenize import terms

_BLANKS = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())
_EDGES = _BLANKS + "\"'“”‘’「」『』《》.,;:!?，。；：！？、"
_ARTICLE = re.compile(r"^(?:an?|the|my|some)\s+")

NOT_SAID = frozenset(("", "none", "null", "n/a", "na", "nil", "unknown", "not specified", "无", "未知", "不详", "暂无"))
"""Texts that models write for a missing value."""


def value_key(claim: Claim) -> str:
    """A key that equivalent values of an attribute share: normalised wording; stems if it holds many short values."""
    plain = normalised(claim.value)
    return plain if claim.single or claim.verbatim else " ".join(terms(plain)) or plain


@lru_cache(maxsize=8192)
def normalised(value: str) -> str:
    """A value without differences in case and width, articles and surrounding punctuation."""
    return _ARTICLE.sub("", unicodedata.normalize("NFKC", value).casefold().strip(_EDGES))


def within(part: str, whole: str) -> bool:
    """Whether one is the beginning of the other, up to a word boundary or comma."""
    return whole.startswith(part) and (len(whole) > len(part) and not whole[len(part)].isalnum())


@lru_cache(maxsize=8192)
def words_of(value: str) -> frozenset[str]:
    """The terms of a value."""
    return frozenset(terms(value))


def overlap(one: str, other: str) -> float:
    """``|A & B| / min(|A|, |B|)`` over the terms; 0 if there are none."""
    mine, theirs = words_of(one), words_of(other)
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0


Likeness = Callable[[str, str], float]
"""Cosine of two values."""

ALIKE = 0.96
"""From this cosine on, two values are equivalent if one has all words of the other.

The cosine alone cannot tell: for the local model "buy a house" and "sell a house" are more alike (.974) than 爬山 and
登山, which are both hiking (.943). Of 46 equivalent pairs in both languages this rule merges 23; of 99 others, one:
music and classical music.
"""

MIN_PLURAL_CHARS = 4

_PLURAL = re.compile(r"(?<![suij])s$")
_ENDING = re.compile(r"(?<=[xo])e$|(?<=ss|ch|sh)e$")
_TURNING = re.compile(
    r"\b(?:not?|never|without|stop\w*|quit\w*|less|former|ex|half)\b|n['’]t\b|[不没無无非未别戒少微半前]", re.IGNORECASE
)
_CJK = "\u2e80"

T = TypeVar("T")


@lru_cache(maxsize=8192)
def near_key(value: str) -> str:
    """A value without case, width, articles, plurals, blanks and punctuation, except + # % and marks between digits."""
    plain = " ".join(map(_singular, normalised(value).split()))
    kept = [
        sign
        for place, sign in enumerate(plain)
        if sign in "+#%" or unicodedata.category(sign)[0] not in "PZC" or _within_number(plain, place)
    ]
    return "".join(kept) or value.casefold()


def united(
    items: Sequence[T], words: Callable[[T], str], kind: Callable[[T], str], alike: Likeness | None
) -> list[list[T]]:
    """The items, best first, grouped by equivalence within a kind, each group starting with its best.

    ``alike`` is the cosine of the words of two items; without it, they must have the same `near_key`.
    """
    groups: dict[tuple[str, str], list[T]] = {}
    firsts: list[list[T]] = []
    for item in items:
        key = kind(item), near_key(words(item))
        group = groups.get(key)
        if group is None and alike is not None:
            same = (first for first in firsts if kind(first[0]) == key[0])
            group = next((first for first in same if says_the_same(words(item), words(first[0]), alike)), None)
        if group is None:
            group = groups[key] = []
            firsts.append(group)
        group.append(item)
    return firsts


def says_the_same(one: str, other: str, alike: Likeness) -> bool:
    """Whether one has all words of the other, no words that change its meaning, and they are `ALIKE`."""
    mine, theirs = _words(one), _words(other)
    if not mine or not theirs or not (mine <= theirs or theirs <= mine):
        return False
    if any(any(map(str.isdigit, word)) for word in mine ^ theirs) or _turns(one) != _turns(other):
        return False
    return alike(one, other) >= ALIKE


@lru_cache(maxsize=8192)
def _words(value: str) -> frozenset[str]:
    return frozenset(word for word in terms(value) if word < _CJK or len(word) == 1)


def _turns(value: str) -> list[str]:
    return sorted(found.casefold() for found in _TURNING.findall(value))


def _singular(word: str) -> str:
    """A common form of a word and its regular plural: box for boxes, movy for movie and movies."""
    if len(word) < MIN_PLURAL_CHARS or not word.isascii() or not word.isalpha():
        return word
    stem = _ENDING.sub("", _PLURAL.sub("", word))
    return f"{stem[:-2]}y" if stem.endswith("ie") else stem


def _within_number(text: str, place: int) -> bool:
    return text[place] in ".:-/" and text[place - 1 : place].isdecimal() and text[place + 1 : place + 2].isdecimal()
