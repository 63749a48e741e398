"""PrefEval: whether the preference that the first turn states was learned as one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.learning.sets import Tally, covered
from hybrid_memory import Category, Fact
from hybrid_memory.text.tokenize import terms

ENOUGH = 0.5
"""Share of the content words that the value of a fact must hold."""

_FRAME = frozenset(
    terms(
        "prefer preference prefers like likes love enjoy enjoys dislike avoid hate fan strong strongly really very only"
        " exclusively always never absolutely interest interested want wants need refuse due because strictly find"
        " particularly aversion tolerate believe typically generally usually make ensure possible rather instead"
    )
)
_AGAINST = re.compile(
    r"dislike|avoid|\bhate|\b(?:not|no|never|without)\b|n't\b|refuse|aversion|averse|cannot|detest|despise|loathe|opposed"
    r"|objection|against|uncomfortable|allerg|afraid|\bfear|phobia|intoleran",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"\b(?:prefer\w*|enjoy\w*|loves?|likes?|favou?r\w*|only|exclusively|fan|passion\w*|interested)\b", re.IGNORECASE
)
_REASON = re.compile(r"\b(?:because|due to|since|as (?:i|it|they|the)\b)|;", re.IGNORECASE)
_LIKING = frozenset(("likes", "prefers", "interest"))
_DISLIKING = frozenset(("dislikes", "avoids"))


def compare(facts: Iterable[Fact], statement: str) -> Tally:
    """One statement, and what was read from it."""
    tally = Tally()
    statement = statement.replace("’", "'")
    known = list(facts)
    for fact in known:
        if fact.category is Category.PREFERENCE:
            tally.claim(_supported(fact, statement), (str(fact), statement))
    best = max((covered(_content(statement), fact.value) for fact in known), default=0.0)
    tally.know(best >= ENOUGH, statement)
    return tally


def _content(statement: str) -> list[str]:
    """The words that say what it is about, without the reason behind it."""
    parts = [[word for word in terms(part) if word not in _FRAME] for part in (_REASON.split(statement)[0], statement)]
    return next((words for words in parts if words), [])


def _supported(fact: Fact, statement: str) -> bool:
    """Whether the statement has the words of the value, and is not the other way round."""
    if covered(terms(fact.value.replace("’", "'")), statement) < 1:
        return False
    against, in_favour = _AGAINST.search(statement), _FOR.search(statement)
    if fact.attribute in _LIKING:
        return in_favour is not None or against is None
    return fact.attribute not in _DISLIKING or against is not None
