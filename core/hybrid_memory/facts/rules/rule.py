"""The form of a rule, and what the rules of one language need to be applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from hybrid_memory.facts.fact import Stance

Values = Callable[[str], Sequence[str]]
"""The values in the words that a rule matched; none if they are not of this kind."""

OWNER = "{owner}"
"""Placeholder for the speaker as subject in the result of `Language.person`."""


class When(StrEnum):
    """The meaning of a time in the sentence, which is then removed from the value.

    With ``APPOINTED`` it is the due time, and without a time nothing is claimed.
    """

    IGNORED = "ignored"
    DUE = "due"
    APPOINTED = "appointed"
    SINCE = "since"
    UNTIL = "until"


@dataclass(frozen=True)
class Pattern:
    """A regular expression compiled on first use: compiling all rules at once would take seconds."""

    text: str
    flags: int = 0

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """The match at the beginning."""
        return self._compiled.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches."""
        return self._compiled.finditer(text)


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern for one clause, and the claim it makes.

    Named groups of the pattern: ``value`` or ``other``, the claimed value; ``who``, the subject (by default the
    speaker); ``old``, a value that held until now; ``wrong``, one that never held; ``time``, the place of its time.
    Earlier rules of a table take precedence: later ones do not read the words of their values.

    Attributes:
        name: stored with the claim.
        attribute: its name, or a function of the match, or of that of ``after``; if it is empty, nothing is claimed.
        values: reads the groups ``value``, ``old`` and ``wrong``; without ``value``, the whole match.
        single: for attributes that are not in the table: whether they hold one value at a time.
        guard: a further condition on the match.
        sentence: whether the pattern is for a whole sentence, as written, if it asserts anything; such rules come
            first.
        after: a pattern for the end of the previous turn; the rule then reads the first sentence as it is.
    """

    name: str
    attribute: str | Callable[[re.Match[str]], str]
    pattern: Pattern
    values: Values
    stance: Stance = Stance.HOLDS
    confidence: float = 0.8
    when: When = When.IGNORED
    single: bool = False
    guard: Callable[[re.Match[str]], bool] | None = None
    sentence: bool = False
    after: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Language:
    """The rules of one language.

    Attributes:
        script: matches every sentence that may be in this language.
        clauses: splits a sentence's assertions into clauses, without questions, assumptions and quotations.
        person: the subject that the words of a group ``who`` refer to, given what the turn said before (for pronouns),
            with `OWNER` in place of the speaker (``"{owner}'s wife"``); empty if nobody.
        correction: finds, in a clause, a ``value`` that replaces a ``wrong`` one said shortly before.
        contrast: finds, in the words of a value, the ``value`` and the ``wrong`` one contrasted with it.
        handover: matches a sentence after which the turn contains a text to work on, which asserts nothing.
    """

    name: str
    script: re.Pattern[str]
    rules: tuple[Rule, ...]
    clauses: Callable[[str], Sequence[str]]
    person: Callable[[str, str], str]
    correction: re.Pattern[str] | None = None
    contrast: re.Pattern[str] | None = None
    handover: re.Pattern[str] | None = None


def always(value: str) -> Values:
    """A reader that returns this value for any words."""
    return lambda _words: (value,)
