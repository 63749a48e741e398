"""From claims to facts: what stands, what was replaced, taken back, corrected or done; a pure function of the log.

The claims of any prefix of a conversation, in any order, give the facts as they were then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hybrid_memory.config import ConflictRule
from hybrid_memory.facts.fact import Category, Claim, Fact, FactState, Stance
from hybrid_memory.facts.values import NOT_SAID, normalised, overlap, value_key, within
from hybrid_memory.log.event import Event

SETTLED = "settled"
"""The ``by`` of a claim that settles a dispute: it wins under every rule."""

AT_ONCE = timedelta(minutes=1)
"""Claims of two authors that lie no further apart are made at once: neither has seen the other."""

SAME_TASK = 0.6
"""Share of the words of the shorter that two wordings of one task have in common."""

MAX_CONFIDENCE = 0.99

_KIN: dict[str, tuple[str, ...]] = {
    name: group
    for group in (
        ("likes", "prefers", "interest", "habit"),
        ("dislikes", "avoids"),
        ("todo", "appointment", "goal"),
        ("possession", "pet"),
    )
    for name in group
}
"""Attributes that a retraction cannot tell apart."""

_OPPOSITE: dict[str, tuple[str, ...]] = {
    "likes": ("dislikes", "avoids"),
    "prefers": ("dislikes", "avoids"),
    "interest": ("dislikes",),
    "dislikes": ("likes", "prefers", "interest"),
    "avoids": ("likes", "prefers"),
}
"""Of which a thing can have one only."""

_GROWS = frozenset(("name", "home", "hometown", "address", "employer", "school"))
"""Attributes whose value stays the same when more of it is given: Berlin, then Berlin in Germany."""


@dataclass(slots=True)
class _Standing:
    id: int
    claim: Claim
    key: str
    at: datetime
    state: FactState
    valid_from: datetime
    author: str
    seen: datetime
    valid_to: datetime | None = None
    confidence: float = 0.0
    importance: float = 0.0
    value: str = ""
    due: datetime | None = None
    sources: dict[int, str] = field(default_factory=dict)
    records: list[int] = field(default_factory=list)
    by: dict[str, None] = field(default_factory=dict)
    supersedes: int | None = None
    superseded_by: int | None = None
    rivals: dict[int, None] = field(default_factory=dict)

    def support(self, claim: Claim, event: Event) -> None:
        """Let another claim back it; a turn counts once, however many extractors have read it."""
        if claim.source not in self.sources:
            self.confidence = min(MAX_CONFIDENCE, 1 - (1 - self.confidence) * (1 - claim.confidence / 2))
        else:
            self.confidence = max(self.confidence, claim.confidence)
        self.importance = max(self.importance, claim.importance)
        self.due = claim.due or self.due
        self.seen = max(self.seen, event.at)
        self.back(claim, event)

    def back(self, claim: Claim, event: Event) -> None:
        self.sources[claim.source] = event.sources[0] if event.sources else event.id
        self.by[claim.by] = None
        if claim.stance is Stance.HOLDS:
            self.records.append(event.position)

    @classmethod
    def of(cls, claim: Claim, event: Event, state: FactState) -> _Standing:
        begin = claim.since or event.at
        fact = cls(
            event.position, claim, value_key(claim), event.at, state, begin, event.author, event.at,
            confidence=claim.confidence, importance=claim.importance, value=claim.value, due=claim.due,
        )  # fmt: skip
        fact.back(claim, event)
        if claim.until is not None and state is FactState.CURRENT:
            fact.end(FactState.ENDED if claim.until <= event.at else state, claim.until)
        return fact

    def end(self, state: FactState, at: datetime) -> None:
        self.state, self.valid_to = state, max(at, self.valid_from)

    def as_fact(self) -> Fact:
        places = sorted(self.sources)
        return Fact(
            id=self.id,
            subject=self.claim.subject,
            attribute=self.claim.attribute,
            value=self.value,
            category=self.claim.category,
            state=self.state,
            confidence=self.confidence,
            importance=self.importance,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            sources=tuple(self.sources[place] for place in places),
            positions=tuple(places),
            records=tuple(self.records),
            due=self.due,
            by=tuple(by for by in self.by if by),
            supersedes=self.supersedes,
            superseded_by=self.superseded_by,
            rivals=tuple(self.rivals),
            author=self.author,
        )


def resolve(
    claims: Iterable[Event], *, rule: ConflictRule = "newest", trust: Callable[[str], float] = lambda _: 1.0
) -> list[Fact]:
    """The facts that follow from these claim events, oldest first; the time of their turns counts, not their order.

    The rule says who wins where two authors disagree, ``trust`` is of an author in [0, 1]; the same author's newer word
    always wins.
    """
    pairs = sorted(((event, Claim.of(event.payload)) for event in claims), key=_moment)
    resolution = _Resolution(rule, trust)
    void = _corrected(pairs)
    for number, (event, claim) in enumerate(pairs):
        if number in void:
            resolution.discard(claim, event, void[number])
        else:
            resolution.take(claim, event)
    return [fact.as_fact() for fact in sorted(resolution.facts, key=lambda fact: (fact.at, fact.id))]


def _moment(pair: tuple[Event, Claim]) -> tuple[datetime, int, bool, int]:
    """The order of claims: by the time of the turn; in a turn what ends comes before what begins."""
    event, claim = pair
    return event.at, claim.source, claim.stance is Stance.HOLDS, event.position


def _corrected(pairs: Sequence[tuple[Event, Claim]]) -> dict[int, tuple[Event, Claim]]:
    """Places of the claims that a later one calls wrong, with that; of the same turn those that were read before it."""
    wrong: dict[tuple[str, str], list[tuple[Event, Claim]]] = defaultdict(list)
    for event, claim in pairs:
        if claim.stance is Stance.WRONG:
            wrong[normalised(claim.subject), claim.attribute].append((event, claim))
    return {
        place: (later, other)
        for place, (event, claim) in enumerate(pairs)
        if claim.stance is not Stance.WRONG
        for later, other in reversed(wrong.get((normalised(claim.subject), claim.attribute), ()))
        if _corrects(later, other, event, claim)
    }


def _corrects(later: Event, wrong: Claim, event: Event, claim: Claim) -> bool:
    if wrong.source == claim.source:
        return later.position > event.position and value_key(wrong) == value_key(claim)
    after = (later.at, wrong.source) > (event.at, claim.source)
    return after and (not wrong.value or normalised(wrong.value) == normalised(claim.value))


class _Resolution:
    def __init__(self, rule: ConflictRule, trust: Callable[[str], float]) -> None:
        self.facts: list[_Standing] = []
        self._rule = rule
        self._trust = trust
        self._standing: dict[tuple[str, str], list[_Standing]] = defaultdict(list)

    def discard(self, claim: Claim, event: Event, wrong: tuple[Event, Claim]) -> None:
        """Keep what was corrected in the history alone: it was never so."""
        if claim.stance is Stance.HOLDS:
            fact = _Standing.of(claim, event, FactState.ENDED)
            fact.valid_to = fact.valid_from
            fact.back(wrong[1], wrong[0])
            self.facts.append(fact)

    def take(self, claim: Claim, event: Event) -> None:
        if claim.stance is Stance.HOLDS:
            if normalised(claim.value) not in NOT_SAID:
                self._hold(claim, event)
        elif claim.stance is Stance.ENDED:
            self._finish(claim, event, FactState.ENDED, keep=bool(claim.value))
        elif claim.stance in {Stance.DONE, Stance.DROPPED}:
            state = FactState.DONE if claim.stance is Stance.DONE else FactState.DROPPED
            self._finish(claim, event, state, keep=claim.stance is Stance.DONE)

    def _hold(self, claim: Claim, event: Event) -> None:
        subject = normalised(claim.subject)
        standing = self._standing[subject, claim.attribute]
        key = value_key(claim)
        same = next((fact for fact in standing if fact.key == key), None)
        same = same or next((fact for fact in standing if _more_of(fact, claim, key)), None)
        if same is not None:
            same.support(claim, event)
            if len(claim.value) > len(same.value) and claim.attribute in _GROWS:
                same.value, same.key = claim.value, key
            if event.at - same.at > AT_ONCE or claim.by == SETTLED:
                self._decide(same, standing)
            return
        fact = _Standing.of(claim, event, FactState.OPEN if claim.category is Category.TASK else FactState.CURRENT)
        self.facts.append(fact)
        if not fact.state.standing:
            return
        if claim.single:
            for other in list(standing):
                self._contradict(fact, other, standing)
        for opposite in _OPPOSITE.get(claim.attribute, ()):
            self._reverse(fact, self._standing[subject, opposite])
        if fact.state.standing:
            standing.append(fact)

    def _contradict(self, new: _Standing, old: _Standing, standing: list[_Standing]) -> None:
        decided = new.claim.by == SETTLED
        if new.author != old.author and not decided:
            at_once = abs(new.at - old.seen) <= AT_ONCE
            more, less = self._trust(new.author), self._trust(old.author)
            if self._rule == "trusted" and more < less:
                new.end(FactState.SUPERSEDED, new.valid_from)
                new.superseded_by = old.id
                return
            if self._rule == "ask" or (at_once and not (self._rule == "trusted" and more > less)):
                new.state = old.state = FactState.DISPUTED
                new.rivals[old.id] = old.rivals[new.id] = None
                return
        if new.state.standing:
            self._supersede(new, old, standing)

    @staticmethod
    def _supersede(new: _Standing, old: _Standing, standing: list[_Standing]) -> None:
        old.end(FactState.SUPERSEDED, new.valid_from)
        old.superseded_by, new.supersedes = new.id, old.id
        standing.remove(old)

    def _decide(self, fact: _Standing, standing: list[_Standing]) -> None:
        """A claim repeated later stands against what it was disputed with."""
        for rival in [other for other in standing if other.id in fact.rivals]:
            if self._rule != "ask" or SETTLED in fact.by:
                rival.end(FactState.SUPERSEDED, fact.seen)
                rival.superseded_by = fact.id
                standing.remove(rival)
                fact.state = FactState.CURRENT

    def _reverse(self, fact: _Standing, opposites: list[_Standing]) -> None:
        """Who now dislikes a thing no longer likes it."""
        for other in [other for other in opposites if other.key == fact.key]:
            self._supersede(fact, other, opposites)

    def _finish(self, claim: Claim, event: Event, state: FactState, *, keep: bool) -> None:
        """End the facts that a retraction or a change of a task is about; without one it is history by itself."""
        subject = normalised(claim.subject)
        ended = False
        for attribute in _KIN.get(claim.attribute, (claim.attribute,)):
            standing = self._standing[subject, attribute]
            for fact in [fact for fact in standing if _about(fact, claim)]:
                fact.end(state, claim.until or event.at)
                fact.back(claim, event)
                standing.remove(fact)
                ended = True
        if keep and not ended:
            fact = _Standing.of(claim, event, state)
            fact.valid_to = max(claim.until or event.at, fact.valid_from)
            self.facts.append(fact)


def _more_of(fact: _Standing, claim: Claim, key: str) -> bool:
    """Whether a claim says the fact in more words, or in fewer."""
    if claim.attribute in _GROWS:
        return within(fact.key, key) or within(key, fact.key)
    return claim.category is Category.TASK and overlap(fact.value, claim.value) == 1.0


def _about(fact: _Standing, claim: Claim) -> bool:
    if not claim.value or fact.key == value_key(claim) or normalised(fact.value) == normalised(claim.value):
        return True
    return overlap(fact.value, claim.value) >= SAME_TASK
