"""The facts that follow from an owner's claims, updated incrementally: facts, outdated records, and subjects."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, islice
from threading import RLock

from hybrid_memory.config import ConflictRule
from hybrid_memory.facts.authority import by_the_user, names_of_user, person_of
from hybrid_memory.facts.fact import SETTLED, Claim, Fact, FactScope
from hybrid_memory.facts.resolving import Group, Pair, Standing, Trust, group_of
from hybrid_memory.facts.values import normalised
from hybrid_memory.log.event import Event
from hybrid_memory.log.visible import MAX_POSITION, Stretches, visible

Place = tuple[int, str]
"""The position and id of an event: a restored log reuses positions."""

NOWHERE: Place = (0, "")


@dataclass(slots=True)
class _Subject:
    """How many turns are about a subject, and the first and the last of them."""

    count: int = 0
    first: int = MAX_POSITION
    last: int = 0


@dataclass(slots=True)
class _Known:
    """A fact, how many of its turns and records are indexed, and its cached value."""

    fact: Standing
    turns: int = 0
    records: int = 0
    made: Fact | None = None


class Knowledge:
    """The facts that follow from the claims added so far; callable from any thread.

    The cost of a claim depends on the claims it concerns, not on their total number.

    Attributes:
        mark: the last events other than claims that it depends on, such as erasures.
        last: the last claim added.
        hidden: stretches of the log whose claims are ignored.
        user: the owner of the facts; None in a space, which has no user.
        number: unique within the process.
        passing: sessions with instructions that apply only there.
    """

    _numbers = count()

    def __init__(
        self, mark: tuple[Place, ...], hidden: Stretches, rule: ConflictRule, trust: Trust, user: str | None = None
    ) -> None:
        self.number = next(self._numbers)
        self.mark = mark
        self.last = NOWHERE
        self.hidden = hidden
        self.passing: set[str | None] = set()
        self._rule, self._trust = rule, trust
        self._lock = RLock()
        self._user = user
        self._own: set[str] = names_of_user((), user)
        self._others: set[str] = set()
        self._decided: dict[tuple[int, str], Claim] = {}
        self._groups: dict[tuple[str, str], Group] = {}
        self._known: dict[int, _Known] = {}
        self._order: list[tuple[datetime, int]] = []
        self._subjects: dict[str, _Subject] = defaultdict(_Subject)
        self._by_turn: dict[int, dict[int, None]] = defaultdict(dict)
        self._by_record: dict[int, int] = {}

    def names_the_user_anew(self, events: Sequence[Event]) -> bool:
        """Whether these claims show that the user has a name others used before, whose claims then do not count."""
        with self._lock:
            return self._user is not None and not self._others.isdisjoint(names_of_user(events, self._user))

    def _believes(self, event: Event) -> bool:
        """Whether the claim's author may make it: nobody else speaks about the user by name."""
        return self._user is None or by_the_user(event) or person_of(event.payload["subject"]) not in self._own

    def _as_decided(self, claim: Claim) -> Claim:
        """The claim of a sentence that somebody decided on as what they saw then, however it is read now."""
        key = claim.source, normalised(claim.sentence)
        if claim.by == SETTLED:
            self._decided[key] = claim
            return claim
        seen = self._decided.get(key) if claim.sentence else None
        if seen is None:
            return claim
        return replace(
            claim, subject=seen.subject, attribute=seen.attribute, value=seen.value, category=seen.category,
            single=seen.single, verbatim=seen.verbatim, scope=seen.scope,
        )  # fmt: skip

    def take(self, events: Sequence[Event], last: Place) -> None:
        """Add claims: all that were written since the last one, up to this; known ones are ignored."""
        with self._lock:
            groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
            if self._user is not None:
                self._own |= names_of_user(events, self._user)
            for event in events:
                if event.position <= self.last[0] or not self._believes(event):
                    continue
                if self._user is not None and not by_the_user(event):
                    self._others.add(person_of(event.payload["subject"]))
                if not visible(turn_of(event), self.hidden):
                    continue
                claim = self._as_decided(Claim.of(event.payload))
                if claim.scope is FactScope.SESSION:
                    self.passing.add(event.scope.session)
                groups[group_of(claim)].append((replace(event, payload={}), claim))
            for key, pairs in groups.items():
                group = self._groups.setdefault(key, Group(self._rule, self._trust))
                self._note(group.take(pairs), group)
            self.last = max(self.last, last)

    @property
    def facts(self) -> list[Fact]:
        """All facts, oldest first."""
        with self._lock:
            return [self._made(self._known[number]) for _, number in self._order]

    def statements(self) -> list[tuple[Fact, str]]:
        """The user's own sentences that no other one ended, oldest first, each with its vector as text."""
        with self._lock:
            known = (self._known[number] for _, number in self._order)
            return [
                (self._made(each), each.fact.claim.vector)
                for each in known
                if each.fact.claim.sentence and each.fact.state.standing
            ]

    def subjects(self, count: int) -> list[tuple[int, int]]:
        """The first and the last turn about each of the subjects with the most facts."""
        with self._lock:
            most = heapq.nsmallest(count, self._subjects.values(), key=lambda one: (-one.count, one.first))
            return [(one.first, one.last) for one in most if one.count]

    def outdated(self, ids: Collection[int]) -> dict[int, set[int]]:
        """The outdated ones of these records, each with those of them that are newer.

        These are records of facts that are no longer true, with nothing, and turns that state such a fact, with the
        records and turns that state its replacement, if there are any.
        """
        with self._lock:
            saying: dict[int, set[int]] = defaultdict(set)
            for record in ids:
                for number in self._said(record):
                    saying[number].add(record)
            found: dict[int, set[int]] = {}
            for record in ids:
                if self._gone(self._by_record.get(record, 0)):
                    found[record] = set()
                    continue
                newer = [self._newer(number, record, ids, saying) for number in self._by_turn.get(record, ())]
                if any(newer):
                    found[record] = set[int]().union(*newer)
            return found

    def _gone(self, number: int) -> bool:
        return number in self._known and not self._known[number].fact.state.standing

    def _said(self, record: int) -> Iterator[int]:
        """Ids of the facts stated by a turn, or by the record of a claim."""
        if record in self._by_record:
            yield self._by_record[record]
        for number in self._by_turn.get(record, ()):
            if record in self._known[number].fact.sources:
                yield number

    def _newer(
        self, number: int, turn: int, ids: Collection[int], saying: Mapping[int, Collection[int]]
    ) -> Collection[int]:
        """The records that state a replacement of a turn's fact which the turn itself does not state."""
        fact = self._known[number].fact
        if fact.state.standing or turn not in fact.sources:
            return ()
        if fact.superseded_by not in self._known:  # what takes a thing back is the last turn about it
            return {fact.last}.intersection(ids) - {turn}
        return saying.get(fact.superseded_by, ()) if fact.superseded_by not in self._said(turn) else ()

    def _note(self, changed: dict[int, Standing], group: Group) -> None:
        for number in changed:
            fact = group.facts.get(number)
            if fact is None:
                self._drop(number)
            else:
                self._index(fact)

    def _index(self, fact: Standing) -> None:
        known = self._known.get(fact.id)
        if known is None:
            insort(self._order, (fact.at, fact.id))
        subject = self._subjects[fact.claim.subject]
        if known is None or known.fact is not fact:
            subject.count -= known.turns if known is not None else 0
            known = self._known[fact.id] = _Known(fact)
        for turn in islice(reversed(fact.sources), len(fact.sources) - known.turns):
            self._by_turn[turn][fact.id] = None
        for record in fact.records[known.records :]:
            self._by_record[record] = fact.id
        subject.count += len(fact.sources) - known.turns
        subject.first, subject.last = min(subject.first, fact.first), max(subject.last, fact.last)
        known.turns, known.records, known.made = len(fact.sources), len(fact.records), None

    def _drop(self, number: int) -> None:
        known = self._known.pop(number, None)
        if known is None:
            return
        del self._order[bisect_left(self._order, (known.fact.at, number))]
        self._subjects[known.fact.claim.subject].count -= known.turns
        for turn in known.fact.sources:
            self._by_turn[turn].pop(number, None)

    @staticmethod
    def _made(known: _Known) -> Fact:
        if known.made is None:
            known.made = known.fact.as_fact()
        return known.made


def place_of(event: Event) -> Place:
    """The position of an event in the log."""
    return event.position, event.id


def turn_of(event: Event) -> int:
    """Position of the turn that a claim belongs to; for a claim that resolves a dispute, its own."""
    return event.position if event.payload["by"] == SETTLED else int(event.payload["source"])
