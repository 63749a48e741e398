"""The steps of an agent: the log shows how far its work is, and each step is written atomically with its effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role, ToolCall
from hybrid_memory.log.port import EventLog
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import Projection, append_revision, number_of, revision_id
from hybrid_memory.store.remember import draft_of
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present

FAILED = "failed"
"""The field in ``extra`` of a result that marks a failed call."""


class Does(StrEnum):
    """What a step did: the model answered, a call was executed, or the agent yielded."""

    ANSWERED = "answered"
    CALLED = "called"
    YIELDED = "yielded"


class Next(StrEnum):
    """What to do next: execute a call, call the model, yield, or wait for an event."""

    CALL = "call"
    ASK = "ask"
    YIELD = "yield"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Chain:
    """An agent's work since it last yielded.

    Attributes:
        number: the number of its last step, from 1. It determines the id of the next step, so that only one of two
            processes can write it.
        since: the position up to which all events are handled; head: the position of the last event.
        answer: the model's last answer in this work, if any.
        opened: ids of the turns and events that it answers.
        blocks: the block revisions that the model saw, by label.
        missing: its calls that have no result yet, in order.
        goes_on: whether the model must be called again, because it asked for that or a call failed.
        waiting: turns and events that no answer has taken into account.
        rewound: whether a rollback hides a part of the log.
        steps, tokens: answers since then, and the tokens of these and their prompts.
    """

    number: int = 0
    since: int = 0
    head: int = 0
    answer: Event | None = None
    opened: tuple[str, ...] = ()
    blocks: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[ToolCall, ...] = ()
    goes_on: bool = False
    waiting: tuple[Event, ...] = ()
    rewound: bool = False
    steps: int = 0
    tokens: int = 0

    @property
    def next(self) -> Next:
        """What to do next."""
        if self.missing:
            return Next.CALL
        if self.goes_on or self.waiting:
            return Next.ASK
        return Next.WAIT if self.answer is None else Next.YIELD


@dataclass(frozen=True, slots=True)
class Step:
    """One step, as the log stores it.

    Attributes:
        does: what it did.
        messages: its messages; for an answer, the last one has the calls.
        opened: for an answer: ids of the turns and events that it and the answers before it respond to.
        upto: the position up to which the model had seen everything when it answered, or everything is handled.
        blocks, goes_on, tokens: for an answer: as in `Chain`.
        why: why the agent yields.
    """

    does: Does
    messages: tuple[Message, ...] = ()
    opened: tuple[str, ...] = ()
    upto: int = 0
    blocks: Mapping[str, int] = field(default_factory=dict)
    goes_on: bool = False
    tokens: int = 0
    why: str = ""

    def payload(self, since: int) -> dict[str, Any]:
        """The payload of its event, if everything up to ``since`` was handled before."""
        values: dict[str, Any] = {"does": self.does.value, "since": since}
        if self.does is Does.ANSWERED:
            values |= {"opened": list(self.opened), "upto": self.upto, "blocks": dict(self.blocks)}
            values |= {"goes_on": self.goes_on, "tokens": self.tokens}
        if self.does is Does.YIELDED:
            values |= {"since": self.upto, "why": self.why}
        return values


def chain(events: Sequence[Event], *, number: int, since: int) -> Chain:
    """The state of the work that these events of a session amount to: messages and steps after ``since``, by position.

    Of the conversation before an agent's first step, only an unanswered last turn is left to do.
    """
    head = max([since, *(event.position for event in events)])
    # What a reset takes out of the conversation is no work any more.
    anew = max((event.position for event in events if event.kind is EventKind.RESET), default=0)
    events = [event for event in events if event.position > anew]
    since = max(since, anew)
    steps = [event for event in events if event.kind is EventKind.STEP]
    answered = [event for event in steps if event.payload["does"] == Does.ANSWERED]
    # Where a run was stopped before it saw everything, what it did lies behind `since`, and is over all the same.
    over = max((event.position for event in steps if event.payload["does"] == Does.YIELDED), default=0)
    messages = [event for event in events if event.kind is EventKind.MESSAGE]
    last = answered[-1] if answered else None
    seen = since if last is None else last.payload["upto"]
    waiting = [event for event in messages if event.position > seen and event.message.opens]
    if number == 0:
        spoken = max((event.position for event in messages if event.message.role is Role.ASSISTANT), default=0)
        waiting = [event for event in waiting[-1:] if event.position > spoken]
    answered = [event for event in answered if event.position > over]
    answer = next((event for event in messages if answered and event.id in answered[-1].sources), None)
    results = {
        event.message.tool_call_id: event
        for event in messages
        if answer is not None and event.position > answer.position and event.message.role is Role.TOOL
    }
    calls = [] if answer is None else answer.message.tool_calls
    failed = any(results[call.id].message.extra.get(FAILED) for call in calls if call.id in results)
    return Chain(
        number=number,
        since=since,
        head=head,
        answer=answer,
        opened=tuple(answered[-1].payload["opened"]) if answered else (),
        blocks={} if last is None else last.payload["blocks"],
        missing=tuple(call for call in calls if call.id not in results),
        goes_on=last is not None and answer is not None and bool(last.payload["goes_on"] or failed),
        waiting=tuple(waiting),
        steps=len(answered),
        tokens=sum(event.payload["tokens"] for event in answered),
    )


KINDS = (EventKind.MESSAGE, EventKind.STEP, EventKind.RESET)


async def work_left(run: Runner, services: Services, scope: Scope) -> Chain:
    """How far the work of the session's agent is."""
    seen = await in_view(run, services, scope)
    last = await _last(run, seen.log, scope)
    # What a rollback hides keeps its number.
    newest = await _last(run, seen.truth, scope) if seen.partial else last
    since = 0 if last is None else last.payload["since"]
    events = await run.call(seen.log.read, scope, after=since, kinds=KINDS)
    work = chain(events, number=number_of(newest), since=since)
    return replace(work, rewound=seen.partial)


async def _last(run: Runner, log: EventLog, scope: Scope) -> Event | None:
    steps = await run.call(log.read, scope, kinds=(EventKind.STEP,), limit=1, newest=True)
    return steps[-1] if steps else None


async def advance(run: Runner, services: Services, scope: Scope, before: Chain, step: Step) -> bool:
    """Write the next step with its messages atomically; False if another process was faster."""
    drafts = [draft_of(present(services), scope, message) for message in step.messages]
    note = services.draft(
        EventKind.STEP,
        step.payload(before.since),
        id=revision_id("step", before.number + 1),
        session=scope.session,
        sources=tuple(draft.id for draft in drafts[-1:]),
    )
    return await append_revision(run, services, scope.owner, note, [note, *drafts]) is not None


class StepsProjection(Projection):
    """The steps of agents, erased together with a user's whole memory."""

    kinds = frozenset({EventKind.STEP})
    repeats = kinds

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark all steps for erasure with a user's whole memory; otherwise only the reasons that repeat the words."""
        await super().forget(run, services, erasure)
        if erasure.words and not erasure.everything:
            async for events in self.of(run, services, erasure, EventKind.STEP):
                said = [event for event in events if erasure.has_words(event.payload.get("why", ""))]
                erasure.rewrite({event.position: {**event.payload, "why": ""} for event in said}, "steps rewritten")
