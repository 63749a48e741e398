"""``compact``, ``summary``, ``reset``: a session's queue and what stands for the turns before it, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.compression.ledger import render
from hybrid_memory.compression.strategy import Strategy
from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory.flows import session as sessions
from hybrid_memory.flows.assemble import Request
from hybrid_memory.flows.fold import LEDGER_TOKENS, chosen_strategy, fold
from hybrid_memory.flows.history import checked_count
from hybrid_memory.flows.triggers import due, excess
from hybrid_memory.flows.viewing import view
from hybrid_memory.flows.world import World
from hybrid_memory.types import EventKind, Message, Receipt, Scope, Summary, written
from hybrid_memory.types.validation import shown

RACES = 8
"""Times that another process may be faster before we say so."""


async def compact(
    run: Runner, world: World, scope: Scope, *, strategy: str | Strategy | None, keep: int | None, forced: bool = True
) -> Receipt:
    """Fold all but the newest rounds, or, unless ``forced``, what the configured triggers ask for.

    Raises:
        InvalidInputError: no such strategy, or a ``keep`` below 1.
    """
    way = chosen_strategy(world.config.compaction, strategy)
    rounds = world.config.compaction.keep_least if keep is None else checked_count("keep", keep, least=1)
    tokens = world.config.compaction.max_tokens
    for _ in range(RACES):
        session = await sessions.load(run, world, scope)
        if not session.queue.units:
            return Receipt()
        seen = view(world, session, Request(query="?", max_tokens=tokens))
        if forced:
            count = excess(world, seen, tokens, by_tokens=False, rounds=rounds)
        else:
            _, count = await due(run, world, seen, seen.fixed + sum(seen.costs), tokens)
        if not count and not (session.state.retry and world.language_model):
            return Receipt()
        if await fold(run, world, session, count, way):
            return Receipt(folded=sum(len(unit.events) for unit in session.queue.units[:count]))
    raise StoreUnavailableError(f"other processes kept compacting {scope} at the same time: try again")


async def summary(run: Runner, world: World, scope: Scope) -> Summary:
    """What stands for the turns before the queue."""
    state = (await sessions.load(run, world, scope)).state
    artifacts = render(state.ledger, max_tokens=LEDGER_TOKENS, count=world.count) if state.stretches else ""
    lines = written(state.lines) if state.lines else ""
    return Summary(
        lines=state.lines,
        artifacts=state.ledger,
        stretches=state.stretches,
        audit=state.audit,
        latest=state.latest,
        strategy=state.strategy,
        text="\n".join(part for part in (lines, artifacts) if part),
    )


async def conversation(run: Runner, world: World, scope: Scope, limit: int | None) -> list[Message]:
    """The messages that a session shows since it was last reset, folded or not, oldest first."""
    most = None if limit is None else checked_count("limit", limit, least=0)
    resets = await run.call(world.log.read, scope, kinds=(EventKind.RESET,), newest=True, limit=1)
    after = resets[-1].position if resets else 0
    kinds = (EventKind.MESSAGE,)
    events = await run.call(world.log.read, scope, after=after, kinds=kinds, limit=most, newest=True)
    if resets and (most is None or len(events) < most):
        kept = await sessions.at_positions(run, world, scope, sorted(resets[-1].payload["kept"]))
        events = [*kept, *events] if most is None else [*kept, *events][-most:]
    return [event.message for event in events]


async def reset(run: Runner, world: World, scope: Scope, keep: Sequence[str]) -> None:
    """Let the conversation start anew with these messages.

    Raises:
        InvalidInputError: one of the ids is no message of this session.
    """
    if isinstance(keep, str) or not all(isinstance(item, str) for item in keep):
        raise InvalidInputError(f"keep must be a list of message ids, got {shown(keep)}")
    for _ in range(RACES):
        if await sessions.reset(run, world, scope, keep):
            return
    raise StoreUnavailableError(f"other processes kept writing the state of {scope} at the same time: try again")
