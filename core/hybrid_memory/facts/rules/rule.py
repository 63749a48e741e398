"""What a rule is, and what the rules of one language need to be read by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from hybrid_memory.facts.fact import Stance

Values = Callable[[str], Sequence[str]]
"""The values in the words that a rule found; none if they are no values of this kind."""

OWNER = "{owner}"
"""Stands for the subject of the speaker in what `Language.person` returns."""


class When(StrEnum):
    """What a time in the sentence says of the claim, if it says anything; the value is then left without it.

    With ``APPOINTED`` it says when it is due, and without a time nothing is claimed.
    """

    IGNORED = "ignored"
    DUE = "due"
    APPOINTED = "appointed"
    SINCE = "since"
    UNTIL = "until"


@dataclass(frozen=True)
class Pattern:
    """A regular expression that is compiled when it is first asked: all rules at once would take seconds."""

    text: str
    flags: int = 0

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text, self.flags)

    def search(self, text: str) -> re.Match[str] | None:
        """The first place where it is found."""
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """What it finds at the beginning."""
        return self._compiled.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All places where it is found."""
        return self._compiled.finditer(text)


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over one clause, and what is claimed where it is found.

    Named groups of the pattern: ``value`` or ``other``, what is claimed; ``who``, whom it is about (else the speaker);
    ``old``, a value that held until now; ``wrong``, one that never held; ``time``, where its time stands.
    Of the rules of a table an earlier one goes first: the words of its value are not read by a later one.

    Attributes:
        name: kept with the claim.
        attribute: or how to tell it from the match, or from that of ``after``; where it is empty nothing is claimed.
        values: reads the groups ``value``, ``old`` and ``wrong``; a rule without the first reads the match.
        single: for attributes that are not in the table: whether they hold one value at a time.
        guard: what else the match must fulfil.
        sentence: the pattern is for a whole sentence, as it was said, if it asserts anything; such rules go first.
        after: what the end of the turn before must hold; the pattern is then matched with the first sentence as it is.
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
        script: found in every sentence that may be of this language.
        clauses: what a sentence asserts, cut into clauses: what is asked, supposed or quoted is left out.
        person: whom the words of a group ``who`` mean, given what the turn said before (for he and she): a subject,
            with `OWNER` in the place of the speaker (``"{owner}'s wife"``); empty if they name nobody.
        correction: finds, in a clause, a ``value`` that was meant in place of a ``wrong`` one said shortly before.
        contrast: finds, in the words of a value, the ``value`` and the ``wrong`` one that it is set against.
        handover: found in a sentence behind which the turn holds a text to be worked on, which asserts nothing.
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
    """The same value, whatever the words are."""
    return lambda _words: (value,)
