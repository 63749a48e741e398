"""Compare learned facts with the labels: figures with confidence intervals."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_memory import Fact
from hybrid_memory.analysis import CLAIMS, USER, Example, Stance, Told
from hybrid_memory.arrays import Array
from hybrid_memory_evaluation.learning.labelled import Dialogue

SAMPLES = 1000
SIDE = 2.5
"""The percentage of resampled figures below the interval, and above it."""

TENTHS = 10

_GOOD = frozenset(("likes", "prefers", "interest"))
_BAD = frozenset(("dislikes", "avoids"))
_ALONE = frozenset((Stance.HOLDS, Stance.ENDED, Stance.DONE))
"""What a single sentence can state; corrections and withdrawals appear only in dialogues."""

_CJK = "\u2e80-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``total``, with the 95 % interval from resampling the sentences."""

    count: int
    total: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share in [0, 1]; None if the total is 0."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of an extractor on the sentences of a language.

    Attributes:
        language: the language; empty for all.
        lines: the number of sentences.
        recall: of the labelled claims about the user, those whose value is in a fact; placed: those whose fact has the
            right attribute too.
        precision: of the facts about the user, those that are labelled.
        traps: of the sentences without claims about the user, those from which something was learned.
        kinds: the same by kind of trap.
    """

    language: str
    lines: int
    recall: Share
    placed: Share
    precision: Share
    traps: Share
    kinds: Mapping[str, Share]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """How many facts have a confidence from ``low`` to the next tenth, and how many of them are right."""

    low: float
    facts: int
    right: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How dialogues of a kind ended: how many right, and how many with a false current fact."""

    kind: str
    language: str
    dialogues: int
    right: int
    false: int


@dataclass(frozen=True, slots=True)
class Report:
    """How well an extractor learned.

    Attributes:
        reader: the name of the extractor; embedder: the name of its embedder.
        figures: for all languages, then for each.
        calibration: by tenths of confidence.
        dialogues: by kind and language.
        lines: each sentence with what was missed and what was learned.
        failures: why the model failed to read something.
    """

    reader: str
    embedder: str | None
    figures: Sequence[Figures] = ()
    calibration: Sequence[Calibrated] = ()
    dialogues: Sequence[Ended] = ()
    lines: Sequence[Mapping[str, Any]] = ()
    failures: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    """A sentence with what was learned from it."""

    example: Example
    facts: tuple[Fact, ...]
    right: tuple[bool, ...]
    missed: tuple[Told, ...]
    counts: tuple[int, ...]
    """Claims, found, placed; facts, right ones; 1 for a trap, 1 for a trap from which something was learned."""


def judged(example: Example, learned: Sequence[Fact]) -> _Judged:
    """The sentence, compared with the facts learned from it."""
    facts = tuple(fact for fact in learned if fact.subject == USER)
    claims = [told for told in example.own if told.stance in _ALONE]
    found = [told for told in claims if any(agrees(told, fact) for fact in facts)]
    placed = [told for told in found if any(agrees(told, fact) and told.attribute == fact.attribute for fact in facts)]
    right = tuple(any(agrees(told, fact) for told in claims) for fact in facts)
    trap = example.kind != CLAIMS
    counts = (len(claims), len(found), len(placed), len(facts), sum(right), int(trap), int(trap and bool(facts)))
    return _Judged(example, facts, right, tuple(told for told in claims if told not in found), counts)


def agrees(told: Told, fact: Fact) -> bool:
    """Whether the fact has the label's value or part of it, is equally current, and is not the opposite preference."""
    sides = {(name in _GOOD) - (name in _BAD) for name in (told.attribute, fact.attribute)}
    if sides == {-1, 1} or fact.current != (told.stance is Stance.HOLDS):
        return False
    return holds(fact.value, told.value) or holds(told.value, fact.value)


def holds(text: str, words: str) -> bool:
    """Whether the text contains the words, ignoring case, width and marks."""
    return bool(_plain(words)) and f" {_plain(words)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", text).casefold()))


def line_figures(lines: Sequence[_Judged]) -> list[Figures]:
    """The figures of all languages, then of each if there are several."""
    languages = sorted({line.example.language for line in lines})
    wanted = [""] if len(languages) < 2 else ["", *languages]  # noqa: PLR2004 - one is all
    return [_figures(one, [line for line in lines if one in ("", line.example.language)]) for one in wanted]


def _figures(language: str, lines: Sequence[_Judged]) -> Figures:
    counts = np.array([line.counts for line in lines], dtype=np.float64)
    drawn = np.random.default_rng(0).multinomial(len(lines), np.full(len(lines), 1 / len(lines)), SAMPLES)
    sums, again = counts.sum(axis=0), drawn @ counts

    def share(part: int, whole: int) -> Share:
        return _share(sums[part], sums[whole], again[:, part], again[:, whole])

    kinds = {}
    for kind in sorted({line.example.kind for line in lines} - {CLAIMS}):
        of = np.array([line.example.kind == kind for line in lines])
        parts = drawn[:, of] @ counts[of]
        kinds[kind] = _share(counts[of, 6].sum(), counts[of, 5].sum(), parts[:, 6], parts[:, 5])
    return Figures(language, len(lines), share(1, 0), share(2, 0), share(4, 3), share(6, 5), kinds)


def _share(part: float, whole: float, parts: Array, wholes: Array) -> Share:
    """The share; for none or all, where resampling fails, the bound is from the binomial distribution."""
    if not whole:
        return Share(0, 0, 0.0, 1.0)
    seldom = (SIDE / 100) ** (1 / whole)
    if part == 0 or part == whole:  # noqa: PLR1714 - numbers
        return Share(int(part), int(whole), seldom if part else 0.0, 1.0 if part else 1 - seldom)
    drawn = parts[wholes > 0] / wholes[wholes > 0]
    low, high = np.percentile(drawn, [SIDE, 100 - SIDE]).tolist()
    return Share(int(part), int(whole), low, high)


def calibration(lines: Sequence[_Judged]) -> list[Calibrated]:
    """The calibration by tenths of confidence, without empty ones."""
    told: dict[int, list[bool]] = defaultdict(list)
    for line in lines:
        for fact, right in zip(line.facts, line.right, strict=True):
            told[min(int(fact.confidence * TENTHS + 1e-9), TENTHS - 1)].append(right)
    return [Calibrated(tenth / TENTHS, len(told[tenth]), sum(told[tenth])) for tenth in sorted(told)]


def dialogue_figures(dialogues: Sequence[Dialogue], learned: Sequence[Sequence[Fact]]) -> list[Ended]:
    """How the dialogues ended, by language and kind."""
    ends: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for dialogue, facts in zip(dialogues, learned, strict=True):
        ends[dialogue.language, dialogue.kind].append(_end(dialogue, facts))
    return [
        Ended(kind, language, len(each), sum(right for right, _ in each), sum(false for _, false in each))
        for (language, kind), each in sorted(ends.items())
    ]


def _end(dialogue: Dialogue, facts: Sequence[Fact]) -> tuple[bool, bool]:
    """Whether the facts are exactly right at the end; and whether a false one is current."""
    standing = [fact for fact in facts if fact.current]
    false = any(holds(fact.value, words) for fact in standing for words in dialogue.false)
    false |= any(
        fact.attribute == name and holds(fact.value, words)
        for fact in standing
        for name, words in dialogue.false_claims
    )
    told = all(any(holds(fact.value, words) for fact in standing) for words in dialogue.current)
    return told and not false, false


def described(line: _Judged) -> dict[str, Any]:
    """The sentence, its labels, and what was learned from it, as JSON."""
    return {
        "language": line.example.language,
        "kind": line.example.kind,
        "text": line.example.text,
        "missed": [f"{told.attribute}: {told.value}" for told in line.missed],
        "facts": [
            {
                "attribute": fact.attribute,
                "value": fact.value,
                "state": fact.state,
                "confidence": fact.confidence,
                "right": right,
            }
            for fact, right in zip(line.facts, line.right, strict=True)
        ],
    }
