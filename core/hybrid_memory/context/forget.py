"""What `forget` does to summaries: each revision is written anew without the turns that are destroyed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.artifacts import merge, read_on
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.state import Attempt, QueueState
from hybrid_memory.context.summaries.lines import candidates
from hybrid_memory.context.summary import Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


async def rewritten_summary(
    run: Runner, services: Services, event: Event, turns: Sequence[Event], counts: Counter[str]
) -> dict[str, Any] | None:
    """A revision of a session's summary as if the turns had never been, counting what changes; None if it stays."""
    places = {turn.position for turn in turns}
    state = QueueState.of(event)
    covered = [place for place in places if any(first <= place <= last for first, last in state.stretches)]
    if not covered and not places.intersection(state.kept):
        return None
    session = event.scope
    gone = {turn.id for turn in turns if turn.scope == session}
    lines = [await _rewritten(run, services, session, line, gone) for line in state.lines]
    kept = [line for line in lines if line is not None]
    counts["summary lines"] += len(lines) - len(kept)
    anew = [new for new, old in zip(lines, state.lines, strict=True) if new is not None and new != old]
    counts["summary lines rewritten"] += len(anew)
    counts["summaries rewritten"] += 1
    state = replace(
        state,
        lines=tuple(dict.fromkeys(kept)),
        ledger=await _ledger(run, services, session, state, lambda position: position not in places),
        kept=tuple(place for place in state.kept if place not in places),
        anchor=0 if state.anchor in places else state.anchor,
        retry=tuple(_remaining(state.retry, places)),
    )
    return state.as_payload()


async def _rewritten(run: Runner, services: Services, session: Scope, line: Line, gone: set[str]) -> Line | None:
    """The line, or what the turns that remain of its sources say in their own words, or None if none remains."""
    if not gone.intersection(line.sources):
        return line
    left = [source for source in line.sources if source not in gone]
    events = await run.call(services.truth.get, session, left) if left else []
    said = [event for event in events if event.kind is EventKind.MESSAGE]
    offered = candidates(said, services.config.cleaning)
    best = max(offered, key=lambda other: (other.section is line.section, other.importance), default=None)
    return None if best is None else replace(best, section=line.section)


async def _ledger(
    run: Runner, services: Services, session: Scope, state: QueueState, stays: Callable[[int], bool]
) -> Ledger:
    """The ledger over the turns that stay."""
    ledger = Ledger()
    for first, last in state.stretches:
        events = await run.call(services.truth.read, session, after=first - 1, upto=last, kinds=(EventKind.MESSAGE,))
        messages = [event.message for event in events if stays(event.position)]
        ledger = merge(ledger, read_on(ledger, messages))
    return ledger


def _remaining(attempts: Sequence[Attempt], places: set[int]) -> list[Attempt]:
    left = [replace(a, positions=tuple(p for p in a.positions if p not in places)) for a in attempts]
    return [attempt for attempt in left if attempt.positions]
