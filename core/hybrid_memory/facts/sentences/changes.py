"""The effect of a sentence on earlier facts: which it ends, completes, replaces or corrects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.facts.attributes import attribute, related
from hybrid_memory.facts.fact import Category, Claim, Fact, Stance
from hybrid_memory.facts.sentences.pairs import RELATIONS, REPLACED
from hybrid_memory.facts.standing import SAME_TASK
from hybrid_memory.facts.values import normalised, overlap

LOOKED_AT = 20
"""How many facts, the newest, a sentence is compared with."""

AIMED = 0.4
"""The least probability that a sentence about an end refers to a fact."""

CHANGED = 0.8
"""The least probability that another sentence changes a fact."""

TELLING = 0.6
"""The same for a sentence that is hardly a claim by itself."""

_FIRST = RELATIONS.index(REPLACED)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier claim that is still current."""

    subject: str
    attribute: str
    value: str
    source: int
    verbatim: bool

    @property
    def words(self) -> str:
        """The claim as a sentence."""
        return self.value if self.verbatim else f"{attribute(self.attribute).english}: {self.value}"


def standing(facts: Iterable[Fact | Claim]) -> list[Earlier]:
    """Current claims from facts, and from claims that are not written yet."""
    return [
        Earlier(one.subject, one.attribute, one.value, _turn(one), one.verbatim)
        for one in facts
        if isinstance(one, Fact) or one.stance is Stance.HOLDS
    ]


def _turn(one: Fact | Claim) -> int:
    return max(one.positions, default=0) if isinstance(one, Fact) else one.source


def candidates(claim: Claim, earlier: Sequence[Earlier]) -> list[Earlier]:
    """The earlier claims that a claim may change, newest first."""
    kin = related(claim.attribute)
    near = (
        one
        for one in reversed(earlier)
        if one.source < claim.source and one.attribute in kin and normalised(one.subject) == normalised(claim.subject)
    )
    return list(near)[:LOOKED_AT]


def telling(shares: Floats) -> bool:
    """Whether a sentence changes any of the earlier claims it was compared with."""
    return bool(shares[:, _FIRST:].sum(axis=1).max(initial=0.0) >= TELLING)


def changed(claim: Claim, chosen: Sequence[Earlier], shares: Floats) -> Iterator[Claim]:
    """The claim, and the claims that end others.

    A claim that something has ended is about the fact that shares its words, or else the one it most likely changes. A
    claim that something holds ends those that it certainly changes.

    Args:
        claim: the claim of a sentence.
        chosen: see `candidates`.
        shares: for each, what the sentence does to it: probabilities in the order of `RELATIONS`, of shape (n, 7).
    """
    likely = shares[:, _FIRST:].sum(axis=1)
    if claim.stance is Stance.HOLDS:
        for row in np.flatnonzero(likely >= CHANGED).tolist():
            if overlap(chosen[row].value, claim.value) < 1:
                yield _over(claim, chosen[row], shares[row])
        yield claim
        return
    named = [row for row, one in enumerate(chosen) if overlap(one.value, claim.value) >= SAME_TASK]
    likelier = [row for row in range(len(chosen)) if likely[row] >= AIMED]
    only = [row for row, one in enumerate(chosen) if claim.single and one.attribute == claim.attribute]
    rows = named or likelier or only
    if not rows:
        yield claim
        return
    best = chosen[max(rows, key=lambda row: float(likely[row]))]
    yield replace(
        claim, attribute=best.attribute, value=best.value, category=attribute(best.attribute).category, verbatim=False
    )


def _over(claim: Claim, earlier: Earlier, shares: Floats) -> Claim:
    """The claim that an earlier fact has ended, in the most likely way."""
    relation = RELATIONS[_FIRST + int(np.argmax(shares[_FIRST:]))]
    known = attribute(earlier.attribute)
    stance = Stance.ENDED if relation == REPLACED else Stance(relation)
    if known.category is not Category.TASK and stance is not Stance.WRONG:
        stance = Stance.ENDED
    elif known.category is Category.TASK and stance is Stance.ENDED:
        stance = Stance.DROPPED
    return replace(
        claim,
        attribute=earlier.attribute,
        value=earlier.value,
        category=known.category,
        stance=stance,
        single=known.single,
        verbatim=False,
        due=None,
    )
