"""A session's queue: its last state in the log, and the turns since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.context.queue import Session, Unit, queue
from hybrid_memory.context.rewriting import Rewriting
from hybrid_memory.context.shortening import Costs, Shown
from hybrid_memory.context.state import QueueState
from hybrid_memory.context.summary import Audit, Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.log.port import EventLog, LogState
from hybrid_memory.log.visible import MAX_POSITION
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure, stream
from hybrid_memory.store.projection import Projection, append_revision, head, number_of, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view, placed, present

FOLDS = (EventKind.COMPACTION,)
STATES = (EventKind.COMPACTION, EventKind.RESET)
TURNS = (EventKind.MESSAGE, EventKind.RECALLED)

STATES_BATCH = 32
"""Queue states read at once, as each contains its whole summary."""

SHOWN_CACHE = 8192
WARNED_CACHE = 1024
AUDITS_CACHE = 4096
"""For how many owners the audits of their sessions are cached."""

MAX_READ = 1000
"""The most sessions of one owner whose compactions are summed, those that began compacting last."""


async def load(run: Runner, services: Services, scope: Scope, state: LogState | None = None) -> Session:
    """The session as the log has it now; the cost depends only on what comes after the cursor.

    ``state`` is that of the owner's log, if it was read before anything else.
    """
    seen = await head(run, services, scope) if state is None else state.head
    view = await in_view(run, services, scope)
    folded = await state_of(run, view, scope)
    if view.partial and (last := await _last_state(run, view.truth, scope)) is not None:
        # What a rollback hides keeps its numbers.
        folded = replace(folded, number=number_of(last))
    kept = {*folded.kept, *([folded.anchor] if folded.anchor else [])}
    events = await at_positions(run, view, scope, sorted(position for position in kept if position <= folded.cursor))
    events += await run.call(view.log.read, scope, after=folded.cursor, kinds=TURNS)
    # What was recalled of superseded words is not shown again, but recalled anew.
    lost = set(view.superseded.values())
    events = [event for event in events if event.kind is not EventKind.RECALLED or lost.isdisjoint(event.sources)]
    return Session(
        scope=scope, state=folded, queue=queue(placed(events, folded.cursor, kept, folded.stretches)), seen=seen
    )


async def state_of(run: Runner, view: View, scope: Scope) -> QueueState:
    """The summary of the turns before the queue, without lines of superseded ones."""
    state = QueueState.of(await _last_state(run, view.log, scope))
    lost = set(view.superseded.values())
    return replace(state, lines=tuple(line for line in state.lines if not _outdated(line, lost))) if lost else state


def _outdated(line: Line, lost: Collection[str]) -> bool:
    """Whether most sources of a line are superseded."""
    return bool(line.sources) and 2 * sum(source in lost for source in line.sources) >= len(line.sources)


async def hosted(
    run: Runner, view: View, session: Session, ids: Collection[str], began: str | None
) -> tuple[Session, int]:
    """The session as its host has it, and where its state begins: from there on, only messages with these ids.

    Edited or regenerated messages are included if the host still has them, as in another branch of the conversation.
    ``began`` is the id of the first message that the host's state ever had; without it, the first of these ids that the
    log has.
    """
    lost = sorted(place for place, name in view.superseded.items() if place > session.state.cursor and name in ids)
    again = await at_positions(run, replace(view, log=view.truth), session.scope, lost)
    units = session.queue.units
    if again:
        events = [event for unit in units for event in unit.events]
        notes = {unit.events[0].id: unit for unit in units if unit.note is not None}
        units = _noted(queue(sorted([*events, *again], key=lambda event: event.position)).units, notes)
    first = await run.call(view.truth.get, session.scope, [began]) if began else []
    start = _beginning(first, units, ids)
    if start is None:
        return session, MAX_POSITION
    kept = tuple(
        unit for unit in units if unit.first < start or _warns(unit) or any(event.id in ids for event in unit.events)
    )
    return replace(session, queue=replace(session.queue, units=kept)), start


def _beginning(first: Sequence[Event], units: Sequence[Unit], ids: Collection[str]) -> int | None:
    """The position from which the host knows the conversation; None if it shares nothing with the log."""
    if first:
        return first[0].message.replaces or first[0].position
    return next((unit.first for unit in units if any(event.id in ids for event in unit.events)), None)


def _noted(units: Sequence[Unit], notes: Mapping[str, Unit]) -> tuple[Unit, ...]:
    """The units with the notes they had."""
    before = [notes.get(unit.events[0].id) for unit in units]
    return tuple(
        unit if old is None else replace(unit, note=old.note, recalled=old.recalled)
        for unit, old in zip(units, before, strict=True)
    )


def _warns(unit: Unit) -> bool:
    """Whether it is the memory's own warning, which callers do not have."""
    return unit.messages[0].event == PRESSURE


async def _last_state(run: Runner, log: EventLog, scope: Scope) -> Event | None:
    # A handle without a session reads every session, but its queue has a state of its own.
    limit = None if scope.session is None else 1
    states = await run.call(log.read, scope, kinds=STATES, limit=limit, newest=True)
    return next((event for event in reversed(states) if event.scope.session == scope.session), None)


async def write_state(
    run: Runner, services: Services, before: Session, state: QueueState, *, kind: EventKind, payload: dict[str, Any]
) -> bool:
    """Append the next revision of the state; False if another process was faster, or erased something."""
    name = revision_id("queue", state.number)
    draft = present(services).draft(kind, payload, id=name, session=before.scope.session)
    return await append_revision(run, services, before.scope.owner, draft, seen=before.seen) is not None


async def reset(run: Runner, services: Services, scope: Scope, kept: Sequence[str]) -> bool:
    """Restart the conversation with these messages; False if another process was faster."""
    services = await in_view(run, services, scope)
    session = await load(run, services, scope)
    events = await run.call(services.log.get, scope, list(kept))
    state = QueueState(number=session.state.number + 1)
    positions = [event.position for event in events if event.kind is EventKind.MESSAGE]
    return await write_state(run, services, session, state, kind=EventKind.RESET, payload={"kept": positions})


class QueueProjection(Projection):
    """The queues of sessions: summaries of compacted turns, and memories recalled for the others.

    Attributes:
        shown: cached messages as shown in prompts, with their tokens.
        warned: budgets that were too small, of which callers were warned once.
    """

    kinds = frozenset({EventKind.COMPACTION, EventKind.RESET, EventKind.RECALLED})
    repeats = frozenset({EventKind.COMPACTION, EventKind.RECALLED})

    def __init__(self) -> None:
        self.shown: LruCache[tuple[object, ...], Shown] = LruCache(SHOWN_CACHE)
        self.warned: LruCache[tuple[Scope, int], bool] = LruCache(WARNED_CACHE)
        self._audits: LruCache[Scope, tuple[tuple[int, str], Mapping[Scope, Audit]]] = LruCache(AUDITS_CACHE)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the cached messages and audits."""
        self.shown.clear(lambda key, _: owner in (None, key[0]))
        self._audits.clear(lambda key, _: owner in (None, key))

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the turns behind a summary line."""
        return item.sources if isinstance(item, Line) else None

    def parse(self, event: Event) -> object:
        """The state of the queue, or the note."""
        return event.payload["text"] if event.kind is EventKind.RECALLED else QueueState.of(event)

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Rewrite each revision of a summary without the turns; drop notes of recalled memories entirely."""
        await super().forget(run, services, erasure)
        if erasure.everything:
            return
        rewriting = Rewriting(run, services, erasure)
        async for events in self.of(run, services, erasure, EventKind.COMPACTION, STATES_BATCH):
            for event in events:
                await rewriting.read(event)
        async for events in self.of(run, services, erasure, EventKind.RECALLED):
            erasure.drop((event for event in events if _goes(event, erasure)), "notes of what was recalled")

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        """The audit of critical items over all sessions; the newest compaction of each has its session's sum."""
        total = Audit()
        for owner in heads:
            for audit in (await self._audited(run, services.log, owner)).values():
                total += audit
        return {"compactions": total}

    async def _audited(self, run: Runner, log: EventLog, owner: Scope) -> Mapping[Scope, Audit]:
        """The audits of the owner's sessions: the cached ones, updated with later compactions."""
        last, audits = self._audits.get(owner) or ((0, ""), {})
        fresh: list[Event] = []
        same = False
        if last[0]:  # the last one again: a log that was set back has another there
            async for events in stream(run, log, owner, kinds=FOLDS, after=last[0] - 1, size=STATES_BATCH):
                same = same or (events[0].position, events[0].mark) == last
                fresh = [*fresh[-1:], *({event.scope: event for event in events}.values())]
                audits = {**audits, **{event.scope: Audit.of(event.payload["audit"]) for event in events}}
        if not same:
            fresh = await _newest_folds(run, log, owner)
            audits = {event.scope: Audit.of(event.payload["audit"]) for event in fresh}
        if fresh:
            newest = max(fresh, key=lambda event: event.position)
            self._audits.put(owner, ((newest.position, newest.mark), audits))
        return audits


async def _newest_folds(run: Runner, log: EventLog, owner: Scope) -> list[Event]:
    """The newest compaction of each session, found by its first state; the most recently started come first."""
    first = await run.call(log.read, owner, ids=[revision_id("queue", 1)], limit=MAX_READ, newest=True)
    found: list[Event] = []
    for scope in {event.scope for event in first}:
        events = await run.call(log.read, scope, kinds=FOLDS, limit=STATES_BATCH if scope == owner else 1, newest=True)
        found += [event for event in events if event.scope == scope][-1:]
    return found


def costs_of(services: Services) -> Costs:
    """Counts the tokens of messages in a prompt."""
    return Costs(services.count, services.state(QueueProjection).shown, services.author)


def _goes(note: Event, erasure: Erasure) -> bool:
    """Whether a note of recalled memories is dropped; its turn then shows none.

    Besides memories it contains the question, and may name files of any earlier turn in its session.
    """
    later = note.position > erasure.first.get(note.scope, note.position)
    named = (note.payload.get("turn"), *note.sources)
    return later or erasure.made_of(named) or erasure.has_words([note.payload["query"], note.payload["text"]])
