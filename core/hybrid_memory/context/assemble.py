"""``assemble``: the prompt for the next call of a model, within a token budget."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hybrid_memory.context.compact import fold, retries
from hybrid_memory.context.context import Context, context_of
from hybrid_memory.context.memories import fitting
from hybrid_memory.context.paging import bounded, paged, warned
from hybrid_memory.context.plan import Plan, plan
from hybrid_memory.context.queue import Session
from hybrid_memory.context.request import Request
from hybrid_memory.context.session import QueueProjection, costs_of, hosted, load
from hybrid_memory.context.triggers import due
from hybrid_memory.context.view import View, view
from hybrid_memory.facts.portrait import portrait
from hybrid_memory.index.record import RecordKind
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.visible import visible
from hybrid_memory.recall import request as recalling
from hybrid_memory.recall.cache import count_uses
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.recall import recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View as LogView
from hybrid_memory.store.view import in_view, present
from hybrid_memory.text.small_talk import asks_nothing, is_memory

PROFILE_RATIO = 0.1
"""Share of the budget for what was learned of the user."""

FOLDS = 2
"""Compactions in one call, before what does not fit is left out of the prompt."""

WORTH = 0.1
"""Share of what does not fit that a compaction must free at least."""

IN_SIGHT = 100
"""Hits that stand in the prompt anyway, at most, beyond which nothing else is looked for."""

SPARE = 3
"""Times as many hits are recalled, to make up for what is no memory."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and whether turns are to be folded or summarised anew now that nobody waits for it."""

    context: Context
    behind: bool = False


async def assemble(run: Runner, services: Services, scope: Scope, request: Request) -> Assembled:
    """The prompt; folds older turns first if a trigger asks for it, or if they no longer fit.

    In a view of the past, or read-only, it is laid out as far as it was folded there.

    Raises:
        InvalidInputError: there is no question: none was given and the user has said nothing yet.
    """
    services = paged(await in_view(run, services, scope), request)
    await run.call(services.count, "")  # a counter may have tables to load, off the event loop
    request = bounded(services, request)
    request = replace(request, marks=services.config.prompt)
    fixed = services.horizon is not None or services.read_only
    reason = ""
    for left in reversed(range(FOLDS + 1 + (request.paging is not None))):
        session = await load(run, services, scope)
        seen = await _view(run, services, session, request)
        hits = await _recalled(run, services, scope, request, seen)
        made = plan(seen, hits)
        if fixed:
            return Assembled(_told(services, scope, seen, made, hits))
        due_now = await _due(run, services, session, seen, made)
        again = due_now.again and request.wait and not reason
        if due_now.later or not left or not (due_now.count or again):
            if await warned(run, services, session, request, made):
                continue
            break
        if await fold(run, services, session, due_now.count, max_tokens=request.max_tokens, ask=request.wait):
            reason = reason or due_now.why or "the model is asked again"
    if request.k and seen.noted is None and seen.words and request.layout != "classic":
        await _keep_note(run, services, scope, seen, made)
    count_uses(services, scope.owner, made.hits)
    behind = due_now.behind or (request.paging is None and seen.next_round + made.tokens > seen.budget)
    return Assembled(replace(_told(services, scope, seen, made, hits), compacted=reason), behind=behind)


@dataclass(frozen=True, slots=True)
class _Due:
    """Whether to fold now: why, how many units, and whether to ask a model ``again``; or ``later``, in a pause."""

    why: str
    count: int
    again: bool
    later: bool

    @property
    def behind(self) -> bool:
        return bool(self.count) or self.again


async def _due(run: Runner, services: LogView, session: Session, seen: View, made: Plan) -> _Due:
    """What is due for the session as the log has it: the host may show less of it."""
    request, whole = seen.request, seen
    if seen.session is not session:
        whole = await _view(run, services, session, replace(request, among=None))
    why, count = await due(run, services, whole, made.wanted, seen.budget)
    count = min(count, _seen(session))
    if sum(whole.unit_costs[:count]) < WORTH * (made.wanted - seen.budget):
        why, count = "", 0  # what does not fit is one long message, which is shortened
    fits = made.wanted <= seen.budget
    return _Due(why, count, retries(services, session), later=not request.wait and fits)


def _seen(session: Session) -> int:
    """How many units of the queue the model has answered; results that it has not read yet are not among them."""
    units = session.queue.units
    last = next((row for row in reversed(range(len(units))) if units[row].role is Role.ASSISTANT), None)
    if last is None:
        return len(units)
    return last if units[last].messages[0].tool_calls else last + 1


def _told(services: Services, scope: Scope, seen: View, made: Plan, hits: Sequence[Hit]) -> Context:
    """The prompt, with a warning if its budget is too small for what the caller put into it; once for each."""
    context = context_of(seen, made, hits, services.config.compaction)
    key = scope, seen.request.max_tokens
    if context.tokens > seen.request.max_tokens and not services.state(QueueProjection).warned.get(key):
        services.state(QueueProjection).warned.put(key, True)
        _log.warning(
            "max_tokens=%d is too little: system prompt and tools take %d, the prompt %d; older turns, summary and "
            "memories were left out as far as needed",
            seen.request.max_tokens, seen.own, context.tokens,
        )  # fmt: skip
    return context


async def fold_ahead(run: Runner, services: Services, scope: Scope, request: Request) -> bool:
    """Fold now what the next prompt would have to fold, if it has a round like the last ones; False amid a round.

    With paging only what does not fit is folded, and what was folded before without the model it is asked about.

    Between a question and its answer nothing is folded, so that all prompts of a round begin alike.
    """
    services = paged(await in_view(run, present(services), scope), request)
    request = replace(request, query="?", among=None, k=0)
    for turn in range(FOLDS):
        session = await load(run, services, scope)
        if not _answered(session):
            return False
        seen = await _view(run, services, session, request)
        wanted = plan(seen, []).wanted + (seen.next_round if request.paging is None else 0)
        _, count = await due(run, services, seen, wanted, seen.budget)
        if not count and (turn or not retries(services, session)):
            break
        await fold(run, services, session, count, max_tokens=request.max_tokens)
    return True


def _answered(session: Session) -> bool:
    last = session.queue.units[-1].messages[-1] if session.queue.units else None
    return last is None or (last.role is Role.ASSISTANT and not last.tool_calls)


async def _view(run: Runner, services: LogView, session: Session, request: Request) -> View:
    if request.profile is None:
        known = await portrait(
            run, services, session.scope, session.state.cursor, int(PROFILE_RATIO * request.max_tokens)
        )
        request = replace(request, profile=known)
    there, lines = session, session.state.lines
    if request.among is not None:
        there, start = await hosted(run, services, session, request.among, request.began)
        lines = tuple(line for line in lines if line.first < start or not request.among.isdisjoint(line.sources))
    lines = tuple(line for line in lines if visible(line.last, services.hidden))
    seen = view(there, costs_of(services), services.config.compaction, request, lines)
    # What is left out on purpose does not come back as a memory.
    left_out = _ids(session) - _ids(there)
    return replace(seen, visible=seen.visible | left_out) if left_out else seen


def _ids(session: Session) -> set[str]:
    """Of the messages in its queue."""
    return {event.id for unit in session.queue.units for event in unit.events}


async def _recalled(run: Runner, services: Services, scope: Scope, request: Request, seen: View) -> list[Hit]:
    """What to recall for the question, best first: what has to do with it, and does not stand in the prompt anyway."""
    if not request.k or not seen.words or seen.noted is not None or asks_nothing(seen.words):
        return []
    wanted = recalling.Request.of(
        scope,
        seen.words,
        k=SPARE * request.k + min(len(seen.visible), IN_SIGHT),
        within="user",
        kinds=(RecordKind.TURN,),  # the words themselves; what was read from them stands in the profile
        categories=(),
        since=None,
        until=None,
        metadata=None,
        weights=None,
    )
    hits = await recall(run, services, wanted)
    texts = {message.text.strip() for unit in seen.units for message in unit.messages}
    fresh = [
        hit
        for hit in hits
        if not seen.visible.intersection(hit.record.sources)
        and hit.record.text.strip() not in texts
        and is_memory(hit.record.text)
        and not _works_for(hit.record.scope.session, scope.session)
        and (request.beside is None or hit.record.scope.session != request.beside)
        and not _works_for(hit.record.scope.session, request.beside)
    ]
    bare = await _calls_alone(run, services, scope, fresh)
    return fitting(seen.words, [hit for hit in fresh if hit.record.sources[0] not in bare][: request.k])


def _works_for(session: str | None, parent: str | None) -> bool:
    """Whether a session is one beneath another, as that of a sub-agent, whose answer stands in the other anyway."""
    return parent is not None and session is not None and session.startswith(f"{parent}/")


async def _calls_alone(run: Runner, services: Services, scope: Scope, hits: Sequence[Hit]) -> set[str]:
    """Those that only call tools: without their results they say nothing, and the results are found themselves."""
    asked = [hit.record.sources[0] for hit in hits if hit.record.speaker == Role.ASSISTANT]
    events = await run.call(services.log.get, scope.owner, asked) if asked else []
    return {event.id for event in events if event.kind is EventKind.MESSAGE and _only_calls(event.message)}


def _only_calls(message: Message) -> bool:
    words = message.content if isinstance(message.content, str) else "".join(_texts(message.content))
    return bool(message.tool_calls) and not words.strip()


def _texts(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    return [block["text"] for block in blocks if isinstance(block.get("text"), str)]


async def _keep_note(run: Runner, services: Services, scope: Scope, seen: View, made: Plan) -> None:
    """Write down what the turn was shown, so that later prompts show it in the same place."""
    turn = seen.question_id
    draft = services.draft(
        EventKind.RECALLED,
        {"query": seen.words, "text": made.parts.note, **({"turn": turn} if turn else {})},
        session=scope.session,
        sources=tuple(dict.fromkeys(source for hit in made.hits for source in hit.record.sources)),
    )
    await run.call(services.log.append, scope.owner, [draft])
