"""``profile``: what stands of the user, as a value and as a prompt shows it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.facts import FactsProjection, Knowledge, claims_in, knowledge, turn_of
from hybrid_memory.facts.learn import learn
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profile_schema import check_profile_type, profile_fields
from hybrid_memory.facts.profiling import own_facts, profile_of
from hybrid_memory.facts.resolving import resolve
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import Role
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import trust
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view
from hybrid_memory.validation import shown

SUBJECTS = 4
"""Of whom most is known: among them is who speaks."""


async def profile(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    names: Collection[str] = (),
    schema: type[UserProfile] | None = None,
) -> UserProfile:
    """What stands of the user, by the fields of the profile's type."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidInputError(f"names must be a collection of names, got {shown(names)}")
    if schema is not None:
        check_profile_type(schema)
    await learn(run, services, scope)
    view = await in_view(run, services, scope)
    known = await knowledge(run, view)
    mine = own_facts(known.facts, [*names, *await _called(run, view, known)])
    return profile_of(mine, schema or services.state(FactsProjection).profile, alike=await _alike(run, services, mine))


async def _called(run: Runner, view: View, known: Knowledge) -> list[str]:
    """What the user is called in facts: their id, and the name under which they speak, if it is one.

    It is read off the first and the last turn behind the subjects of which most is known, so the cost is flat.
    """
    ids = [view.owner.user] if view.owner.user else []
    if view.owner.space is not None:
        return ids
    about: dict[str, list[int]] = {}
    for fact in known.facts:
        about.setdefault(fact.subject, []).extend(fact.positions)
    most = sorted(about.values(), key=lambda positions: (-len(positions), positions))[:SUBJECTS]
    positions = sorted(
        {place for positions in most for place in (min(positions, default=0), max(positions, default=0))}
    )
    key = (view.owner, tuple(positions), known.mark[1])
    portraits = view.state(FactsProjection).portraits
    name = portraits.get(key)
    if name is None:
        turns = await at_positions(run, view, view.owner, positions)
        messages = [turn.message for turn in turns if turn.kind is EventKind.MESSAGE]
        names = {message.name or "" for message in messages if message.role is Role.USER}
        name = names.pop() if len(names) == 1 else ""
        portraits.put(key, name)
    return [*ids, name] if name else ids


async def portrait(run: Runner, services: Services, scope: Scope, cursor: int, max_tokens: int) -> str:
    """The profile as text, as a prompt of this session shows it.

    It is that of the log where the queue of the session begins, and stays so while nothing but the session itself
    adds to it, for its turns stand in the prompt: a provider's prompt cache keeps working. What another session adds
    since, a value that is no longer so, and an erasure renew it, up to the turn that did so. The queue begins behind
    the ``cursor``; 0 at the first turn.
    """
    own = services.state(FactsProjection)
    view = await in_view(run, services, scope)
    begin = cursor or await _begin(run, view, scope)
    if view.horizon is None:
        await learn(run, services, scope)
    known = await knowledge(run, view)
    names = await _called(run, view, known)
    upto = _renewed(known, max(begin, known.mark[1]), scope, own_facts(known.facts, names), own.profile)
    count = bisect_right(known.turns, upto, key=lambda turn: turn[0])
    if not count:
        return ""
    key = (view.owner, view.hidden, view.horizon, upto, count, known.mark[1:], max_tokens, *names)
    text = own.portraits.get(key)
    if text is None:
        claims = [event for event in await claims_in(run, view) if turn_of(event) <= upto]
        trusted = await trust(run, view, scope)
        mine = own_facts(resolve(claims, rule=view.config.learning.conflicts, trust=trusted), names)
        made = profile_of(mine, own.profile, alike=await _alike(run, services, mine))
        text = made.render(max_tokens, services.count)
        own.portraits.put(key, text)
    return text


async def _begin(run: Runner, view: View, scope: Scope) -> int:
    """The position before the first turn of the session, or where the log ends."""
    first = await run.call(view.log.read, scope, kinds=(EventKind.MESSAGE,), limit=1)
    last = [] if first else await run.call(view.log.read, scope.owner, limit=1, newest=True)
    if first:
        return first[0].position - 1
    return last[0].position if last else 0


def _renewed(known: Knowledge, begin: int, scope: Scope, mine: Iterable[Fact], schema: type[UserProfile]) -> int:
    """The position from which on nothing but this session added facts, and all that held then holds now."""
    elsewhere = (place for place, session in reversed(known.turns) if session != scope.session)
    upto = max(begin, next(elsewhere, 0) if scope.session else 0)
    by_id = {fact.id: fact for fact in known.facts}
    fields = profile_fields(schema)
    lapsed = [fact for fact in mine if not fact.current and any(field.takes(fact.attribute) for field in fields)]
    for first, last in sorted((fact.positions[0], _lapse(fact, by_id)) for fact in lapsed if fact.positions):
        if first <= upto < last:
            upto = last
    return upto


def _lapse(fact: Fact, by_id: Mapping[int, Fact]) -> int:
    """Position of the turn from which on a fact stood no longer."""
    after = by_id.get(fact.superseded_by or 0)
    if after is None or not after.positions:
        return fact.positions[-1]
    return after.positions[0] if after.positions[0] > fact.positions[0] else after.positions[-1]


async def _alike(run: Runner, services: Services, mine: Collection[Fact]) -> Callable[[str, str], float] | None:
    """Likeness of two values by meaning; None without an embedder, or when it fails."""
    values = sorted({fact.value for fact in mine if fact.current})
    if services.embedder is None or len(values) < 2:  # noqa: PLR2004 - one value is like no other
        return None
    try:
        rows = await embedding(run, services.embedder.embed_documents, values)
    except ModelError:
        return None
    rows_of = {value: row for row, value in enumerate(values)}
    return lambda one, other: float(np.dot(rows[rows_of[one]], rows[rows_of[other]]))
