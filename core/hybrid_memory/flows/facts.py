"""``facts``, ``profile``: what follows from everything that was claimed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.flows.flush import embedding
from hybrid_memory.flows.learn import learn
from hybrid_memory.flows.sharing import trust
from hybrid_memory.flows.visible import in_view, present
from hybrid_memory.flows.world import Knowledge, World
from hybrid_memory.learning.attributes import attribute as attribute_of
from hybrid_memory.learning.currency import Outdated
from hybrid_memory.learning.profile import own_facts, profile_of
from hybrid_memory.learning.resolving import SETTLED, resolve
from hybrid_memory.learning.values import normalised
from hybrid_memory.ports import Draft
from hybrid_memory.tiers.episodic import Horizon, visible
from hybrid_memory.tiers.queue import Session
from hybrid_memory.types import Category, Claim, Event, EventKind, Fact, Receipt, Scope, UserProfile
from hybrid_memory.types.validation import shown

MARKS = (EventKind.CLAIM, EventKind.ERASED)
"""Kinds of events after which facts are others than before."""


async def facts(
    run: Runner,
    world: World,
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
    await learn(run, world, scope)
    return [
        fact
        for fact in await resolved(run, await in_view(run, world, scope), scope)
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


async def outdated(run: Runner, world: World, scope: Scope) -> Outdated:
    """What the facts that were learned so far say is no longer so; ``world`` as `in_view` gives it."""
    return (await _known(run, world, scope)).outdated


async def resolved(run: Runner, world: World, scope: Scope) -> list[Fact]:
    """All facts of the owner with their history, as far as the turns were read; ``world`` as `in_view` gives it."""
    return (await _known(run, world, scope)).facts


async def _known(run: Runner, world: World, scope: Scope) -> Knowledge:
    mark = await _mark(run, world, scope)
    if not mark[0]:
        return Knowledge(mark, [], Outdated())
    key = (scope.owner, world.hidden, world.horizon)
    there = world.facts.get(key)
    if there is not None and there.mark == mark:
        return there
    before = None if world.horizon is None else world.horizon.before
    claims = [
        event
        for event in await run.call(world.truth.read, scope.owner, kinds=(EventKind.CLAIM,))
        if _seen(event, world, before)
    ]
    trusted = await trust(run, world, scope)
    found = resolve(claims, rule=world.config.learning.conflicts, trust=trusted)
    known = Knowledge(mark, found, Outdated.of(found))
    world.facts.put(key, known)
    return known


def _seen(event: Event, world: World, before: datetime | None) -> bool:
    """Whether a claim is visible: with its turn, however late that was read; one that settles, with itself."""
    place = event.position if event.payload["by"] == SETTLED else event.payload["source"]
    return visible(place, world.hidden) and (before is None or event.at < before)


async def _mark(run: Runner, world: World, scope: Scope) -> tuple[int, ...]:
    """The last positions of the events that facts depend on."""
    # In a space it also counts who is trusted how much.
    kinds = MARKS if scope.space is None else (*MARKS, EventKind.GRANT)
    return tuple([await _newest(run, world, scope, kind) for kind in kinds])


async def _newest(run: Runner, world: World, scope: Scope, kind: EventKind) -> int:
    """Position of the owner's last event of a kind; 0 without one."""
    found = await run.call(world.truth.read, scope.owner, kinds=(kind,), limit=1, newest=True)
    return found[0].position if found else 0


async def profile(
    run: Runner, world: World, scope: Scope, *, names: Collection[str] = (), schema: type[UserProfile] | None = None
) -> UserProfile:
    """What stands of the user, by the fields of the profile's type."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidInputError(f"names must be a collection of names, got {shown(names)}")
    known = await facts(run, world, scope, history=True)
    called = [*names, *([scope.user] if scope.user else [])]
    mine = own_facts(known, called)
    return profile_of(mine, schema or world.profile, alike=await _alike(run, world, mine))


async def portrait(run: Runner, world: World, session: Session, max_tokens: int) -> str:
    """The profile as text, as it was where the queue of the session begins.

    So it stays the same between two compactions, and a provider's prompt cache keeps working.
    """
    upto = session.state.cursor
    if not upto:
        first = await run.call(world.log.read, session.scope, kinds=(EventKind.MESSAGE,), limit=1)
        last = [] if first else await run.call(world.log.read, session.scope.owner, limit=1, newest=True)
        upto = first[0].position - 1 if first else last[0].position if last else 0
    if not upto:
        return ""
    erased = await _newest(run, world, session.scope, EventKind.ERASED)
    key = (session.scope.owner, world.hidden, upto, erased, max_tokens)
    text = world.portraits.get(key)
    if text is None:
        past = replace(world, log=world.truth, whole=None, viewed=False, horizon=Horizon(upto=upto))
        text = (await profile(run, past, session.scope)).render(max_tokens, world.count)
        world.portraits.put(key, text)
    return text


async def _alike(run: Runner, world: World, mine: Collection[Fact]) -> Callable[[str, str], float] | None:
    """Likeness of two values by meaning; None without an embedder, or when it fails."""
    values = sorted({fact.value for fact in mine if fact.current})
    if world.embedder is None or len(values) < 2:  # noqa: PLR2004 - one value is like no other
        return None
    try:
        rows = await embedding(run, world.embedder.embed_documents, values)
    except ModelError:
        return None
    places = {value: place for place, value in enumerate(values)}
    return lambda one, other: float(np.dot(rows[places[one]], rows[places[other]]))


async def settle(run: Runner, world: World, scope: Scope, fact: Any) -> Receipt:
    """Write a claim that this fact stands."""
    if not isinstance(fact, Fact):
        raise InvalidInputError(f"give a fact from facts(), got {shown(fact)}")
    known = {one.id: one for one in await facts(run, present(world), scope, history=True)}
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
    draft = Draft(
        id=world.new_id(),
        fixed_id=False,
        session=scope.session,
        kind=EventKind.CLAIM,
        at=world.clock(),
        payload=claim.as_payload(),
        sources=(fact.sources[-1],),
        author=world.author,
    )
    (appended,) = await run.call(world.truth.append, scope.owner, [draft])
    return Receipt(ids=(appended.id,), positions=(appended.position,), learned=1)
