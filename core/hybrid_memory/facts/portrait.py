"""``profile``: what stands of the user, as a value and as a prompt shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from hybrid_memory.errors import ModelError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.facts import FactsProjection, knowledge
from hybrid_memory.facts.knowing import Knowledge
from hybrid_memory.facts.learn import learn_before_reading
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profile_schema import check_profile_type, profile_fields
from hybrid_memory.facts.profiling import looked_at, own_facts, profile_of
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.origin import INSTRUCTING
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view

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
    if schema is not None:
        check_profile_type(schema)
    await learn_before_reading(run, services, scope)
    view = await in_view(run, services, scope)
    known = await knowledge(run, view)
    chosen = schema or services.state(FactsProjection).profile
    mine = looked_at(own_facts(known.facts, [*names, *await _called(run, view, known)]), chosen)
    return profile_of(mine, chosen, alike=await _alike(run, services, mine))


async def _called(run: Runner, view: View, known: Knowledge) -> list[str]:
    """What the user is called in facts: their id, and the name under which they speak, if it is one.

    It is read off the first and the last turn behind the subjects of which most is known, so the cost is flat.
    """
    ids = [view.owner.user] if view.owner.user else []
    if view.owner.space is not None:
        return ids
    positions = sorted({place for turns in known.subjects(SUBJECTS) for place in turns})
    key = (view.owner, tuple(positions), known.mark[0])
    portraits = view.state(FactsProjection).portraits
    name = portraits.get(key)
    if name is None:
        turns = await at_positions(run, view, view.owner, positions)
        own = [turn.message for turn in turns if turn.kind is EventKind.MESSAGE and turn.origin in INSTRUCTING]
        names = {message.name or "" for message in own}
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
        await learn_before_reading(run, services, scope)
    known = await knowledge(run, view)
    names = await _called(run, view, known)
    upto = _renewed(known, max(begin, known.mark[0][0]), scope, names, own.profile)
    count = known.count(upto)
    if not count:
        return ""
    key = (view.owner, known.number, upto, count, max_tokens, *names)
    text = own.portraits.get(key)
    if text is None:
        mine = looked_at(own_facts(await run.call(known.standing, upto), names), own.profile)
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


def _renewed(known: Knowledge, begin: int, scope: Scope, names: Collection[str], schema: type[UserProfile]) -> int:
    """The position from which on nothing but this session added facts, and all that held then holds now."""
    upto = max(begin, known.told(scope.session) if scope.session else 0)
    late = known.lapses(upto)
    mine = {fact.id for fact in own_facts((fact for fact, _, _ in late), names)}
    fields = profile_fields(schema)
    for fact, first, last in sorted(late, key=lambda lapse: lapse[1:]):
        if first <= upto < last and fact.id in mine and any(field.takes(fact.attribute) for field in fields):
            upto = last
    return upto


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
