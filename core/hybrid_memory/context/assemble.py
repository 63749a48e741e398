"""``assemble``: the prompt for a model's next call, within a token budget.

Each round loads the session, recalls memories for the question and plans a prompt; if that does not fit, it compacts
the oldest turns and starts again. A model that pages its memory is warned before turns leave.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace

from hybrid_memory.context.compact import compact_units, due, due_now
from hybrid_memory.context.context import Context, PromptPlan, context_of, plan
from hybrid_memory.context.layout import PromptRequest
from hybrid_memory.context.memories import Memories, memory_note, recalled
from hybrid_memory.context.queue import STATES, QueueProjection, Session, load
from hybrid_memory.context.strategies import resolve_strategy
from hybrid_memory.context.view import look
from hybrid_memory.documents.document import DocumentsProjection
from hybrid_memory.documents.editing import Owned, blocks
from hybrid_memory.errors import OutdatedError, StoreUnavailableError
from hybrid_memory.facts.facts import MARKS
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import PRESSURE, Origin, Role, lowest
from hybrid_memory.log.port import LogState
from hybrid_memory.log.views import ReadOnlyLog
from hybrid_memory.recall.cache import count_uses
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import HIDING, View, in_a_moment, in_view, present

COMPACTIONS = 2  # the most compactions in one call, before content that does not fit is left out of the prompt

WARNING = (
    "Memory pressure: the context window is nearly full, and older messages will soon be folded into a summary. Save "
    "what must stay at hand with core_memory_append or core_memory_replace, and details with archival_memory_insert. "
    "Nothing is lost: conversation_search finds every message again. Do not speak of this to the user; go on with what "
    "they asked."
)
"""Always the same words, since the warning of an episode is one event with one id."""

PROMPT_KINDS = (*sorted({*HIDING, *DocumentsProjection.follows, *STATES, *MARKS}), EventKind.LEARNED)
"""Kinds of events other than messages that a prompt depends on. It asks once which are the last ones of each."""

CUT = " … (cut: the block is longer than its share of the window)"

_log = logging.getLogger(__name__)


def _asks(span: Span, given: Given) -> None:
    request: PromptRequest = given["request"]
    span.attributes["max_tokens"] = request.max_tokens
    span.content |= {"query": request.query or "", "scope": given["scope"]}


def _lays_out(span: Span, made: tuple[Context, bool]) -> None:
    context, _ = made
    span.attributes |= {"tokens": context.tokens, "compacted": bool(context.compacted)}
    span.attributes |= {"messages": len(context.messages), "count": len(context.hits), "dropped": len(context.dropped)}


@traced("assemble", _asks, _lays_out)
async def assemble(run: Runner, services: Services, scope: Scope, request: PromptRequest) -> tuple[Context, bool]:
    """The prompt, and whether turns should be compacted after the caller has received it.

    Compacts older turns first if a trigger requires it, or if they no longer fit.
    In a view of the past, when read-only, or when nothing can be written, it shows what was compacted by then.
    """
    try:
        return await _assembled(run, services, scope, request)
    except StoreUnavailableError as error:
        if services.read_only:
            raise
        _log.warning("%s; the prompt is made without writing anything", error)
        reading = replace(services, log=ReadOnlyLog(services.log), read_only=True)
        context, behind = await _assembled(run, reading, scope, request)
        return replace(context, unwritten=str(error)), behind


async def _assembled(run: Runner, services: Services, scope: Scope, request: PromptRequest) -> tuple[Context, bool]:
    began = time.perf_counter()
    services = in_a_moment(services)
    state: LogState | None = await run.call(services.truth.state, scope.owner, PROMPT_KINDS)
    services, request = await _prepared(run, services, scope, request, state)
    await run.call(services.count, "")  # a counter may have tables to load, off the event loop
    if request.paging is not None:
        request = bounded(services, request, int(request.paging.blocks * request.max_tokens))
    reason = ""
    for left in reversed(range(COMPACTIONS + 1 + (request.paging is not None))):
        session = await load(run, services, scope, state)
        seen = await look(run, services, session, request, state)
        state = None  # the next time around it is another one
        memories = await recalled(run, services, seen)
        made = plan(seen, memories)
        if services.horizon is not None or services.read_only:
            return _reported(services, made, memories), False
        whole = seen
        if seen.session is not session:  # what is due is due for the session as the log has it; the host may show less
            host = replace(request.host, among=None)
            whole = await look(run, services, session, replace(seen.request, host=host))
        trigger, count = await due_now(run, services, whole, made.needed, seen.budget)
        later = not request.wait and made.needed <= seen.budget
        if later or not left or not count:
            if request.paging is not None and await warned(run, services, session, request, made):
                continue
            break
        compacted = await compact_units(run, services, session, count, max_tokens=seen.share, ask=request.wait)
        if compacted is not None:
            reason = reason or trigger
    if request.k and seen.shown_note is None and seen.words and request.layout != "classic":
        await _keep_note(run, services, session, made, began=began)
    count_uses(services, scope.owner, made.memories.hits)
    behind = bool(count) or (request.paging is None and seen.next_round + made.tokens > seen.budget)
    return replace(_reported(services, made, memories), compacted=reason), behind


async def compact_ahead(run: Runner, services: Services, scope: Scope, request: PromptRequest) -> bool:
    """Compact now what the next prompt would have to, assuming a round like the last ones; False during a round.

    With paging, only what does not fit is compacted. Nothing is compacted between a question and its answer, so that
    all prompts of a round begin alike.
    """
    services, request = await _prepared(run, present(services), scope, request)
    request = replace(request, query="?", host=replace(request.host, among=None), k=0)
    for _ in range(COMPACTIONS):
        session = await load(run, services, scope)
        units = session.queue.units
        last = units[-1].messages[-1] if units else None
        if last is not None and (last.role is not Role.ASSISTANT or last.tool_calls):
            return False
        seen = await look(run, services, session, request)
        needed = plan(seen, Memories()).needed + (seen.next_round if request.paging is None else 0)
        _, count = await due(run, services, seen, needed, seen.budget)
        if not count:
            break
        await compact_units(run, services, session, count, max_tokens=seen.share)
    return True


async def _prepared(
    run: Runner, services: Services, scope: Scope, request: PromptRequest, state: LogState | None = None
) -> tuple[View, PromptRequest]:
    """The view with the settings of a request's paging, and the request with the owner's blocks, if none are given."""
    view = await in_view(run, services, scope, state)
    if request.blocks is None:
        there = await blocks(run, Owned(view, scope), state)
        filled = {label: block for label, block in there.items() if block.value}
        request = request.showing(filled if request.paging is None else there)  # who edits them sees empty ones, too
    if request.paging is not None:
        compaction = request.paging.applied(view.config.compaction)
        await run.call(resolve_strategy, compaction.strategy)  # imports it, off the event loop
        view = replace(view, config=view.config.model_copy(update={"compaction": compaction}))
    return view, request


def _reported(services: Services, made: PromptPlan, memories: Memories) -> Context:
    """The prompt; warns once per budget if it is too small for the caller's own parts."""
    seen, warned = made.seen, services.state(QueueProjection).warned
    context = context_of(made, memories)
    key = seen.session.scope, seen.request.max_tokens
    if context.tokens > seen.request.max_tokens and not warned.get(key):
        warned.put(key, True)
        _log.warning(
            "max_tokens=%d is too small: system prompt and tools take %d, the prompt %d; older turns, summary and "
            "memories were left out as far as needed",
            seen.request.max_tokens, seen.own, context.tokens,
        )  # fmt: skip
    return context


async def _keep_note(run: Runner, services: Services, session: Session, made: PromptPlan, *, began: float) -> None:
    """Record what was shown with the turn, and its tokens, so that later prompts show it in the same place.

    Words of shared spaces are never kept: the right to read them, or the words, may be gone at the next call. Not if
    something was forgotten in the meantime: then memories are recalled again.
    """
    seen, own = made.seen, made.memories
    draft = services.draft(
        EventKind.RECALLED,
        {
            "query": seen.words,
            "text": memory_note(own, seen.words),
            "origin": lowest((Origin.ASSISTANT, *(hit.origin for hit in own.hits))),
            "tokens": made.tokens,
            "max_tokens": seen.request.max_tokens,
            "ms": round(1000 * (time.perf_counter() - began), 1),
            **({"turn": seen.question_id} if seen.question_id else {}),
        },
        session=session.scope.session,
        sources=own.sources,
    )
    with suppress(OutdatedError):
        await run.call(services.log.append, session.scope.owner, [draft], seen=session.seen)


def bounded(services: Services, request: PromptRequest, share: int) -> PromptRequest:
    """The request with blocks cut to this many tokens, the longest first."""
    texts = dict(request.blocks or {})
    tokens = {label: services.count(text) for label, text in texts.items()}
    while sum(tokens.values()) > share:
        longest = max(tokens, key=lambda label: tokens[label])
        if len(texts[longest]) <= len(CUT):
            break
        room = max(share - sum(tokens.values()) + tokens[longest], share // len(texts), 1)
        keep = min(len(texts[longest]) * room // tokens[longest], len(texts[longest]) - 1)
        texts[longest] = texts[longest][: max(keep - len(CUT), 0)] + CUT
        tokens[longest] = services.count(texts[longest])
    return replace(request, blocks=texts)


async def warned(run: Runner, services: Services, session: Session, request: PromptRequest, made: PromptPlan) -> bool:
    """Warn the model once before messages leave its context; returns whether it was warned now."""
    if made.tokens / request.max_tokens < services.config.compaction.pressure:
        return False
    name = f"{PRESSURE}-{session.state.episode}"  # one an episode
    if any(event.id == name for unit in session.queue.units for event in unit.events):
        return False
    payload = {"role": Role.SYSTEM.value, "content": WARNING, "extra": {"event": PRESSURE}}
    if session.scope.space is not None:  # where nobody else's word is the operator's
        payload["origin"] = Origin.OPERATOR.value
    draft = services.draft(EventKind.MESSAGE, payload, id=name, session=session.scope.session)
    (warning,) = await run.call(services.log.append, session.scope.owner, [replace(draft, fixed_id=True)])
    if warning.fresh:
        return True
    # Another process wrote it, or it has left the window itself, or a rollback hides it.
    there = await run.call(services.log.get, session.scope, [name])
    return bool(there) and warning.position > session.state.cursor
