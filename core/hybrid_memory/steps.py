"""The steps of an agent: read from the log where its work stands, and written with what they did, all or nothing."""

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
"""In ``extra`` of a result: that the call failed."""


class Does(StrEnum):
    """What a step of an agent did: the model answered, a call was made, the agent yields."""

    ANSWERED = "answered"
    CALLED = "called"
    YIELDED = "yielded"


class Next(StrEnum):
    """What is to be done: make a call, ask the model, yield, or wait for the next event."""

    CALL = "call"
    ASK = "ask"
    YIELD = "yield"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Chain:
    """An agent's work since it yielded last.

    Attributes:
        number: of its last step, from 1; it makes the id of the next, so that of two processes only one can do it.
        since: position up to which all is dealt with; head: of the last event.
        answer: the model's last answer, if it gave one since.
        opened: ids of the turns and events that it answers.
        blocks: revisions of the blocks that it had seen, by label.
        missing: its calls that have no result yet, in order.
        goes_on: whether the model wants to be asked again, or must be, since a call failed.
        waiting: turns and events that no answer has seen.
        rewound: whether a rollback hides a part of the log.
        steps, tokens: answers since, and what they and their prompts took.
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
        """What is to be done now."""
        if self.missing:
            return Next.CALL
        if self.goes_on or self.waiting:
            return Next.ASK
        return Next.WAIT if self.answer is None else Next.YIELD


@dataclass(frozen=True, slots=True)
class Step:
    """One step, as it is written.

    Attributes:
        does: what it did.
        messages: what was said in it; of an answer the last holds the calls.
        opened: of an answer, ids of the turns and events that it and those before it answer.
        upto: position up to which the model had seen everything when it answered, or all is dealt with.
        blocks, goes_on, tokens: of an answer, as in `Chain`.
        why: the agent yields.
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
        """What its event says, where everything up to ``since`` was dealt with before."""
        values: dict[str, Any] = {"does": self.does.value, "since": since}
        if self.does is Does.ANSWERED:
            values |= {"opened": list(self.opened), "upto": self.upto, "blocks": dict(self.blocks)}
            values |= {"goes_on": self.goes_on, "tokens": self.tokens}
        if self.does is Does.YIELDED:
            values |= {"since": self.upto, "why": self.why}
        return values


def chain(events: Sequence[Event], *, number: int, since: int) -> Chain:
    """The work that these events of a session come to: its messages and steps behind ``since``, by position.

    Of what was said before an agent took its first step only the last turn is work of its, if nobody answered it.
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
    """Where the work of the session's agent stands."""
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
    """Write the next step with its messages, all or nothing; False if another process was faster."""
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
    """The steps of agents; they go with everything of a user."""

    kinds = frozenset({EventKind.STEP})
    repeats = kinds

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """All steps of a user whose memory goes; why an agent yielded, where that has the words."""
        await super().forget(run, services, erasure)
        if erasure.words and not erasure.everything:
            async for events in self.of(run, services, erasure, EventKind.STEP):
                said = [event for event in events if erasure.has_words(event.payload.get("why", ""))]
                erasure.rewrite({event.position: {**event.payload, "why": ""} for event in said}, "steps rewritten")
