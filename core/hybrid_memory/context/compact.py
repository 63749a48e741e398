"""Compaction: moves the oldest turns of a session into its summary, and the cursor past them, in one write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hybrid_memory.artifacts import read_ledger, render
from hybrid_memory.context import session as sessions
from hybrid_memory.context.queue import Session, Unit
from hybrid_memory.context.request import PromptRequest
from hybrid_memory.context.session import costs_of, write_state
from hybrid_memory.context.state import Attempt, QueueState
from hybrid_memory.context.summaries.asked_about import asked_about
from hybrid_memory.context.summaries.lines import shown as shown_lines
from hybrid_memory.context.summaries.strategy import Strategy, SummaryJob, SummaryRoom, resolve_strategy
from hybrid_memory.context.summaries.summarise import again, audited, remaining, summarise
from hybrid_memory.context.summary import Summary, written
from hybrid_memory.context.triggers import excess, retries
from hybrid_memory.context.view import view
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import Stretches, outermost, within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_view, present
from hybrid_memory.validation import checked_count

MAX_STRETCHES = 64
JOIN_TRIES = 4
"""A state stores all its stretches: beyond this many, each compaction merges the oldest ones."""

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

ATTEMPTS = 3
"""How often a model is asked about a span before its deterministic summary becomes final."""


async def compact(
    run: Runner, services: Services, scope: Scope, *, strategy: str | Strategy | None, keep: int | None
) -> Receipt:
    """Compact all but the newest rounds.

    Raises:
        InvalidInputError: the strategy does not exist, or ``keep`` is below 1.
    """
    services = await in_view(run, present(services), scope)
    # To look for a name among installed packages reads files.
    way = await run.call(resolve_strategy, services.config.compaction.strategy if strategy is None else strategy)
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
            PromptRequest(query="?", max_tokens=tokens),
            session.state.lines,
        )
        count = excess(services, seen, tokens, by_tokens=False, rounds=rounds)
        if not count and not retries(services, session):
            return Receipt()
        if await compact_units(run, services, session, count, max_tokens=tokens, strategy=way):
            return Receipt(compacted=len(fresh_events(session, compactable(session.queue.units, count)[0])))
    raise StoreUnavailableError(f"other processes kept compacting {scope} at the same time: try again")


async def summary(run: Runner, services: Services, scope: Scope) -> Summary:
    """The summary of the turns before the queue."""
    await run.call(services.count, "")
    services = await in_view(run, services, scope)
    state = await sessions.state_of(run, services, scope)
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

    ``max_tokens`` is the budget of the prompts that the summary is for. A count of 0 only retries a span on which the
    model failed before. Without ``ask``, no model is called now; `retries` then says that one should be.
    """
    way = strategy or resolve_strategy(services.config.compaction.strategy)
    old = session.state
    units, rest = compactable(session.queue.units, count)
    span = [event for event in fresh_events(session, units) if event.message.event != PRESSURE]
    settings = services.config.compaction
    shown = max(LEAST_SHOWN, int(settings.summary_ratio * max_tokens))
    listed = int(settings.artifact_ratio * max_tokens)
    state = await _retried(run, services, session, way, shown=shown, listed=listed) if ask else old
    if span:
        worth = await asked_about(run, services, session.scope, span)
        job = SummaryJob(state.lines, span, space(services, span, shown), worth)
        state = await _summarised(run, services, way, state, job, listed=listed, ask=ask)
    state = replace(
        state,
        number=old.number + 1,
        cursor=max([old.cursor, *(unit.last for unit in units)]),
        kept=_kept(session, rest),
        anchor=_anchor(units, rest) if units else old.anchor,
        strategy=way.name if span else old.strategy,
        episode=old.number + 1 if span else old.episode,
    )
    state = replace(state, stretches=await _fewer(run, services, session.scope, state.stretches))
    payload = state.as_payload()
    return await write_state(run, services, session, state, kind=EventKind.COMPACTION, payload=payload)


def compactable(units: Sequence[Unit], count: int) -> tuple[Sequence[Unit], Sequence[Unit]]:
    """The oldest ``count`` units, the rest, and what the cursor passes: an orphan may be inside an exchange.

    Fewer if the cursor would pass what must stay: the user's last turn, or everything that a model sees.
    """
    question = next((row for row in reversed(range(len(units))) if units[row].opens), -1)
    newest = next((row for row in reversed(range(len(units))) if units[row].shown), -1)
    passed = _passed(units, count)
    while count and (count <= question < passed or count <= newest < passed):
        count -= 1
        passed = _passed(units, count)
    return units[:passed], units[passed:]


def _passed(units: Sequence[Unit], count: int) -> int:
    """How many units come before the cursor if this many are compacted."""
    cursor = max((unit.last for unit in units[:count]), default=0)
    while count < len(units) and units[count].first <= cursor:
        count += 1
    return count


def fresh_events(session: Session, units: Sequence[Unit]) -> list[Event]:
    """The events of these units that were not compacted before, by position."""
    state = session.state
    events = [event for unit in units for event in unit.events]
    fresh = [
        event
        for event in events
        if event.position in state.kept
        or (event.position > state.cursor and not within(event.position, state.stretches))
    ]
    return sorted(fresh, key=lambda event: event.position)


def space(services: Services, span: Sequence[Event], shown: int) -> SummaryRoom:
    """The budget of the summary after this span, given the tokens a prompt has for it."""
    tokens = sum(services.count(event.message.text) for event in span)
    return SummaryRoom(
        standing=STANDING * shown,
        shown=shown,
        fresh=max(LEAST_FRESH, min(shown, int(FRESH_RATIO * tokens))),
        count=services.count,
        cleaning=services.config.cleaning,
    )


async def _summarised(
    run: Runner, services: Services, way: Strategy, state: QueueState, job: SummaryJob, *, listed: int, ask: bool
) -> QueueState:
    span = job.span
    ledger = read_ledger([event.message for event in span], state.ledger)
    shown = render(ledger, max_tokens=LEDGER_TOKENS, count=services.count)
    asked = services if ask else replace(services, language_model=None, compressor=None)
    written = await summarise(run, asked, way, job, shown)
    lines = shown_lines(written.lines, max_tokens=job.room.shown, count=services.count)
    files = render(ledger, max_tokens=listed, count=services.count)
    report = replace(audited(span, lines, written.fresh, files), fallbacks=int(written.failed), filled=written.filled)
    earlier = remaining(state.audit, lines, sorted(state.stretches))
    missed = []
    unasked = not ask and services.language_model is not None
    if (written.failed or unasked) and way.asks_again:
        missed.append(Attempt(tuple(event.position for event in span), int(written.failed), report))
    return replace(
        state,
        lines=tuple(written.lines),
        ledger=ledger,
        stretches=(*state.stretches, *_stretches(state, span)),
        retry=(*state.retry, *missed),
        audit=earlier + report,
        latest=report,
    )


async def _retried(
    run: Runner, services: Services, session: Session, way: Strategy, *, shown: int, listed: int
) -> QueueState:
    """The state after calling the model again for the oldest span on which it failed."""
    state = session.state
    if not state.retry or services.language_model is None or not way.asks_again:
        return state
    attempt, *others = state.retry
    span = await at_positions(run, services, session.scope, attempt.positions)
    if not span:
        return replace(state, retry=tuple(others))
    ledger = render(state.ledger, max_tokens=LEDGER_TOKENS, count=services.count)
    worth = await asked_about(run, services, session.scope, span)
    job = SummaryJob(state.lines, span, space(services, span, shown), worth)
    written = await again(run, services, way, job, ledger)
    if written is None:
        later = [attempt.once_more] if attempt.tries + 1 < ATTEMPTS else []
        return replace(state, retry=(*others, *later))
    lines = shown_lines(written.lines, max_tokens=job.room.shown, count=services.count)
    files = render(state.ledger, max_tokens=listed, count=services.count)
    report = replace(audited(span, lines, written.fresh, files), filled=written.filled)
    first = attempt.positions[0]
    elsewhere = [stretch for stretch in sorted(state.stretches) if not stretch[0] <= first <= stretch[1]]
    earlier = remaining(state.audit.without(attempt.report), lines, elsewhere)
    return replace(
        state,
        lines=tuple(written.lines),
        retry=tuple(others),
        audit=earlier + report,
        latest=report,
    )


def _stretches(state: QueueState, span: Sequence[Event]) -> list[tuple[int, int]]:
    """The compacted stretches: one after the cursor; turns kept by a reset or edited may add others."""
    apart = [event.position for event in span if event.position <= state.cursor or event.message.replaces]
    new = [event.position for event in span if event.position not in apart]
    return [*([(new[0], new[-1])] if new else []), *((position, position) for position in apart)]


async def _fewer(
    run: Runner, services: Services, scope: Scope, stretches: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The stretches; if there are many, the oldest are merged in pairs, if nothing was said in between."""
    fewer = tuple(stretches)
    if len(fewer) <= MAX_STRETCHES:
        return fewer
    fewer = outermost(fewer)  # an edited message may lie in the stretch that it was folded with
    view = await in_view(run, services, scope)  # what an edit replaced does not stand between them
    while len(fewer) > MAX_STRETCHES:
        joined = await _joined(run, view, scope, fewer)
        if joined is None:
            break
        fewer = joined
    return fewer


async def _joined(run: Runner, services: Services, scope: Scope, stretches: Stretches) -> Stretches | None:
    for row, ((first, last), (after, end)) in enumerate(pairwise(stretches[: JOIN_TRIES + 1])):
        gap = await run.call(services.log.read, scope, after=last, upto=after - 1, kinds=(EventKind.MESSAGE,), limit=1)
        if last < after and not gap:
            return (*stretches[:row], (first, end), *stretches[row + 2 :])
    return None


def _kept(session: Session, rest: Sequence[Unit]) -> tuple[int, ...]:
    """Positions of the opening instructions, and of turns kept by a reset and not compacted yet."""
    left = {event.position for unit in rest for event in unit.events}
    opening = {event.position for unit in session.queue.instructions for event in unit.events}
    return tuple(sorted(opening | {position for position in session.state.kept if position in left}))


def _anchor(compacted: Sequence[Unit], rest: Sequence[Unit]) -> int:
    """The user's turn to which the first remaining units belong, if they do not begin with one."""
    if not rest or rest[0].opens:
        return 0
    return next((unit.events[0].position for unit in reversed(compacted) if unit.opens), 0)
