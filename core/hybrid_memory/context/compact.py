"""``compact``, ``summary``, ``reset``: a session's queue and what stands for the turns before it, by hand."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hybrid_memory.artifacts import render
from hybrid_memory.context import session as sessions
from hybrid_memory.context.fold import LEDGER_TOKENS, chosen_strategy, fold, folding, fresh_events, retries
from hybrid_memory.context.request import Request
from hybrid_memory.context.session import costs_of
from hybrid_memory.context.summaries.strategy import Strategy
from hybrid_memory.context.summary import Summary, written
from hybrid_memory.context.triggers import excess
from hybrid_memory.context.view import view
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import Message
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.reading import at_positions, placed
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_count, shown

RACES = 8
"""Times that another process may be faster before we say so."""


async def compact(
    run: Runner, services: Services, scope: Scope, *, strategy: str | Strategy | None, keep: int | None
) -> Receipt:
    """Fold all but the newest rounds.

    Raises:
        InvalidInputError: no such strategy, or a ``keep`` below 1.
    """
    services = await in_view(run, present(services), scope)
    way = chosen_strategy(services.config.compaction, strategy)
    rounds = services.config.compaction.keep_least if keep is None else checked_count("keep", keep, least=1)
    tokens = services.config.compaction.max_tokens
    await run.call(services.count, "")  # a counter may have tables to load, off the event loop
    for _ in range(RACES):
        session = await sessions.load(run, services, scope)
        if not session.queue.units:
            return Receipt()
        seen = view(
            session,
            costs_of(services),
            services.config.compaction,
            Request(query="?", max_tokens=tokens),
            session.state.lines,
        )
        count = excess(services, seen, tokens, by_tokens=False, rounds=rounds)
        if not count and not retries(services, session):
            return Receipt()
        if await fold(run, services, session, count, max_tokens=tokens, strategy=way):
            return Receipt(folded=len(fresh_events(session, folding(session.queue.units, count)[0])))
    raise StoreUnavailableError(f"other processes kept compacting {scope} at the same time: try again")


async def summary(run: Runner, services: Services, scope: Scope) -> Summary:
    """What stands for the turns before the queue."""
    await run.call(services.count, "")
    services = await in_view(run, services, scope)
    state = await sessions.state_of(run, services, scope)
    sources = list(dict.fromkeys(source for line in state.lines for source in line.sources))
    events = await run.call(services.log.get, scope, sources) if sources else []
    artifacts = render(state.ledger, max_tokens=LEDGER_TOKENS, count=services.count) if state.stretches else ""
    lines = written(state.lines) if state.lines else ""
    return Summary(
        lines=state.lines,
        artifacts=state.ledger,
        stretches=state.stretches,
        audit=state.audit,
        latest=state.latest,
        strategy=state.strategy,
        text="\n".join(part for part in (lines, artifacts) if part),
        said={event.id: event.message for event in events if event.kind is EventKind.MESSAGE},
    )


async def conversation(run: Runner, services: Services, scope: Scope, limit: int | None) -> list[Message]:
    """The messages that a session shows since it was last reset, folded or not, oldest first."""
    most = None if limit is None else checked_count("limit", limit, least=0)
    services = await in_view(run, services, scope)
    # A handle without a session reads every session; only a reset of its own counts.
    only = None if scope.session is None else 1
    found = await run.call(services.log.read, scope, kinds=(EventKind.RESET,), newest=True, limit=only)
    resets = [event for event in found if event.scope.session == scope.session]
    after = resets[-1].position if resets else 0
    kinds = (EventKind.MESSAGE,)
    # An edited message stands behind others in the log, but not in the conversation.
    more = None if most is None else most + len(services.superseded)
    events = await run.call(services.log.read, scope, after=after, kinds=kinds, limit=more, newest=True)
    kept = resets[-1].payload["kept"] if resets else []
    if resets and (most is None or len(events) < most):
        events = [*await at_positions(run, services, scope, sorted(kept)), *events]
    events = placed(events, after, kept)
    return [event.message for event in (events if most is None else events[max(0, len(events) - most) :])]


async def reset(run: Runner, services: Services, scope: Scope, keep: Any) -> None:
    """Let the conversation start anew with these messages.

    Raises:
        InvalidInputError: one of the ids is no message of this session.
    """
    if isinstance(keep, str) or not isinstance(keep, Collection) or not all(isinstance(item, str) for item in keep):
        raise InvalidInputError(f"keep must be a list of message ids, got {shown(keep)}")
    services = await in_view(run, present(services), scope)
    there = {
        event.id for event in await run.call(services.log.get, scope, list(keep)) if event.kind is EventKind.MESSAGE
    }
    if missing := [item for item in keep if item not in there]:
        raise InvalidInputError(f"no message of {scope} has the id {missing[0]!r}: keep ids from history()")
    for _ in range(RACES):
        if await sessions.reset(run, services, scope, list(keep)):
            return
    raise StoreUnavailableError(f"other processes kept writing the state of {scope} at the same time: try again")
