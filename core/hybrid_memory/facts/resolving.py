"""From claims to facts: what is current, replaced, withdrawn, corrected or done; a pure function of the log.

The claims of any prefix of a conversation, in any order, give the facts as of then. Claims later than all others are
applied incrementally; a late one, or one that calls an earlier one wrong, reapplies those that it may concern.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from hybrid_memory.config import ConflictRule
from hybrid_memory.facts.attributes import kin
from hybrid_memory.facts.fact import SETTLED, Category, Claim, Fact, FactScope, FactState, Stance
from hybrid_memory.facts.values import NOT_SAID, normalised, overlap, value_key, within
from hybrid_memory.log.event import Event

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
        sources: ids of the turns that state it, by position; last: the highest of these.
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
        self.last = max(self.last, claim.source)
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


AT_ONCE = timedelta(minutes=1)
"""Claims of two authors no further apart than this are simultaneous: neither has seen the other."""

_OPPOSITE: dict[str, tuple[str, ...]] = {
    "likes": ("dislikes", "avoids"),
    "prefers": ("dislikes", "avoids"),
    "interest": ("dislikes",),
    "dislikes": ("likes", "prefers", "interest"),
    "avoids": ("likes", "prefers"),
}
"""Attributes of which only one can apply to a thing."""

_TASTES = frozenset((*kin("likes"), *kin("dislikes")))

_Place = tuple[str, FactScope, str]
"""An attribute, its scope, and the session if it applies in one only."""

Pair = tuple[Event, Claim]
Trust = Callable[[str], float]


def resolve(claims: Iterable[Event], *, rule: ConflictRule = "newest", trust: Trust = lambda _: 1.0) -> list[Fact]:
    """The facts that follow from these claim events, oldest first, by the time of their turns, whatever the order.

    The rule decides who wins if two authors disagree, ``trust`` is an author's trust in [0, 1]; the same author's newer
    claim always wins.
    """
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for event in claims:
        pair = event, Claim.of(event.payload)
        groups[group_of(pair[1])].append(pair)
    resolved = [Group(rule, trust) for _ in groups]
    for group, pairs in zip(resolved, groups.values(), strict=True):
        group.take(pairs)
    facts = [fact for group in resolved for fact in group.facts.values()]
    return [fact.as_fact() for fact in sorted(facts, key=lambda fact: (fact.at, fact.id))]


def group_of(claim: Claim) -> tuple[str, str]:
    """A key that separates claims that never concern each other: the subject, and the kind of the attribute."""
    name = claim.attribute
    kind = "likes" if name in _TASTES else kin(name)[0]
    return normalised(claim.subject), kind


def moment(pair: Pair) -> tuple[datetime, int, bool, int]:
    """The order of claims: by the time of the turn; within a turn, endings come before beginnings."""
    event, claim = pair
    return event.at, claim.source, claim.stance is Stance.HOLDS, event.position


def _places_of(name: str, claim: Claim, event: Event) -> list[_Place]:
    """The places of facts that a claim may replace or end: its own first, then those of narrower scope.

    What applies in one project or session changes nothing elsewhere.
    """
    scopes = list(FactScope)
    return [
        (name, scope, (event.scope.session or "") if scope is FactScope.SESSION else "")
        for scope in scopes[scopes.index(claim.scope) :]
    ]


class _Wrong:
    """The claims that call others wrong, by what those said; of decisions about a value, the last one counts."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        decided = [pair for pair in pairs if pair[1].by == SETTLED]
        decisions = {(claim.attribute, normalised(claim.value)): claim.stance for _, claim in decided}
        self._by_value: dict[tuple[str, str | None], list[tuple[int, Pair]]] = defaultdict(list)
        self._by_turn: dict[tuple[str, int], list[tuple[int, Pair]]] = defaultdict(list)
        for number, pair in enumerate(pairs):
            claim = pair[1]
            if claim.stance is Stance.WRONG and (
                claim.by != SETTLED or decisions[claim.attribute, normalised(claim.value)] is Stance.WRONG
            ):
                value = normalised(claim.value) if claim.value else None  # None for any
                self._by_value[claim.attribute, value].append((number, pair))
                self._by_turn[claim.attribute, claim.source].append((number, pair))

    def __bool__(self) -> bool:
        return bool(self._by_turn)

    def of(self, pair: Pair) -> Pair | None:
        """The first claim that calls this one wrong: a later one, or one extracted after it from the same turn."""
        event, claim = pair
        if claim.stance is Stance.WRONG:
            return None
        found: list[tuple[int, Pair]] = []
        value = normalised(claim.value)
        for number, (later, wrong) in self._by_turn.get((claim.attribute, claim.source), ()):
            rejected = normalised(wrong.value)
            grown = claim.attribute in GROWS and (within(value, rejected) or within(rejected, value))
            # Somebody rejected what this claim of the same turn says, also if the turn was read again since.
            decided = wrong.by == SETTLED and claim.by != SETTLED and (rejected == value or grown)
            if decided or (later.position > event.position and value_key(wrong) == value_key(claim)):
                found.append((number, (later, wrong)))
                break
        for which in {value, None}:
            told = self._by_value.get((claim.attribute, which), ())
            first = bisect_right(told, (event.at, claim.source), key=lambda one: (one[1][0].at, one[1][1].source))
            found += islice((one for one in told[first:] if one[1][1].source != claim.source), 1)
        return min(found, key=lambda one: one[0])[1] if found else None


class Group:
    """The claims about one subject that may concern each other, and the facts that follow from them.

    Attributes:
        pairs: the claims, ordered by their moments.
        facts: by id.
    """

    def __init__(self, rule: ConflictRule, trust: Trust) -> None:
        self.pairs: list[Pair] = []
        self.facts: dict[int, Standing] = {}
        self._rule = rule
        self._trust = trust
        self._shelves: dict[_Place, Shelf] = defaultdict(Shelf)
        self._changed: dict[int, Standing] = {}
        self._rejecting = False

    def take(self, pairs: Sequence[Pair]) -> dict[int, Standing]:
        """Add claims; returns the facts that may have changed or disappeared, by id."""
        self._changed = {}
        new = sorted(pairs, key=moment)
        late = bool(new and self.pairs) and moment(new[0]) < moment(self.pairs[-1])
        self.pairs += new
        self._rejecting |= any(claim.stance is Stance.WRONG and claim.by == SETTLED for _, claim in new)
        if not late and not self._rejecting and not any(claim.stance is Stance.WRONG for _, claim in new):
            self._fold(new, None)
            return self._changed
        before = self.facts
        self.pairs.sort(key=moment)
        self.facts, self._shelves = {}, defaultdict(Shelf)
        self._fold(self.pairs, _Wrong(self.pairs))
        return {**before, **self._changed}

    def _fold(self, pairs: Sequence[Pair], wrong: _Wrong | None) -> None:
        for event, claim in pairs:
            void = wrong.of((event, claim)) if wrong else None
            if void is not None:
                if claim.stance is Stance.HOLDS:  # only the history has a corrected value: it was never true
                    fact = Standing.of(claim, event, FactState.ENDED)
                    fact.valid_to = fact.valid_from
                    fact.back(void[1], void[0])
                    self._note(fact)
            elif claim.stance is Stance.HOLDS:
                if normalised(claim.value) not in NOT_SAID:
                    self._hold(claim, event)
            elif claim.stance is Stance.ENDED:
                self._finish(claim, event, FactState.ENDED, keep=bool(claim.value))
            elif claim.stance in {Stance.DONE, Stance.DROPPED}:
                state = FactState.DONE if claim.stance is Stance.DONE else FactState.DROPPED
                self._finish(claim, event, state, keep=claim.stance is Stance.DONE)

    def _kept(self, places: Iterable[_Place]) -> list[Shelf]:
        return [self._shelves[place] for place in places if place in self._shelves]

    def _note(self, *facts: Standing) -> None:
        for fact in facts:
            self.facts[fact.id] = self._changed[fact.id] = fact

    def _hold(self, claim: Claim, event: Event) -> None:
        places = _places_of(claim.attribute, claim, event)
        standing, key = self._shelves[places[0]], value_key(claim)
        same = standing.keyed(key) or standing.worded(claim, key)
        if same is not None:
            same.support(claim, event)
            longer = len(claim.value) > len(same.value) and claim.attribute in GROWS and not claim.verbatim
            if longer or (same.verbatim and not claim.verbatim):
                same.verbatim = False
                standing.reword(same, claim.value, key)
            self._note(same)
            if event.at - same.at > AT_ONCE or claim.by == SETTLED:
                self._decide(same, standing)
            return
        fact = Standing.of(claim, event, FactState.OPEN if claim.category is Category.TASK else FactState.CURRENT)
        self._note(fact)
        if not fact.state.standing:
            return
        for shelf in self._kept(places) if claim.single else ():
            for other in [each for each in shelf if not each.verbatim]:  # a sentence says more than one value
                self._contradict(fact, other, shelf)
        for opposite in _OPPOSITE.get(claim.attribute, ()):
            opposites = self._shelves[opposite, FactScope.ALWAYS, ""]
            if (liked := opposites.keyed(fact.key)) is not None:  # a like ends when the same person dislikes the thing
                self._supersede(fact, liked, opposites)
        if fact.state.standing:
            standing.add(fact)

    def _contradict(self, new: Standing, old: Standing, standing: Shelf) -> None:
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
                self._note(old)
                return
        if new.state.standing:
            self._supersede(new, old, standing)

    def _supersede(self, new: Standing, old: Standing, standing: Shelf) -> None:
        old.end(FactState.SUPERSEDED, new.valid_from)
        old.superseded_by, new.supersedes = new.id, old.id
        standing.remove(old)
        self._note(old, new)

    def _decide(self, fact: Standing, standing: Shelf) -> None:
        """Resolve a dispute in favour of a claim that is repeated later."""
        for rival in [rival for rival in map(standing.get, fact.rivals) if rival is not None]:
            if self._rule != "ask" or SETTLED in fact.by:
                rival.end(FactState.SUPERSEDED, fact.seen)
                rival.superseded_by = fact.id
                standing.remove(rival)
                fact.state = FactState.CURRENT
                self._note(rival, fact)

    def _finish(self, claim: Claim, event: Event, state: FactState, *, keep: bool) -> None:
        """End the facts that a retraction or a task update is about; if there are none, keep it as history."""
        ended = False
        names = kin(claim.attribute)
        for standing in self._kept(place for name in names for place in _places_of(name, claim, event)):
            for fact in standing.about(claim):
                task = fact.claim.category is Category.TASK
                fact.end(state if task else FactState.ENDED, claim.until or event.at)
                fact.back(claim, event)
                standing.remove(fact)
                self._note(fact)
                ended = True
        if keep and not ended:
            fact = Standing.of(claim, event, state)
            fact.valid_to = max(claim.until or event.at, fact.valid_from)
            self._note(fact)
