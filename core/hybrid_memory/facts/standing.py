"""Facts while claims are being applied, and the current facts of one attribute, indexed by wording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hybrid_memory.facts.fact import Category, Claim, Fact, FactState, Stance
from hybrid_memory.facts.values import normalised, overlap, value_key, within
from hybrid_memory.log.event import Event
from hybrid_memory.log.visible import MAX_POSITION

SAME_TASK = 0.6
"""The share of the shorter wording's words that two wordings of one task have in common."""

MAX_CONFIDENCE = 0.99

GROWS = frozenset(("name", "home", "hometown", "address", "employer", "school"))
"""Attributes whose value stays the same when details are added: Berlin, then Berlin in Germany."""


@dataclass(slots=True)
class Standing:
    """A fact, given the claims applied so far.

    Attributes:
        key: its value, normalised as claims of its attribute are compared.
        seen: when it was last stated.
        sources: ids of the turns that state it, by position; first, last: the lowest and the highest of these.
    """

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
    first: int = MAX_POSITION
    last: int = 0
    verbatim: bool = False
    session: str | None = None

    def support(self, claim: Claim, event: Event) -> None:
        """Add a claim that states it too; a turn counts once, however many extractors have read it."""
        if claim.source not in self.sources:
            self.confidence = min(MAX_CONFIDENCE, 1 - (1 - self.confidence) * (1 - claim.confidence / 2))
        else:
            self.confidence = max(self.confidence, claim.confidence)
        self.importance = max(self.importance, claim.importance)
        self.due = claim.due or self.due
        self.seen = max(self.seen, event.at)
        self.back(claim, event)

    def back(self, claim: Claim, event: Event) -> None:
        """Add the turn of a claim that states it, or states its end."""
        self.first, self.last = min(self.first, claim.source), max(self.last, claim.source)
        self.sources[claim.source] = event.sources[0] if event.sources else event.id
        self.by[claim.by] = None
        if claim.stance is Stance.HOLDS and not claim.sentence:
            self.records.append(event.position)

    @classmethod
    def of(cls, claim: Claim, event: Event, state: FactState) -> Standing:
        """A new fact from the first claim that states it."""
        begin = claim.since or event.at
        fact = cls(
            event.position, claim, value_key(claim), event.at, state, begin, event.author, event.at,
            confidence=claim.confidence, importance=claim.importance, value=claim.value, due=claim.due,
            verbatim=claim.verbatim, session=event.scope.session,
        )  # fmt: skip
        fact.back(claim, event)
        if claim.until is not None and state is FactState.CURRENT:
            fact.end(FactState.ENDED if claim.until <= event.at else state, claim.until)
        return fact

    def end(self, state: FactState, at: datetime) -> None:
        """End it at an instant."""
        self.state, self.valid_to = state, max(at, self.valid_from)

    def as_fact(self) -> Fact:
        """The fact in its current state."""
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
            verbatim=self.verbatim,
            scope=self.claim.scope,
            session=self.session,
            text=self.claim.sentence,
            asked=self.claim.asked,
        )


class Shelf:
    """The current facts for one attribute of one subject, in the order in which they were added."""

    def __init__(self) -> None:
        self._facts: dict[int, Standing] = {}
        self._by_key: dict[str, int] = {}

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._facts.values())

    def get(self, number: int) -> Standing | None:
        """The fact with this id, if it is current."""
        return self._facts.get(number)

    def keyed(self, key: str) -> Standing | None:
        """The fact with this value."""
        return self._facts.get(self._by_key.get(key, 0))

    def add(self, fact: Standing) -> None:
        """Add a current fact."""
        self._facts[fact.id] = fact
        self._by_key[fact.key] = fact.id

    def remove(self, fact: Standing) -> None:
        """Remove a fact that is no longer current."""
        del self._facts[fact.id]
        self._unkey(fact)

    def reword(self, fact: Standing, value: str, key: str) -> None:
        """Add words to a fact."""
        self._unkey(fact)
        fact.value, fact.key = value, key
        self._by_key[key] = fact.id

    def _unkey(self, fact: Standing) -> None:
        if self._by_key.get(fact.key) == fact.id:
            del self._by_key[fact.key]

    def worded(self, claim: Claim, key: str) -> Standing | None:
        """The first fact that the claim states in more words, or in fewer."""
        if claim.attribute in GROWS:
            same = next((fact for fact in self if within(fact.key, key) or within(key, fact.key)), None)
            if same is not None:
                return same
        if claim.category is not Category.TASK or claim.verbatim:  # a sentence says only what all its words say
            return None
        return next((fact for fact in self if not fact.verbatim and overlap(fact.value, claim.value) == 1.0), None)

    def about(self, claim: Claim) -> list[Standing]:
        """The facts that a retraction or a task update is about."""
        same, plain = self.keyed(value_key(claim)), normalised(claim.value)
        return [
            fact
            for fact in self
            if not claim.value
            or fact is same
            or normalised(fact.value) == plain
            or overlap(fact.value, claim.value) >= SAME_TASK
        ]
