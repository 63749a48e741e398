"""Pieces of English patterns, and how a rule is written with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hybrid_memory.facts.rules.rule import Pattern, Rule, Values

ADVERB = (
    r"(?:(?:really|also|just|still|currently|actually|absolutely|truly|definitely|particularly|especially|mostly|"
    r"mainly|personally|genuinely|generally|usually|totally|strongly|greatly|much|simply|kinda|kind of|sort of|now|"
    r"originally|basically|always|both|all|so|very|quite|pretty|proudly|happily|firmly|adamantly|strictly|actively|"
    r"typically|often|normally|honestly|recently|finally|already|only|do|did|rather|highly|deeply|completely|extremely|"
    r"especially|certainly|sincerely|at heart|by the way|presently|officially|soon|long) )*"
)
SELF = r"(?:i|we)"
AM = r"(?:i am|i'm|im|we are|we're)"
HAVE = r"(?:i have|i've|we have|we've|i've got|i have got|i got|we've got)"
NOT = r"(?:do not|don't|dont|did not|didn't|does not|doesn't)"
AM_NOT = r"(?:i am not|i'm not|im not|we're not|we are not)"
ENDING = r"(?:any ?more|any longer|these days any ?more)"
TIME = (
    r"(?:(?:tomorrow|today|tonight|(?:on |this |next )(?:\w+day|week|month|weekend)|this (?:morning|afternoon|evening)|"
    r"at \d[\d:]* ?(?:am|pm|o'clock)?|in the (?:morning|afternoon|evening)|morning|afternoon|evening)[ ,]+)*"
)
WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days"
OFTEN = (
    r"(?:(?:every|each)(?! time\b)|once|twice|(?:three|four|five|six|\d) times) (?:a |an |per )?(?:day|night|week|"
    r"month|year|morning|evening|weekend|summer|winter|spring|autumn|fall|\w+day|other)"
)
STRONG = (
    r"(?:(?:an?|no|such|such an?|very|really|rather|quite|strong|slight|deep|deep-seated|intense|extreme|big|great|"
    r"huge|clear|general|certain|strict|ethical|personal|moral|genuine|lifelong|marked) )*"
)


def rule(
    name: str,
    attribute: str | Callable[[re.Match[str]], str],
    pattern: str,
    values: Values,
    *cues: str,
    **more: Any,
) -> Rule:
    """A rule of English, whose pattern takes capitals and small letters alike."""
    return Rule(f"en: {name}", attribute, Pattern(pattern, re.IGNORECASE), values, cues, **more)


def having(pattern: str) -> Callable[[re.Match[str]], bool]:
    """A guard: the pattern is found in the clause."""
    wanted = re.compile(pattern, re.IGNORECASE)
    return lambda found: wanted.search(found.string) is not None


def lacking(pattern: str) -> Callable[[re.Match[str]], bool]:
    """A guard: the pattern is not found in the clause."""
    unwanted = re.compile(pattern, re.IGNORECASE)
    return lambda found: unwanted.search(found.string) is None
