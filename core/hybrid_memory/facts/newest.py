"""Extracts facts from the newest turns, as many as a prompt waits for; background work does the rest, if enabled."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.facts.authority import heard
from hybrid_memory.facts.fact import Claim, FactExtractor
from hybrid_memory.facts.hearing import earlier_of
from hybrid_memory.facts.learn import Extractors, claims_of, cursors_of, drafts_of, learn, left_for_later, read_upto
from hybrid_memory.facts.sentences.changes import LOOKED_AT
from hybrid_memory.facts.sentences.judges import awaited
from hybrid_memory.facts.sentences.reading import SentenceReader, said_in
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.visible import MAX_POSITION
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

SENTENCES = 8
"""How many sentences of the newest turns a prompt waits for: about 50 ms with the local embedder."""

NEWEST = 16
"""Number of turns searched for them."""


async def learn_in_a_hurry(run: Runner, services: Services, owner: Scope) -> list[Event]:
    """Read new turns as far as a prompt waits for that; returns further claims that are not in the log yet.

    There are such claims if more is unread, or more facts would be compared, than a prompt waits for. Then nothing is
    written, since the changes by a turn depend on everything before it, and the owner is left to background work. If
    that does not extract facts, everything is read now. Without a judge, which background work fits first, nothing is
    read.
    """
    extractors = services.state(Extractors)
    rules = extractors.rules
    if rules is None or services.read_only:
        return []
    with left_for_later(owner):
        if not services.config.learning.background:
            await learn(run, services, owner)
        elif not await _awaits_a_judge(run, services, rules):
            turns, whole = await _newest(run, services, owner.owner, rules)
            earlier = await earlier_of(run, services, owner.owner, rules) if turns else []
            if not whole or len(earlier) > LOOKED_AT:
                extractors.left.add(owner.owner)
                claims = await claims_of(run, services, owner.owner, rules, turns, earlier=earlier[-LOOKED_AT:])
                return _unwritten(rules.name, claims)
            if turns:
                await learn(run, services, owner)
    return []


async def _awaits_a_judge(run: Runner, services: Services, rules: FactExtractor) -> bool:
    if services.embedder is None or not isinstance(rules, SentenceReader):
        return False
    return await run.call(awaited, services.embedder)


async def _newest(run: Runner, services: Services, owner: Scope, rules: FactExtractor) -> tuple[list[Event], bool]:
    """The newest unread turns that a prompt waits for, and whether these are all."""
    _, cursors = await cursors_of(run, services, owner)
    unread = await run.call(
        services.truth.read,
        owner,
        after=read_upto(rules, cursors),
        kinds=(EventKind.MESSAGE,),
        limit=NEWEST + 1,
        newest=True,
    )
    first, room = len(unread), SENTENCES
    while first > max(0, len(unread) - NEWEST):
        room -= len(said_in(heard(unread[first - 1 : first]), ()))
        if room < 0:
            break
        first -= 1
    return unread[first:], first == 0


def _unwritten(name: str, claims: Sequence[tuple[Event, Claim]]) -> list[Event]:
    """The claims as events, after everything written."""
    behind = MAX_POSITION - len(claims)
    return [
        Event(behind + row, one.id, turn.scope, one.kind, one.at, one.payload, one.sources, one.author)
        for row, ((turn, _), one) in enumerate(zip(claims, drafts_of(name, claims), strict=True))
    ]
