"""The window of a model that pages its memory: limits for blocks, and the warning before turns leave."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.context.plan import PromptPlan
from hybrid_memory.context.queue import Session
from hybrid_memory.context.request import PromptRequest
from hybrid_memory.context.strategies import resolve_strategy
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import PRESSURE, Origin, Role
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View

WARNING = (
    "Memory pressure: the context window is nearly full, and older messages will soon be folded into a summary. Save "
    "what must stay at hand with core_memory_append or core_memory_replace, and details with archival_memory_insert. "
    "Nothing is lost: conversation_search finds every message again. Do not speak of this to the user; go on with what "
    "they asked."
)
"""Always the same words, since the warning of an episode is one event with one id."""

ROLLBACKS = 100
"""After more rollbacks than this in one episode, there is no warning."""

CUT = " … (cut: the block is longer than its share of the window)"


async def paged(run: Runner, services: View, request: PromptRequest) -> View:
    """The view with the settings of the request's paging, if it has any."""
    if request.paging is None:
        return services
    compaction = request.paging.applied(services.config.compaction)
    await run.call(resolve_strategy, compaction.strategy)  # imports it, off the event loop
    return replace(services, config=services.config.model_copy(update={"compaction": compaction}))


def bounded(services: Services, request: PromptRequest) -> PromptRequest:
    """The request with blocks cut to their share of the prompt, the longest first."""
    blocks = dict(request.blocks)
    if request.paging is None or not blocks:
        return request
    share = int(request.paging.blocks * request.max_tokens)
    tokens = {label: services.count(text) for label, text in blocks.items()}
    while sum(tokens.values()) > share:
        longest = max(tokens, key=lambda label: tokens[label])
        if len(blocks[longest]) <= len(CUT):
            break
        room = max(share - sum(tokens.values()) + tokens[longest], share // len(blocks), 1)
        keep = min(len(blocks[longest]) * room // tokens[longest], len(blocks[longest]) - 1)
        blocks[longest] = blocks[longest][: max(keep - len(CUT), 0)] + CUT
        tokens[longest] = services.count(blocks[longest])
    return replace(request, blocks=blocks)


async def warned(run: Runner, services: Services, session: Session, request: PromptRequest, made: PromptPlan) -> bool:
    """Warn the model once before messages leave its context; returns whether it was warned now."""
    full = made.tokens / request.max_tokens >= services.config.compaction.pressure
    if request.paging is None or not full:
        return False
    # One warning an episode: its id is that of the episode, and a further one where a rollback hides what was said.
    shown = {event.id for unit in session.queue.units for event in unit.events}
    for rollbacks in range(ROLLBACKS):
        name = f"{PRESSURE}-{session.state.episode}{f'.{rollbacks}' if rollbacks else ''}"
        if name in shown:
            return False
        payload = {"role": Role.SYSTEM.value, "content": WARNING, "extra": {"event": PRESSURE}}
        if session.scope.space is not None:  # where nobody else's word is the operator's
            payload["origin"] = Origin.OPERATOR.value
        draft = Draft(
            id=name,
            fixed_id=True,
            session=session.scope.session,
            kind=EventKind.MESSAGE,
            at=services.clock(),
            payload=payload,
        )
        (warning,) = await run.call(services.log.append, session.scope.owner, [draft])
        if warning.fresh:
            return True
        if await run.call(services.log.get, session.scope, [name]):
            # Another process wrote it, or it has left the window itself.
            return warning.position > session.state.cursor
    return False
