"""What a prompt reads of new turns: as many as it waits for. The rest is left to the background, if that learns."""

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
"""Of the newest turns that a prompt waits for: some 50 ms with the local embedder."""

NEWEST = 16
"""Turns among which these are looked for."""


async def learn_in_a_hurry(run: Runner, services: Services, owner: Scope) -> list[Event]:
    """Read new turns as far as a prompt waits for that; returns what else the newest claim, in no log yet.

    That is where more is unread, or more facts stand than it waits for to be compared: then nothing is written, since
    what turns change depends on all before them, and the owner is noted as left to the background. Where that does not
    learn everything is read now, as without a judge, which the background fits first, nothing is.
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
    """The newest unread turns that a prompt waits for, and whether that is all of them."""
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
    """The claims as events, behind all that is written."""
    behind = MAX_POSITION - len(claims)
    return [
        Event(behind + row, one.id, turn.scope, one.kind, one.at, one.payload, one.sources, one.author)
        for row, ((turn, _), one) in enumerate(zip(claims, drafts_of(name, claims), strict=True))
    ]
