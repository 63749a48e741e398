"""``facts``: what follows from everything that was claimed, and what is no longer so."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.attributes import attribute as attribute_of
from hybrid_memory.facts.fact import Category, Claim, Fact
from hybrid_memory.facts.learn import learn, learn_before_reading
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.resolving import SETTLED, resolve
from hybrid_memory.facts.values import normalised
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import visible
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import trust
from hybrid_memory.store.projection import Erasure, Key, Projection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, in_view, present
from hybrid_memory.validation import shown

MARKS = (EventKind.CLAIM, EventKind.ERASED)
"""Kinds of events after which facts are others than before."""

CACHED = 256

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outdated:
    """What recall should not put first: records of facts that no longer stand, and turns that say such a thing.

    A turn has the records and turns that say what is so instead.
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
            # What takes a thing back is the last turn about it.
            instead = {*successor.positions, *successor.records} if successor else set(fact.positions[-1:])
            for position in fact.positions:
                if position not in instead:
                    newer[position] |= instead
        return cls(frozenset(gone), {position: frozenset(places) for position, places in newer.items()})

    def among(self, ids: Collection[int]) -> set[int]:
        """Those of the records that are out of date; a turn only where what replaces it is among them too."""
        wanted = set(ids)
        turns = {turn for turn in wanted if turn in self.turns and not wanted.isdisjoint(self.turns[turn])}
        return turns | (self.facts & wanted)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an owner's claims come to.

    Attributes:
        mark: the last events that it follows from.
        turns: position of each claim's turn, ascending, with its session; empty for a claim that resolves a dispute.
    """

    mark: tuple[int, ...]
    facts: list[Fact]
    outdated: Outdated
    turns: tuple[tuple[int, str], ...] = ()


class FactsProjection(Projection):
    """The facts of each owner and view, profiles as prompts show them, users' names, and what was read so far."""

    kinds = frozenset({EventKind.CLAIM, EventKind.LEARNED})
    repeats = frozenset({EventKind.CLAIM})

    def __init__(self, profile: type[UserProfile] = UserProfile) -> None:
        self.profile = profile
        self.known: LruCache[Key, Knowledge] = LruCache(CACHED)
        self.portraits: LruCache[tuple[Any, ...], str] = LruCache(CACHED)

    def clear(self) -> None:
        """Drop facts and profiles; they follow from the log again."""
        self.known.clear()
        self.portraits.clear()

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the turns behind a fact."""
        return item.sources if isinstance(item, Fact) else None

    def parse(self, event: Event) -> object:
        """The claim, or how far turns were read."""
        return Claim.of(event.payload) if event.kind is EventKind.CLAIM else event.payload["cursors"]

    async def forget(self, run: Runner, services: Services, events: Sequence[Event], erasure: Erasure) -> None:
        """The claims that were read from the turns."""
        positions = {event.position for event in erasure.turns}
        erasure.drop((event for event in events if event.payload["source"] in positions), "claims")

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Read the turns that were not read yet, by rules and by a model."""
        try:
            return Receipt(learned=await learn(run, services, owner, model=True))
        except ModelError as error:
            _log.warning("%s; what rules can read is learned, the model will be asked again", error)
            return Receipt()


async def facts(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    subject: str | None = None,
    attribute: str | None = None,
    category: Category | str | None = None,
    history: bool = False,
) -> list[Fact]:
    """The facts of the owner, oldest first; what was not read yet is read by rules first."""
    wanted = None if category is None else _category(category)
    for name, value in (("subject", subject), ("attribute", attribute)):
        if not isinstance(value, str | None):
            raise InvalidInputError(f"{name} must be text, got {shown(value)}")
    await learn_before_reading(run, services, scope)
    return [
        fact
        for fact in (await knowledge(run, await in_view(run, services, scope))).facts
        if (history or fact.current)
        and (subject is None or normalised(fact.subject) == normalised(subject))
        and (attribute is None or fact.attribute == attribute)
        and (wanted is None or fact.category is wanted)
    ]


def _category(category: Any) -> Category:
    try:
        return Category(category)
    except ValueError:
        raise InvalidInputError(f"no category {shown(category)}: choose one of {', '.join(Category)}") from None


async def knowledge(run: Runner, view: View) -> Knowledge:
    """What the claims in view come to; from the cache, as long as nothing changes it."""
    mark = await _mark(run, view)
    if not mark[0]:
        return Knowledge(mark, [], Outdated())
    cache, key = view.state(FactsProjection).known, (view.owner, view.hidden, view.horizon)
    cached = cache.get(key)
    if cached is not None and cached.mark == mark:
        return cached
    claims = await claims_in(run, view)
    trusted = await trust(run, view, view.owner)
    resolved_facts = resolve(claims, rule=view.config.learning.conflicts, trust=trusted)
    turns = sorted((turn_of(event), "" if _resolves_dispute(event) else event.scope.session or "") for event in claims)
    known = Knowledge(mark, resolved_facts, Outdated.of(resolved_facts), tuple(turns))
    cache.put(key, known)
    return known


async def claims_in(run: Runner, view: View) -> list[Event]:
    """The claims that are visible: with their turns, however late these were read."""
    before = None if view.horizon is None else view.horizon.before
    return [
        event
        for event in await run.call(view.truth.read, view.owner, kinds=(EventKind.CLAIM,))
        if visible(turn_of(event), view.hidden) and (before is None or event.at < before)
    ]


def turn_of(event: Event) -> int:
    """Position of the turn that a claim belongs to; of one that resolves a dispute its own."""
    return event.position if _resolves_dispute(event) else int(event.payload["source"])


def _resolves_dispute(event: Event) -> bool:
    return bool(event.payload["by"] == SETTLED)


async def _mark(run: Runner, view: View) -> tuple[int, ...]:
    # In a space it also counts who is trusted how much.
    kinds = MARKS if view.owner.space is None else (*MARKS, EventKind.GRANT)
    newest = [await run.call(view.truth.read, view.owner, kinds=(kind,), limit=1, newest=True) for kind in kinds]
    return tuple(events[0].position if events else 0 for events in newest)


async def settle(run: Runner, services: Services, scope: Scope, fact: Any) -> Receipt:
    """Write a claim that this fact stands."""
    if not isinstance(fact, Fact):
        raise InvalidInputError(f"give a fact from facts(), got {shown(fact)}")
    known = {one.id: one for one in await facts(run, present(services), scope, history=True)}
    if fact.id not in known or not fact.positions:
        raise InvalidInputError(f"no such fact of {scope.owner}: {fact!r}")
    claim = Claim(
        fact.subject,
        fact.attribute,
        fact.value,
        fact.category,
        fact.positions[-1],
        single=attribute_of(fact.attribute).single or bool(fact.rivals or fact.superseded_by),
        confidence=fact.confidence,
        importance=fact.importance,
        by=SETTLED,
    )
    draft = services.draft(
        EventKind.CLAIM, claim.as_payload(), session=scope.session, sources=(fact.sources[-1],), author=services.author
    )
    (appended,) = await run.call(services.truth.append, scope.owner, [draft])
    return Receipt(ids=(appended.id,), positions=(appended.position,), learned=1)
