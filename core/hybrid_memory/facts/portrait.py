"""``profile``: what is known about the user, as a value and as shown in a prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

import numpy as np

from hybrid_memory.errors import ModelError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.facts import FactsProjection, knowledge
from hybrid_memory.facts.instructions import applying
from hybrid_memory.facts.knowing import Knowledge
from hybrid_memory.facts.learn import learn_before_reading
from hybrid_memory.facts.newest import learn_in_a_hurry
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profile_schema import check_profile_type, profile_fields
from hybrid_memory.facts.profiling import looked_at, own_facts, profile_of
from hybrid_memory.facts.sentences.reading import SAFETY
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import INSTRUCTING
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view

SHOWN = 0.6
"""The least confidence of a value in a prompt."""

SHOWN_WHOLE = 0.8
"""The same for a whole sentence, which is long and less often correct."""

SHOWN_FOR_SAFETY = 0.6
"""The same for a sentence about something harmful if unknown."""

COMPARED = 16
"""How many values a prompt embeds to find equivalent ones, if background work learns."""

SUBJECTS = 4
"""The number of subjects with the most facts that are considered, to find the user's name."""


async def profile(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    names: Collection[str] = (),
    schema: type[UserProfile] | None = None,
) -> UserProfile:
    """The user's profile in this session, or in any, with the fields of the profile's type."""
    if schema is not None:
        check_profile_type(schema)
    await learn_before_reading(run, services, scope)
    view = await in_view(run, services, scope)
    known = await knowledge(run, view)
    chosen = schema or services.state(FactsProjection).profile
    own = own_facts(applying(known.facts, scope.session), [*names, *await _called(run, view, known)])
    mine = looked_at(own, chosen)
    return await _united(run, services, mine, chosen)


async def _called(run: Runner, view: View, known: Knowledge) -> list[str]:
    """The user's names in facts: their id, and the name under which they speak, if it is a name.

    It is taken from the first and the last turn about the subjects with the most facts, so the cost is constant.
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
    """The profile as text, as shown in a prompt of this session.

    It is the profile at the start of the session's queue, and stays the same while only the session itself adds facts,
    as its turns are in the prompt: so a provider's prompt cache keeps working. Facts from another session, values that
    are no longer true, and erasures renew it, up to the turn that caused this; so do the newest turns that background
    work has not read yet. The queue begins after ``cursor``; 0 at the first turn.
    """
    own = services.state(FactsProjection)
    view = await in_view(run, services, scope)
    begin = cursor or await _begin(run, view, scope)
    new = await learn_in_a_hurry(run, services, scope) if view.horizon is None else []
    known = await knowledge(run, view)
    names = await _called(run, view, known)
    upto = _renewed(known, max(begin, known.mark[0][0]), scope, names, own.profile)
    count = known.count(upto)
    if not count and not new:
        return ""
    passing = scope.session if scope.session in known.passing else None
    key = (view.owner, known.number, upto, count, max_tokens, passing, *names)
    text = None if new else own.portraits.get(key)
    if text is None:

        async def told(also: Sequence[Event]) -> list[Fact]:
            facts = applying(await run.call(known.standing, upto, also), scope.session)
            return looked_at(own_facts(filter(_sure, facts), names), own.profile)

        mine = await _renewing(told, new, scope)
        most = COMPARED if services.config.learning.background else None
        text = (await _united(run, services, mine, own.profile, most=most)).render(max_tokens, services.count)
        if not new:
            own.portraits.put(key, text)
    return text


async def _renewing(
    told: Callable[[Sequence[Event]], Awaitable[list[Fact]]], new: Sequence[Event], scope: Scope
) -> list[Fact]:
    """The facts with new claims of other sessions, and those of this session that end an earlier fact."""
    others = [event for event in new if scope.session is not None and event.scope.session != scope.session]
    known = await told(others)
    if len(others) == len(new):
        return known
    renewed = await told(new)
    return known if {fact.id for fact in known} <= {fact.id for fact in renewed} else renewed


def _sure(fact: Fact) -> bool:
    whole = SHOWN_FOR_SAFETY if fact.attribute in SAFETY else SHOWN_WHOLE
    return fact.confidence >= (whole if fact.verbatim else SHOWN)


async def _begin(run: Runner, view: View, scope: Scope) -> int:
    """The position before the first turn of the session, or the end of the log."""
    first = await run.call(view.log.read, scope, kinds=(EventKind.MESSAGE,), limit=1)
    last = [] if first else await run.call(view.log.read, scope.owner, limit=1, newest=True)
    if first:
        return first[0].position - 1
    return last[0].position if last else 0


def _renewed(known: Knowledge, begin: int, scope: Scope, names: Collection[str], schema: type[UserProfile]) -> int:
    """The position after which only this session added facts, and everything true then is still true."""
    upto = max(begin, known.told(scope.session) if scope.session else 0)
    late = known.lapses(upto)
    mine = {fact.id for fact in own_facts(applying((fact for fact, _, _ in late), scope.session), names)}
    fields = profile_fields(schema)
    for fact, first, last in sorted(late, key=lambda lapse: lapse[1:]):
        if first <= upto < last and fact.id in mine and any(field.takes(fact.attribute) for field in fields):
            upto = last
    return upto


async def _united(
    run: Runner, services: Services, mine: Collection[Fact], schema: type[UserProfile], *, most: int | None = None
) -> UserProfile:
    """The profile of these facts; values that may be equivalent are compared by meaning, as many as may be embedded."""
    near: dict[str, None] = {}

    def noted(one: str, other: str) -> float:
        near.update({one: None, other: None})
        return 0.0

    plain = profile_of(mine, schema, alike=noted)
    values = list(near)[:most]
    if services.embedder is None or not values:
        return plain
    try:
        rows = await embedding(run, services.embedder.embed_documents, values)
    except ModelError:
        return plain
    rows_of = dict(zip(values, rows, strict=True))

    def alike(one: str, other: str) -> float:
        return float(np.dot(rows_of[one], rows_of[other])) if one in rows_of and other in rows_of else 0.0

    return profile_of(mine, schema, alike=alike)
