"""``facts``, ``profile``: what follows from everything that was claimed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from hybrid_memory.context.queue import Session
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.attributes import attribute as attribute_of
from hybrid_memory.facts.currency import Outdated
from hybrid_memory.facts.fact import Category, Claim, Fact
from hybrid_memory.facts.learn import learn
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profile_schema import profile_fields
from hybrid_memory.facts.profiling import own_facts, profile_of
from hybrid_memory.facts.resolving import SETTLED, resolve
from hybrid_memory.facts.values import normalised
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Role
from hybrid_memory.log.port import Draft
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import trust
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.reading import at_positions
from hybrid_memory.store.services import Knowledge, Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import shown

MARKS = (EventKind.CLAIM, EventKind.ERASED)
"""Kinds of events after which facts are others than before."""

SUBJECTS = 4
"""Of whom most is known: among them is who speaks."""


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
    await learn(run, services, scope)
    return [
        fact
        for fact in await resolved(run, await in_view(run, services, scope), scope)
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


async def outdated(run: Runner, services: Services, scope: Scope) -> Outdated:
    """What the facts that were learned so far say is no longer so; ``services`` as `in_view` gives them."""
    return (await _known(run, services, scope)).outdated


async def resolved(run: Runner, services: Services, scope: Scope) -> list[Fact]:
    """All facts of the owner with their history, as far as the turns were read; ``services`` in view."""
    return (await _known(run, services, scope)).facts


async def _known(run: Runner, services: Services, scope: Scope) -> Knowledge:
    mark = await _mark(run, services, scope)
    if not mark[0]:
        return Knowledge(mark, [], Outdated())
    key = (scope.owner, services.hidden, services.horizon)
    there = services.facts.get(key)
    if there is not None and there.mark == mark:
        return there
    claims = await _claims(run, services, scope)
    trusted = await trust(run, services, scope)
    found = resolve(claims, rule=services.config.learning.conflicts, trust=trusted)
    told = sorted((_place(event), "" if _settles(event) else event.scope.session or "") for event in claims)
    known = Knowledge(mark, found, Outdated.of(found), tuple(told))
    services.facts.put(key, known)
    return known


async def _claims(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """The claims that are visible: with their turns, however late these were read."""
    before = None if services.horizon is None else services.horizon.before
    return [
        event
        for event in await run.call(services.truth.read, scope.owner, kinds=(EventKind.CLAIM,))
        if visible(_place(event), services.hidden) and (before is None or event.at < before)
    ]


def _place(event: Event) -> int:
    """Where in the log a claim belongs: to its turn, and one that settles to itself."""
    return event.position if _settles(event) else int(event.payload["source"])


def _settles(event: Event) -> bool:
    return bool(event.payload["by"] == SETTLED)


async def _mark(run: Runner, services: Services, scope: Scope) -> tuple[int, ...]:
    """The last positions of the events that facts depend on."""
    # In a space it also counts who is trusted how much.
    kinds = MARKS if scope.space is None else (*MARKS, EventKind.GRANT)
    return tuple([await _newest(run, services, scope, kind) for kind in kinds])


async def _newest(run: Runner, services: Services, scope: Scope, kind: EventKind) -> int:
    """Position of the owner's last event of a kind; 0 without one."""
    found = await run.call(services.truth.read, scope.owner, kinds=(kind,), limit=1, newest=True)
    return found[0].position if found else 0


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
    await learn(run, services, scope)
    seen = await in_view(run, services, scope)
    known = await _known(run, seen, scope)
    mine = own_facts(known.facts, [*names, *await _called(run, seen, scope, known)])
    return profile_of(mine, schema or services.profile, alike=await _alike(run, services, mine))


async def _called(run: Runner, services: Services, scope: Scope, known: Knowledge) -> list[str]:
    """What the user is called in facts: their id, and the one name under which they speak; of several names none.

    It is read off the first and the last turn behind the subjects of which most is known, so the cost is flat.
    """
    ids = [scope.user] if scope.user else []
    if scope.space is not None:
        return ids
    about: dict[str, list[int]] = {}
    for fact in known.facts:
        about.setdefault(fact.subject, []).extend(fact.positions)
    most = sorted(about.values(), key=lambda places: (-len(places), places))[:SUBJECTS]
    places = sorted({place for places in most for place in (min(places, default=0), max(places, default=0))})
    key = (scope.owner, tuple(places), known.mark[1])
    name = services.portraits.get(key)
    if name is None:
        turns = await at_positions(run, services, scope.owner, places)
        said = [turn.message for turn in turns if turn.kind is EventKind.MESSAGE]
        names = {message.name or "" for message in said if message.role is Role.USER}
        name = names.pop() if len(names) == 1 else ""
        services.portraits.put(key, name)
    return [*ids, name] if name else ids


async def portrait(run: Runner, services: Services, session: Session, max_tokens: int) -> str:
    """The profile as text, as a prompt of this session shows it.

    It is that of the log where the queue of the session begins, and stays so while nothing but the session itself
    tells more, for its turns stand in the prompt: a provider's prompt cache keeps working. What another session told
    since, a value that is no longer so, and an erasure renew it, up to the turn that did so.
    """
    begin = await _begin(run, services, session)
    if services.horizon is None:
        await learn(run, services, session.scope)
    seen = await in_view(run, services, session.scope)
    known = await _known(run, seen, session.scope)
    names = await _called(run, seen, session.scope, known)
    upto = _renewed(known, max(begin, known.mark[1]), session.scope, own_facts(known.facts, names), services.profile)
    count = bisect_right(known.told, upto, key=lambda told: told[0])
    if not count:
        return ""
    key = (session.scope.owner, seen.hidden, services.horizon, upto, count, known.mark[1:], max_tokens, *names)
    text = services.portraits.get(key)
    if text is None:
        claims = [event for event in await _claims(run, seen, session.scope) if _place(event) <= upto]
        trusted = await trust(run, seen, session.scope)
        mine = own_facts(resolve(claims, rule=services.config.learning.conflicts, trust=trusted), names)
        shown_so = profile_of(mine, services.profile, alike=await _alike(run, services, mine))
        text = shown_so.render(max_tokens, services.count)
        services.portraits.put(key, text)
    return text


async def _begin(run: Runner, services: Services, session: Session) -> int:
    """The position before the queue of the session."""
    if session.state.cursor:
        return session.state.cursor
    first = await run.call(services.log.read, session.scope, kinds=(EventKind.MESSAGE,), limit=1)
    last = [] if first else await run.call(services.log.read, session.scope.owner, limit=1, newest=True)
    return first[0].position - 1 if first else last[0].position if last else 0


def _renewed(known: Knowledge, begin: int, scope: Scope, mine: Iterable[Fact], schema: type[UserProfile]) -> int:
    """The position from which on nothing but this session told more, and all that was so then is so now."""
    elsewhere = (place for place, session in reversed(known.told) if session != scope.session)
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
    places = {value: place for place, value in enumerate(values)}
    return lambda one, other: float(np.dot(rows[places[one]], rows[places[other]]))


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
    draft = Draft(
        id=services.new_id(),
        fixed_id=False,
        session=scope.session,
        kind=EventKind.CLAIM,
        at=services.clock(),
        payload=claim.as_payload(),
        sources=(fact.sources[-1],),
        author=services.author,
    )
    (appended,) = await run.call(services.truth.append, scope.owner, [draft])
    return Receipt(ids=(appended.id,), positions=(appended.position,), learned=1)
