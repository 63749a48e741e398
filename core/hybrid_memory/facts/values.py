"""Whether two values are equivalent, by their wording."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from hybrid_memory.facts.fact import Claim
from hybrid_memory.text.tokenize import plain_terms

_EDGES = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’「」『』《》.,;:!?，。；：！？、"
_ARTICLE = re.compile(r"^(?:an?|the|my|some)\s+")

NOT_SAID = frozenset(("", "none", "null", "n/a", "na", "nil", "unknown", "not specified", "无", "未知", "不详", "暂无"))
"""Texts that models write for a missing value."""


def value_key(claim: Claim) -> str:
    """A key that equivalent values of an attribute share: normalised wording; stems if it holds many short values."""
    plain = normalised(claim.value)
    if claim.single or claim.verbatim or plain.endswith(("+", "#")):  # C, C++ and C# are three
        return plain
    return " ".join(plain_terms(plain)) or plain


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
    return frozenset(plain_terms(value))


def overlap(one: str, other: str) -> float:
    """``|A & B| / min(|A|, |B|)`` over the terms; 0 if there are none."""
    mine, theirs = words_of(one), words_of(other)
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0


def near_key(value: str) -> str:
    """A value without case, width, articles, blanks and punctuation, except + # % and marks between digits."""
    plain = normalised(value)
    kept = [
        sign
        for place, sign in enumerate(plain)
        if sign in "+#%"
        or unicodedata.category(sign)[0] not in "PZC"
        or (sign in ".:-/" and plain[place - 1 : place].isdecimal() and plain[place + 1 : place + 2].isdecimal())
    ]
    return "".join(kept) or value.casefold()
