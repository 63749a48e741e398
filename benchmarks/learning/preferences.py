"""PrefEval: whether the preference that the first turn states was learned as one."""

import re
from collections.abc import Iterable
from typing import Any

from hybrid_memory import Fact
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
_REASON = re.compile(r"\b(?:because|due to|since|as (?:i|it|they|the)\b)|;", re.IGNORECASE)


def asked(one: dict[str, Any], _: int | None) -> tuple[str, list[dict[str, Any]], str]:
    """The person, the first turn, and what it states."""
    return "user", one["turns"][:1], one["turns"][0]["text"].replace("’", "'")


def found(facts: Iterable[Fact], _: str, statement: str) -> list[bool]:
    """Whether a fact holds what the statement is about."""
    wanted = set(_content(statement))
    shares = [len(wanted & set(terms(fact.value))) / len(wanted) for fact in facts if wanted]
    return [max(shares, default=0.0) >= ENOUGH]


def _content(statement: str) -> list[str]:
    """The words that say what it is about, without the reason behind it."""
    parts = [[word for word in terms(part) if word not in _FRAME] for part in (_REASON.split(statement)[0], statement)]
    return next((words for words in parts if words), [])
