"""Compaction: moves the oldest turns of a session into its summary, and the cursor past them, in one write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybrid_memory.artifacts import read_ledger, render
from hybrid_memory.context import queue as queues
from hybrid_memory.context.lines import SummaryRoom
from hybrid_memory.context.lines import shown as shown_lines
from hybrid_memory.context.projection import costs_of
from hybrid_memory.context.queue import QueueState, Session, Unit
from hybrid_memory.context.request import PromptRequest
from hybrid_memory.context.strategies import Strategy, SummaryJob, resolve_strategy
from hybrid_memory.context.summarise import audited, remaining, summarise
from hybrid_memory.context.summary import Summary, written
from hybrid_memory.context.triggers import excess
from hybrid_memory.context.view import view
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.log.port import Receipt
from hybrid_memory.log.views import Stretches, outermost, within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_count

MAX_STRETCHES = 64
"""A state stores all its stretches: beyond this many, each compaction joins the two oldest."""

RACES = 8
"""How often another process may be faster before the call fails."""

STANDING = 3
"""The summary keeps this many times the lines that fit into a prompt, so that displaced lines can return."""

FRESH_RATIO = 0.3
"""The lines for a span take at most this share of its tokens, but may always take `LEAST_FRESH`."""

LEAST_FRESH = 120
LEAST_SHOWN = 50

LEDGER_TOKENS = 20_000
"""Tokens of the ledger when checking what a model dropped; a prompt shows what fits."""


async def compact(
    run: Runner, services: Services, scope: Scope, *, strategy: str | Strategy | None, keep: int | None
) -> Receipt:
    """Compact all but the newest rounds.

    Raises:
        InvalidInputError: the strategy does not exist, or ``keep`` is below 1.
    """
    services = await in_view(run, present(services), scope)
    settings = services.config.compaction
    # To look for a name among installed packages reads files.
    way = await run.call(resolve_strategy, settings.strategy if strategy is None else strategy)
    rounds = settings.keep_least if keep is None else checked_count("keep", keep, least=1)
    request = PromptRequest(query="?", max_tokens=settings.max_tokens)
    await run.call(services.count, "")  # a counter may have tables to load, off the event loop
    for _ in range(RACES):
        session = await queues.load(run, services, scope)
        if not session.queue.units:
            return Receipt()
        seen = view(session, costs_of(services), settings, request, session.state.lines)
        count = excess(services, seen, settings.max_tokens, by_tokens=False, rounds=rounds)
        if not count:
            return Receipt()
        if await compact_units(run, services, session, count, max_tokens=settings.max_tokens, strategy=way):
            return Receipt(compacted=len(fresh_events(session, compactable(session.queue.units, count)[0])))
    raise StoreUnavailableError(f"other processes kept compacting {scope} at the same time: try again")


def _compacts(span: Span, given: Given) -> None:
    session: Session = given["session"]
    units, _rest = compactable(session.queue.units, given["count"])
    model = given["ask"] and given["services"].language_model is not None
    span.attributes |= {"messages": len(fresh_events(session, units)), "model": model}
    span.content["scope"] = session.scope


def _compacted(span: Span, written: bool) -> None:
    span.attributes["written"] = written


@traced("compact", _compacts, _compacted)
async def compact_units(
    run: Runner,
    services: Services,
    session: Session,
    count: int,
    *,
    max_tokens: int,
    strategy: Strategy | None = None,
    ask: bool = True,
) -> bool:
    """Compact the oldest ``count`` units of the queue; False if another process was faster, and nothing changed.

    ``max_tokens`` is the budget of the prompts that the summary is for. Without ``ask``, no model is called.
    """
    way = strategy or resolve_strategy(services.config.compaction.strategy)
    old = session.state
    units, rest = compactable(session.queue.units, count)
    span = [event for event in fresh_events(session, units) if event.message.event != PRESSURE]
    state = old
    if span:
        models = services if ask else replace(services, language_model=None, compressor=None)
        state = await _summarised(run, models, way, old, span, max_tokens=max_tokens)
    # The opening instructions stay, and turns kept by a reset that are not compacted yet.
    left = {event.position for unit in rest for event in unit.events}
    opening = {event.position for unit in session.queue.instructions for event in unit.events}
    # The user's turn to which the first remaining units belong, if they do not begin with one.
    anchor = 0
    if rest and not rest[0].opens:
        anchor = next((unit.events[0].position for unit in reversed(units) if unit.opens), 0)
    state = replace(
        state,
        number=old.number + 1,
        cursor=max([old.cursor, *(unit.last for unit in units)]),
        kept=tuple(sorted(opening | {position for position in old.kept if position in left})),
        anchor=anchor if units else old.anchor,
        strategy=way.name if span else old.strategy,
        episode=old.number + 1 if span else old.episode,
    )
    return await queues.write_state(
        run, services, session, state, kind=EventKind.COMPACTION, payload=state.as_payload()
    )


def compactable(units: Sequence[Unit], count: int) -> tuple[Sequence[Unit], Sequence[Unit]]:
    """The oldest ``count`` units with what the cursor then passes, as an orphan may be inside an exchange; the rest.

    Fewer if the cursor would pass what must stay: the user's last turn, or everything that a model sees.
    """
    question = next((row for row in reversed(range(len(units))) if units[row].opens), -1)
    newest = next((row for row in reversed(range(len(units))) if units[row].shown), -1)
    while True:
        passed = count
        cursor = max((unit.last for unit in units[:count]), default=0)
        while passed < len(units) and units[passed].first <= cursor:
            passed += 1
        if not (count and (count <= question < passed or count <= newest < passed)):
            return units[:passed], units[passed:]
        count -= 1


def fresh_events(session: Session, units: Sequence[Unit]) -> list[Event]:
    """The events of these units that were not compacted before, by position."""
    state = session.state
    fresh = [
        event
        for unit in units
        for event in unit.events
        if event.position in state.kept
        or (event.position > state.cursor and not within(event.position, state.stretches))
    ]
    return sorted(fresh, key=lambda event: event.position)


async def _summarised(
    run: Runner, services: Services, way: Strategy, state: QueueState, span: Sequence[Event], *, max_tokens: int
) -> QueueState:
    """The state with this span in its summary, ledger, stretches and audit."""
    settings, count = services.config.compaction, services.count
    shown = max(LEAST_SHOWN, int(settings.summary_ratio * max_tokens))
    room = SummaryRoom(
        standing=STANDING * shown,
        shown=shown,
        fresh=max(LEAST_FRESH, min(shown, int(FRESH_RATIO * sum(count(event.message.text) for event in span)))),
        count=count,
        cleaning=services.config.cleaning,
    )
    ledger = read_ledger([event.message for event in span], state.ledger)
    job = SummaryJob(state.lines, span, room)
    made = await summarise(run, services, way, job, render(ledger, max_tokens=LEDGER_TOKENS, count=count))
    space = int(settings.artifact_ratio * max_tokens)
    files = render(ledger, max_tokens=space, count=count)
    lines = shown_lines(made.lines, max_tokens=shown, spare=space - count(files), count=count)
    report = replace(audited(span, lines, made.fresh, files), fallbacks=int(made.failed), filled=made.filled)
    return replace(
        state,
        lines=tuple(made.lines),
        ledger=ledger,
        stretches=_stretches(state, span),
        audit=remaining(state.audit, lines, sorted(state.stretches)) + report,
        latest=report,
    )


def _stretches(state: QueueState, span: Sequence[Event]) -> Stretches:
    """The compacted stretches with this span: one after the cursor; turns kept by a reset or edited may add others."""
    apart = [event.position for event in span if event.position <= state.cursor or event.message.replaces]
    new = [event.position for event in span if event.position not in apart]
    stretches = (*state.stretches, *([(new[0], new[-1])] if new else []), *((place, place) for place in apart))
    if len(stretches) > MAX_STRETCHES:
        stretches = outermost(sorted(stretches, key=lambda stretch: (stretch[0], -stretch[1])))
    while len(stretches) > MAX_STRETCHES:
        stretches = ((stretches[0][0], stretches[1][1]), *stretches[2:])
    return stretches


async def summary(run: Runner, services: Services, scope: Scope) -> Summary:
    """The summary of the turns before the queue."""
    await run.call(services.count, "")
    services = await in_view(run, services, scope)
    state = await queues.state_of(run, services, scope)
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
    )
