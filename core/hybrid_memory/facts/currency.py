"""Which records say what is no longer so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hybrid_memory.facts.fact import Fact


@dataclass(frozen=True, slots=True)
class Outdated:
    """What recall should not put first.

    Attributes:
        facts: records of facts that no longer stand.
        turns: turns that say such a thing, each with the records and turns that say what is so instead.
    """

    facts: frozenset[int] = frozenset()
    turns: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Sequence[Fact]) -> Outdated:
        """What these facts leave behind."""
        by_id = {fact.id: fact for fact in facts}
        gone: set[int] = set()
        newer: dict[int, set[int]] = defaultdict(set)
        for fact in facts:
            if fact.current:
                continue
            gone.update(fact.records)
            successor = by_id.get(fact.superseded_by or 0)
            # What takes a thing back is the last that is said of it.
            instead = {*successor.positions, *successor.records} if successor else set(fact.positions[-1:])
            for position in fact.positions:
                if position not in instead:
                    newer[position] |= instead
        return cls(frozenset(gone), {position: frozenset(places) for position, places in newer.items()})

    def among(self, ids: Collection[int]) -> set[int]:
        """Those of the records that are out of date; a turn only where what replaces it is among them too."""
        there = set(ids)
        turns = {place for place in there if place in self.turns and not there.isdisjoint(self.turns[place])}
        return turns | (self.facts & there)
