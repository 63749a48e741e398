"""When two values say the same."""

from __future__ import annotations

import re
import unicodedata

from hybrid_memory.facts.fact import Claim
from hybrid_memory.text.tokenize import terms

_EDGES = re.compile(r"^[\s\"'“”‘’「」『』《》.,;:!?，。；：！？、]+|[\s\"'“”‘’「」『』《》.,;:!?，。；：！？、]+$")
_ARTICLE = re.compile(r"^(?:an?|the|my|some)\s+")

NOT_SAID = frozenset(("", "none", "null", "n/a", "na", "nil", "unknown", "not specified", "无", "未知", "不详", "暂无"))
"""What is no value; models write so where they have none."""


def value_key(claim: Claim) -> str:
    """What makes two values of an attribute the same: wording without case, width and edges; stems where many stand."""
    plain = normalised(claim.value)
    return plain if claim.single else " ".join(terms(plain)) or plain


def normalised(value: str) -> str:
    """A value without case, width, articles and punctuation around it."""
    return _ARTICLE.sub("", _EDGES.sub("", unicodedata.normalize("NFKC", value).casefold()))


def within(part: str, whole: str) -> bool:
    """Whether the one is the beginning of the other, up to a word or a comma."""
    return whole.startswith(part) and (len(whole) > len(part) and not whole[len(part)].isalnum())


def overlap(one: str, other: str) -> float:
    """``|A & B| / min(|A|, |B|)`` over the terms; 0 without any."""
    mine, theirs = set(terms(one)), set(terms(other))
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0
