"""Long texts of any length in both languages, the same in every run."""

import random
from collections.abc import Sequence

from benchmarks.acting.prompts import count_tokens
from benchmarks.acting.tasks import WORDS, Language

_NAMES = WORDS["names"]
_THINGS = WORDS["things"]
_LINES = WORDS["lines"]


def lines(language: Language, tokens: int, seed: int = 0) -> list[str]:
    """Lines of a stock book, together of about so many tokens."""
    source = random.Random(f"{language} {seed}")  # noqa: S311 - a text, no secret
    made: list[str] = []
    left = tokens
    while left > 0:
        line = source.choice(_LINES[language]).format(
            day=source.randint(1, 28), name=source.choice(_NAMES[language]), thing=source.choice(_THINGS[language]),
            number=source.randint(20, 990), one=source.randint(1, 9), two=source.randint(10, 19),
        )  # fmt: skip
        made.append(line)
        left -= count_tokens(line) + 1
    return made


def report(language: Language, tokens: int, facts: Sequence[str], seed: int = 0) -> str:
    """A text of about so many tokens, with the facts spread over it, each in a line of its own."""
    made = lines(language, tokens, seed)
    for number, fact in enumerate(facts, 1):
        made.insert(len(made) * number // (len(facts) + 1), fact)
    return "\n".join(made)


def chatter(language: Language, turns: int, seed: int = 0) -> list[str]:
    """What a user says about their day, a sentence or two for each turn."""
    made = lines(language, turns * 120, seed)
    return [f"{made[2 * row]} {made[2 * row + 1]}" for row in range(turns)]
