"""From claims to facts: what is current, replaced, withdrawn, corrected or done; a pure function of the log.

The claims of any prefix of a conversation, in any order, give the facts as of then. Claims later than all others are
applied incrementally; a late one, or one that calls an earlier one wrong, reapplies those that it may concern.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hybrid_memory.facts.attributes import kin
from hybrid_memory.facts.fact import SETTLED, STATED, Category, Claim, Fact, FactScope, FactState, Stance
from hybrid_memory.facts.values import NOT_SAID, normalised, overlap, value_key, within
from hybrid_memory.log.event import Event

SAME_TASK = 0.6  # the share of the shorter wording's words that two wordings of one task have in common
MAX_CONFIDENCE = 0.99

GROWS = frozenset(("name", "home", "hometown", "address", "employer", "school"))
"""Attributes whose value stays the same when details are added: Berlin, then Berlin in Germany."""


@dataclass(slots=True)
class Standing:
    """A fact, given the claims applied so far.

    Attributes:
        event, claim: that of the first claim, and what all of them state together.
        key: its value, normalised as claims of its attribute are compared.
        seen: when it was last stated.
        sources: ids of the turns that state it, by position.
        fact: as users see it; None until somebody asks for it, and after each change.
    """

    event: Event
    claim: Claim
    key: str
    state: FactState
    valid_from: datetime
    seen: datetime
    valid_to: datetime | None = None
    sources: dict[int, str] = field(default_factory=dict)
    records: list[int] = field(default_factory=list)
    by: dict[str, None] = field(default_factory=dict)
    supersedes: int | None = None
    superseded_by: int | None = None
    rivals: dict[int, None] = field(default_factory=dict)
    fact: Fact | None = None

    @property
    def id(self) -> int:
        """Position of the first claim."""
        return self.event.position

    def support(self, claim: Claim, event: Event) -> None:
        """Add a claim that states it too; a turn counts once, however many extractors have read it."""
        known, confidence = self.claim, max(self.claim.confidence, claim.confidence)
        if claim.source not in self.sources:
            confidence = min(MAX_CONFIDENCE, 1 - (1 - known.confidence) * (1 - claim.confidence / 2))
        importance = max(known.importance, claim.importance)
        self.claim = replace(known, confidence=confidence, importance=importance, due=claim.due or known.due)
        self.seen = max(self.seen, event.at)
        self.back(claim, event)

    def back(self, claim: Claim, event: Event) -> None:
        """Add the turn of a claim that states it, or states its end."""
        self.sources[claim.source] = event.sources[0] if event.sources else event.id
        self.by[claim.by] = None
        if claim.stance is Stance.HOLDS and not claim.sentence:
            self.records.append(event.position)

    @classmethod
    def of(cls, claim: Claim, event: Event, state: FactState) -> Standing:
        """A new fact from the first claim that states it."""
        fact = cls(event, claim, value_key(claim), state, claim.since or event.at, event.at)
        fact.back(claim, event)
        return fact

    def end(self, state: FactState, at: datetime) -> None:
        """End it at an instant."""
        self.state, self.valid_to = state, max(at, self.valid_from)

    def as_fact(self) -> Fact:
        """The fact in its current state."""
        if self.fact is None:
            places = sorted(self.sources)
            self.fact = Fact(
                **{name: getattr(self.claim, name) for name in STATED},
                id=self.id,
                state=self.state,
                valid_from=self.valid_from,
                valid_to=self.valid_to,
                sources=tuple(self.sources[place] for place in places),
                positions=tuple(places),
                records=tuple(self.records),
                by=tuple(by for by in self.by if by),
                supersedes=self.supersedes,
                superseded_by=self.superseded_by,
                rivals=tuple(self.rivals),
                author=self.event.author,
                session=self.event.scope.session,
                text=self.claim.sentence,
            )
        return self.fact


Shelf = dict[str, Standing]  # the current facts for one attribute of one subject, by their keys


def worded(shelf: Shelf, claim: Claim, key: str) -> Standing | None:
    """The first fact that the claim states in more words, or in fewer."""
    same: Iterator[Standing] = iter(())
    if claim.attribute in GROWS:
        same = (fact for fact in shelf.values() if within(fact.key, key) or within(key, fact.key))
    elif claim.category is Category.TASK and not claim.verbatim:  # a sentence says only what all its words say
        tasks = (fact for fact in shelf.values() if not fact.claim.verbatim)
        same = (fact for fact in tasks if overlap(fact.claim.value, claim.value) == 1.0)
    return next(same, None)


AT_ONCE = timedelta(minutes=1)
"""Claims of two authors no further apart than this are simultaneous: neither has seen the other."""

_OPPOSITE: dict[str, tuple[str, ...]] = {  # attributes of which only one can apply to a thing
    "likes": ("dislikes", "avoids"),
    "prefers": ("dislikes", "avoids"),
    "interest": ("dislikes",),
    "dislikes": ("likes", "prefers", "interest"),
    "avoids": ("likes", "prefers"),
}

_TASTES = frozenset((*kin("likes"), *kin("dislikes")))

Pair = tuple[Event, Claim]


def group_of(claim: Claim) -> tuple[str, str]:
    """A key that separates claims that never concern each other: the subject, and the kind of the attribute."""
    name = claim.attribute
    kind = "likes" if name in _TASTES else kin(name)[0]
    return normalised(claim.subject), kind


def moment(pair: Pair) -> tuple[datetime, int, bool, int]:
    """The order of claims: by the time of the turn; within a turn, endings come before beginnings."""
    event, claim = pair
    return event.at, claim.source, claim.stance is Stance.HOLDS, event.position


def _denials(pairs: Sequence[Pair]) -> dict[int, Pair]:
    """For each position of a claim that others call wrong, the first of these.

    That is a later one, or one extracted after it from the same turn. Of decisions about a value the last one counts.
    """
    decisions = {(one.attribute, normalised(one.value)): one.stance for _, one in pairs if one.by == SETTLED}
    by_topic: dict[tuple[str, str | int], list[Pair]] = defaultdict(list)
    for event, claim in pairs:
        value = normalised(claim.value)
        if claim.stance is Stance.WRONG is decisions.get((claim.attribute, value), Stance.WRONG):
            for topic in (value, claim.source):
                by_topic[claim.attribute, topic].append((event, claim))

    def denies(wrong: Claim, later: Event, claim: Claim, event: Event) -> bool:
        if wrong.source != claim.source:
            return (later.at, wrong.source) > (event.at, claim.source)
        value, rejected = normalised(claim.value), normalised(wrong.value)
        grown = claim.attribute in GROWS and (within(value, rejected) or within(rejected, value))
        # Somebody rejected what this claim of the same turn says, also if the turn was read again since.
        decided = wrong.by == SETTLED and claim.by != SETTLED and (rejected == value or grown)
        return decided or (later.position > event.position and value_key(wrong) == value_key(claim))

    denials = {}
    for event, claim in pairs:
        near = [by_topic.get((claim.attribute, topic), ()) for topic in (normalised(claim.value), claim.source)]
        denying = [(later, wrong) for group in near for later, wrong in group if denies(wrong, later, claim, event)]
        if denying:
            denials[event.position] = min(denying, key=moment)
    return denials


class Group:
    """The claims about one subject that may concern each other, and the facts that follow from them.

    Attributes:
        pairs: the claims, ordered by their moments.
        facts: by id.
        _shelves: by attribute, and the session for what applies in one only.
    """

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.facts: dict[int, Standing] = {}
        self._shelves: dict[tuple[str, str | None], Shelf] = defaultdict(dict)
        self._rejecting = False

    def take(self, pairs: Sequence[Pair]) -> None:
        """Add claims."""
        new = sorted(pairs, key=moment)
        late = bool(new and self.pairs) and moment(new[0]) < moment(self.pairs[-1])
        self.pairs += new
        self._rejecting |= any(claim.stance is Stance.WRONG for _, claim in new)
        if late or self._rejecting:
            self.pairs.sort(key=moment)
            self.facts, self._shelves, new = {}, defaultdict(dict), self.pairs
        denials = _denials(self.pairs) if self._rejecting else {}
        for event, claim in new:
            if claim.stance is Stance.WRONG:
                continue
            if (denial := denials.get(event.position)) is not None:
                if claim.stance is Stance.HOLDS:  # only the history has a corrected value: it was never true
                    fact = Standing.of(claim, event, FactState.ENDED)
                    fact.valid_to = fact.valid_from
                    fact.back(denial[1], denial[0])
                    self._note(fact)
            elif claim.stance is not Stance.HOLDS:
                self._finish(claim, event, FactState(claim.stance.value))
            elif normalised(claim.value) not in NOT_SAID:
                self._hold(claim, event)

    def _reached(self, name: str, claim: Claim, event: Event) -> list[Shelf]:
        """Where the facts are that a claim may replace or end: its own place first, then that of its session.

        What applies in one session changes nothing elsewhere.
        """
        passing = self._shelves[name, event.scope.session or ""]
        return [passing] if claim.scope is FactScope.SESSION else [self._shelves[name, None], passing]

    def _note(self, *facts: Standing) -> None:
        for each in facts:
            self.facts[each.id], each.fact = each, None

    def _hold(self, claim: Claim, event: Event) -> None:
        reached = self._reached(claim.attribute, claim, event)
        standing, key = reached[0], value_key(claim)
        same = standing.get(key) or worded(standing, claim, key)
        if same is not None:
            same.support(claim, event)
            longer = len(claim.value) > len(same.claim.value) and claim.attribute in GROWS and not claim.verbatim
            if longer or (same.claim.verbatim and not claim.verbatim):
                del standing[same.key]
                same.claim, same.key = replace(same.claim, value=claim.value, verbatim=False), key
                standing[key] = same
            self._note(same)
            if event.at - same.event.at > AT_ONCE or claim.by == SETTLED:  # repeated later, it resolves its disputes
                rivals = [self.facts[rival] for rival in same.rivals]
                for rival in [each for each in rivals if standing.get(each.key) is each]:
                    rival.end(FactState.SUPERSEDED, same.seen)
                    rival.superseded_by, same.state = same.id, FactState.CURRENT
                    del standing[rival.key]
                    self._note(rival, same)
            return
        fact = Standing.of(claim, event, FactState.OPEN if claim.category is Category.TASK else FactState.CURRENT)
        self._note(fact)
        for shelf in reached if claim.single else ():
            # A sentence says more than one value.
            for other in [each for each in shelf.values() if not each.claim.verbatim]:
                at_once = event.author != other.event.author and abs(event.at - other.seen) <= AT_ONCE
                if at_once and claim.by != SETTLED:
                    fact.state = other.state = FactState.DISPUTED
                    fact.rivals[other.id] = other.rivals[fact.id] = None
                    self._note(other)
                else:
                    self._supersede(fact, other, shelf)
        for opposites in (self._shelves[opposite, None] for opposite in _OPPOSITE.get(claim.attribute, ())):
            if (liked := opposites.get(fact.key)) is not None:  # a like ends when the same person dislikes the thing
                self._supersede(fact, liked, opposites)
        standing[key] = fact

    def _supersede(self, new: Standing, old: Standing, standing: Shelf) -> None:
        old.end(FactState.SUPERSEDED, new.valid_from)
        old.superseded_by, new.supersedes = new.id, old.id
        del standing[old.key]
        self._note(old, new)

    def _finish(self, claim: Claim, event: Event, state: FactState) -> None:
        """End the facts that a retraction or a task update is about; if there are none, keep it as history."""
        ended = False
        key, plain = value_key(claim), normalised(claim.value)
        for standing in [shelf for name in kin(claim.attribute) for shelf in self._reached(name, claim, event)]:
            for fact in list(standing.values()):
                same = fact.key == key or normalised(fact.claim.value) == plain
                if claim.value and not same and overlap(fact.claim.value, claim.value) < SAME_TASK:
                    continue
                task = fact.claim.category is Category.TASK
                fact.end(state if task else FactState.ENDED, event.at)
                fact.back(claim, event)
                del standing[fact.key]
                self._note(fact)
                ended = True
        if not ended and (state is FactState.DONE or (state is FactState.ENDED and claim.value)):
            fact = Standing.of(claim, event, state)
            fact.valid_to = max(event.at, fact.valid_from)
            self._note(fact)
