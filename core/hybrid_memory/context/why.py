"""``why``: from a fact, a profile field, a summary line or a hit back to the turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hybrid_memory.context.summary import Line
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation, Fact
from hybrid_memory.facts.facts import FactsProjection, facts, knowledge
from hybrid_memory.facts.sheet import profile
from hybrid_memory.index.record import RecordKind
from hybrid_memory.log.event import EventKind, handle
from hybrid_memory.log.message import Message
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import origin
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_view
from hybrid_memory.validation import shown

MAX_CHAIN = 20
"""The most facts shown of a chain of replacements."""


async def why(run: Runner, services: Services, scope: Scope, what: Any) -> Explanation:
    """What it is, how it was extracted, what it replaced, and the original words.

    Raises:
        InvalidInputError: it is none of these, or not of this owner.
    """
    if isinstance(what, Fact):
        known = {fact.id: fact for fact in await facts(run, services, scope, history=True)}
        if what.id not in known:
            raise InvalidInputError(f"{scope.owner} has no such fact: {what!r}")
        return await _of_fact(run, services, scope, known[what.id], known)
    if isinstance(what, Hit):
        return await _of_hit(run, services, scope, what)
    if isinstance(what, Line):
        return await _of_line(run, services, scope, what)
    if isinstance(what, str) and what in services.state(FactsProjection).profile.model_fields:
        return await _of_field(run, services, scope, what)
    fields = ", ".join(services.state(FactsProjection).profile.model_fields)
    raise InvalidInputError(f"give a fact, a hit, a summary line or a profile field ({fields}), got {shown(what)}")


async def _of_fact(run: Runner, services: Services, scope: Scope, fact: Fact, known: dict[int, Fact]) -> Explanation:
    chain = _chain(fact, known)
    told = [part for one in chain for part in one.positions]
    steps = [_described(fact), *(f"replaced {_described(old)}" for old in chain[1:] if old.id not in fact.rivals)]
    if fact.superseded_by in known:
        steps.append(f"replaced by {_described(known[fact.superseded_by])}")
    steps += [f"disputed with {_described(known[rival])}" for rival in fact.rivals if rival in known]
    return Explanation(
        about=str(fact), steps=tuple(steps), turns=await _turns(run, services, scope, told), facts=tuple(chain)
    )


def _chain(fact: Fact, known: dict[int, Fact]) -> list[Fact]:
    """The fact and those it replaced, newest first."""
    chain = [fact]
    while len(chain) < MAX_CHAIN and (before := known.get(chain[-1].supersedes or 0)) is not None:
        chain.append(before)
    return chain


def _described(fact: Fact) -> str:
    until = "" if fact.valid_to is None else f" to {fact.valid_to:%Y-%m-%d}"
    author = f", written by {fact.author}" if fact.author else ""
    return (
        f"{fact.value!r}: {fact.state}, from {fact.valid_from:%Y-%m-%d}{until}, confidence {fact.confidence:.2f}, "
        f"extracted by {', '.join(fact.by) or 'hand'}{author}"
    )


async def _of_hit(run: Runner, services: Services, scope: Scope, hit: Hit) -> Explanation:
    home = await origin(run, services, scope, hit.record.scope, "why")
    view = await in_view(run, services, home)
    known = (await knowledge(run, view)).facts
    place = hit.record.turn if hit.record.kind is RecordKind.MEDIA else hit.record.id
    behind = [
        fact
        for fact in known
        if place in fact.records or (hit.record.kind in {RecordKind.TURN, RecordKind.MEDIA} and place in fact.positions)
    ]
    steps = [hit.why(), *(f"{'says' if fact.current else 'once said'} {_described(fact)}" for fact in behind)]
    turns = await _turns(run, services, home, [hit.record.turn])
    return Explanation(about=repr(hit), steps=tuple(steps), turns=turns, facts=tuple(behind))


async def _of_line(run: Runner, services: Services, scope: Scope, line: Line) -> Explanation:
    view = await in_view(run, services, scope)
    events = await run.call(view.log.get, scope, list(line.sources))
    if not events:
        raise InvalidInputError(f"{scope} has no turn behind {line!r}")
    words = "word for word" if line.coverage == 1 else f"{line.coverage:.0%} in the words of the turns"
    steps = (f"summarises {line.handle} in {line.section}, importance {line.importance:.2f}, {words}",)
    positions = [event.position for event in events]
    return Explanation(about=line.text, steps=steps, turns=await _turns(run, services, scope, positions))


async def _of_field(run: Runner, services: Services, scope: Scope, field: str) -> Explanation:
    mine = await profile(run, services, scope)
    known = {fact.id: fact for fact in await facts(run, services, scope, history=True)}
    behind = [known[number] for entry in mine.history(field) for number in entry.facts if number in known]
    positions = [position for fact in behind for position in fact.positions]
    return Explanation(
        about=f"{field}: {getattr(mine, field)!r}",
        steps=tuple(_described(fact) for fact in behind) or ("nothing was said about it",),
        turns=await _turns(run, services, scope, positions),
        facts=tuple(behind),
    )


async def _turns(
    run: Runner, services: Services, scope: Scope, positions: Iterable[int]
) -> tuple[tuple[str, Message], ...]:
    view = await in_view(run, services, scope)
    events: Sequence[Any] = await at_positions(run, view, scope.owner, sorted(set(positions)))
    messages = [event for event in events if event.kind is EventKind.MESSAGE]
    return tuple((handle(event.position, event.position), event.message) for event in messages)
