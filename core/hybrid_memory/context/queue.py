"""L1: the recent turns of a session, read from the log after a cursor, and the state that has the summary before it.

Their projection says what is cached of them, how they forget, and what the audits of all summaries come to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import Any, Self

from hybrid_memory.context.shortening import Costs, Shown
from hybrid_memory.context.summary import Audit, Line, Summary
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.exchanges import exchanges
from hybrid_memory.log.message import PRESSURE, Message, Role
from hybrid_memory.log.port import EventLog, LogState
from hybrid_memory.log.views import MAX_POSITION
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import Projection, append_revision, number_of, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view, placed, present

STATES = (EventKind.COMPACTION, EventKind.RESET)
TURNS = (EventKind.MESSAGE, EventKind.RECALLED)


@dataclass(frozen=True)
class Unit:
    """Messages that stay together: a single one, or an assistant's calls with all their results.

    Attributes:
        events: of the messages, by position.
        shown: whether a model may see it; False for results without a call and calls without all results.
        pending: whether these are calls at the end that may still be answered; they stay in the queue.
        note: the memories shown with this user turn, possibly none; None if it was never a question. ``recalled`` are
            their ids.
    """

    events: tuple[Event, ...]
    shown: bool = True
    pending: bool = False
    note: str | None = None
    recalled: tuple[str, ...] = ()

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages with their ids and times."""
        return tuple(event.message for event in self.events)

    @property
    def ids(self) -> Iterator[str]:
        """The ids of its messages."""
        return map(attrgetter("id"), self.events)

    @property
    def role(self) -> Role:
        """The role of its first message."""
        return self.messages[0].role

    @property
    def opens(self) -> bool:
        """Whether a round begins here: with a turn of the user, or an external event."""
        return self.messages[0].opens

    @property
    def first(self) -> int:
        """The place of its first message: its position, or that of the message it replaces."""
        return self.messages[0].replaces or self.events[0].position

    @property
    def last(self) -> int:
        """The place of its last message."""
        return self.messages[-1].replaces or self.events[-1].position


@dataclass(frozen=True)
class Queue:
    """The visible part of a session's conversation.

    Attributes:
        instructions: the system messages it began with.
        units: the rest, oldest first.
        waiting: memories recalled for words that were not said yet, by these words.
    """

    instructions: tuple[Unit, ...] = ()
    units: tuple[Unit, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """The number of user turns."""
        return sum(unit.opens for unit in self.units)

    @property
    def evictable(self) -> tuple[Unit, ...]:
        """The units before the first one that still waits for results."""
        return tuple(takewhile(lambda unit: not unit.pending, self.units))

    @cached_property
    def visible(self) -> tuple[Unit, ...]:
        """What a chat model accepts as a conversation: complete units, from the user's first turn on.

        Before it is only what an assistant says that speaks first.
        """
        shown = [unit for unit in self.units if unit.shown]
        start = next((row for row, unit in enumerate(shown) if unit.opens), len(shown))
        opening = [unit for unit in shown[:start] if unit.role is Role.ASSISTANT and not unit.messages[0].tool_calls]
        return (*opening, *shown[start:])


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a session's queue; its revisions are events, of which the last one counts.

    Attributes:
        number: the number of the revision, from 1; 0 before the first. It determines the event's id, so that only one
            of two concurrent processes can write.
        cursor: the position up to which the queue is compacted or reset.
        kept: positions up to the cursor that the queue still shows: opening instructions, messages kept by a reset.
        anchor: position of the user's turn to which the first turns after the cursor belong; 0 if they begin with one.
        summary: of the turns before the queue.
        episode: number of the revision in which messages last left, or the conversation was reset.
    """

    number: int = 0
    cursor: int = 0
    kept: tuple[int, ...] = ()
    anchor: int = 0
    summary: Summary = field(default_factory=Summary)
    episode: int = 0

    def as_payload(self) -> dict[str, Any]:
        """The state as JSON, without the number."""
        values = {"cursor": self.cursor, "kept": list(self.kept), "anchor": self.anchor, "episode": self.episode}
        return {**values, "summary": self.summary.as_json()}

    @classmethod
    def of(cls, event: Event | None) -> Self:
        """The state in an event; without one, that of a new session."""
        if event is None:
            return cls()
        number, payload = number_of(event), event.payload
        if event.kind is EventKind.RESET:
            return cls(number=number, cursor=event.position, kept=tuple(payload["kept"]), episode=number)
        summary = Summary.of(payload["summary"])
        return cls(number, payload["cursor"], tuple(payload["kept"]), payload["anchor"], summary, payload["episode"])


@dataclass(frozen=True, slots=True)
class Session:
    """A session's queue and the state it follows from. Without a session: over all sessions of the owner.

    Attributes:
        seen: the owner's last position before they were read.
    """

    scope: Scope
    state: QueueState
    queue: Queue
    seen: int = 0


async def load(run: Runner, services: Services, scope: Scope, state: LogState | None = None) -> Session:
    """The session as the log has it now; the cost depends only on what comes after the cursor.

    ``state`` is that of the owner's log with the kinds `STATES`, if it was read before anything else.
    """
    seen = await run.call(services.truth.head, scope) if state is None else state.head
    view = await in_view(run, services, scope)
    compacted = state is None or bool(state.newest(STATES)[0])
    before = await state_of(run, view, scope) if compacted else QueueState()
    if compacted and view.partial and (last := await last_state(run, view.truth, scope)) is not None:
        # What a rollback hides keeps its numbers.
        before = replace(before, number=number_of(last))
    kept = {*before.kept, *([before.anchor] if before.anchor else [])}
    events = await at_positions(run, view, scope, sorted(position for position in kept if position <= before.cursor))
    events += await run.call(view.log.read, scope, after=before.cursor, kinds=TURNS)
    # What was recalled of superseded words is not shown again, but recalled anew.
    lost = set(view.superseded.values())
    events = [event for event in events if event.kind is not EventKind.RECALLED or lost.isdisjoint(event.sources)]
    return Session(scope, before, queue(placed(events, before.cursor, kept, before.summary.stretches)), seen)


async def state_of(run: Runner, view: View, scope: Scope) -> QueueState:
    """The summary of the turns before the queue, without lines most of whose sources are superseded."""
    state = QueueState.of(await last_state(run, view.log, scope))
    if not (lost := set(view.superseded.values())):
        return state
    left = ((line, sum(source in lost for source in line.sources)) for line in state.summary.lines)
    lines = tuple(line for line, gone in left if 2 * gone < max(len(line.sources), 1))
    return replace(state, summary=replace(state.summary, lines=lines))


async def last_state(run: Runner, log: EventLog, scope: Scope, kinds: Collection[EventKind] = STATES) -> Event | None:
    """The last event with the state of this session's queue."""
    # A handle without a session reads every session, but its queue has a state of its own.
    limit = None if scope.session is None else 1
    states = await run.call(log.read, scope, kinds=kinds, limit=limit, newest=True)
    return next((event for event in reversed(states) if event.scope.session == scope.session), None)


def queue(events: Iterable[Event]) -> Queue:
    """The queue formed by these events of a session, by position: what was kept, and what followed."""
    turns = [event for event in events if event.kind is EventKind.MESSAGE]
    # Memories were recalled for a turn already in the log, or for the next one with these words.
    notes = [event for event in events if event.kind is EventKind.RECALLED]
    by_turn = {turn: event for event in notes if isinstance(turn := event.payload.get("turn"), str)}
    coming = [event for event in notes if not isinstance(event.payload.get("turn"), str)]
    units = []
    for exchange in exchanges([event.message for event in turns]):
        unit = Unit(tuple(turns[row] for row in exchange.rows), shown=exchange.complete, pending=exchange.pending)
        if unit.opens:
            before = [event for event in coming if event.position < unit.first]
            coming = coming[len(before) :]
            words = unit.messages[0].text.strip()
            asked = next((event for event in reversed(before) if event.payload["query"] == words), None)
            note = by_turn.get(unit.events[0].id, asked)
            if note is not None:
                unit = replace(unit, note=note.payload["text"], recalled=note.sources)
        units.append(unit)
    # The leading system messages are instructions, unless they report an event.
    others = (row for row, unit in enumerate(units) if unit.role is not Role.SYSTEM or unit.messages[0].event)
    count = next(others, len(units))
    waiting = {event.payload["query"]: event.payload["text"] for event in coming}
    return Queue(instructions=tuple(units[:count]), units=tuple(units[count:]), waiting=waiting)


async def hosted(
    run: Runner, view: View, session: Session, ids: Collection[str], began: str | None
) -> tuple[Session, int]:
    """The session as its host has it, and where its state begins: from there on, only messages with these ids.

    Edited or regenerated messages are included if the host still has them, as in another branch of the conversation.
    ``began`` is the id of the first message that the host's state ever had; without it, the first of these ids that the
    log has. The memory's own warnings stay, which hosts do not have.
    """
    units = session.queue.units
    lost = sorted(place for place, name in view.superseded.items() if place > session.state.cursor and name in ids)
    if again := await at_positions(run, replace(view, log=view.truth), session.scope, lost):
        events = [event for unit in units for event in unit.events]
        notes = {unit.events[0].id: unit for unit in units if unit.note is not None}
        units = queue(sorted([*events, *again], key=lambda event: event.position)).units
        units = tuple(
            replace(unit, note=old.note, recalled=old.recalled) if (old := notes.get(unit.events[0].id)) else unit
            for unit in units
        )
    first = await run.call(view.truth.get, session.scope, [began]) if began else []
    held = {unit.events[0].position: unit.first for unit in units if any(event.id in ids for event in unit.events)}
    if not first and not held:
        return session, MAX_POSITION
    start = (first[0].message.replaces or first[0].position) if first else next(iter(held.values()))
    kept = tuple(
        unit
        for unit in units
        if unit.first < start or unit.events[0].position in held or unit.messages[0].event == PRESSURE
    )
    return replace(session, queue=replace(session.queue, units=kept)), start


def cut(units: Sequence[Unit], costs: Sequence[int], *, max_tokens: int, max_rounds: int | None = None) -> int:
    """How many of the oldest units to compact so that the rest fits; the newest visible one always stays.

    Cuts between rounds if the rest then still fills half of ``max_tokens``, otherwise between the steps of a long
    round.
    """
    newest = next((row for row in reversed(range(len(units))) if units[row].shown), 0)
    start, total, rounds = len(units), 0, 0
    for row in reversed(range(len(units))):
        total += costs[row]
        rounds += units[row].opens
        if start <= newest and (total > max_tokens or (max_rounds is not None and rounds > max_rounds)):
            break
        start = row
    else:
        return 0
    opening = next((row for row in range(start, len(units)) if units[row].opens), None)
    full = max_rounds is not None and rounds > max_rounds
    if opening is not None and (full or 2 * sum(costs[opening:]) >= max_tokens):
        return opening
    return start


async def write_state(
    run: Runner, services: Services, before: Session, kind: EventKind, payload: dict[str, Any]
) -> bool:
    """Append the next revision of the state; False if another process was faster, or erased something."""
    name = revision_id("queue", before.state.number + 1)
    draft = present(services).draft(kind, payload, id=name, session=before.scope.session)
    return await append_revision(run, services, before.scope.owner, draft, seen=before.seen) is not None


STATES_BATCH = 32  # queue states read at once, as each contains its whole summary
MAX_SESSIONS = 1000  # the most sessions of one owner whose compactions are summed, those that began compacting last


class QueueProjection(Projection):
    """The queues of sessions: summaries of compacted turns, and memories recalled for the others.

    Attributes:
        shown: cached messages as shown in prompts, with their tokens.
        warned: budgets that were too small, of which callers were warned once.
    """

    kinds = frozenset({EventKind.COMPACTION, EventKind.RESET, EventKind.RECALLED})
    repeats = frozenset({EventKind.COMPACTION, EventKind.RECALLED})

    def __init__(self) -> None:
        self.shown: LruCache[tuple[object, ...], Shown] = LruCache(8192)
        self.warned: LruCache[tuple[Scope, int], bool] = LruCache(1024)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the cached messages."""
        self.shown.clear(lambda key, _: owner in (None, key[0]))

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
        async for events in self.of(run, services, erasure, EventKind.COMPACTION, STATES_BATCH):
            for event in events:
                old = erasure.rewritten.get(event.position, event.payload)
                if (new := _without(old, event.scope, erasure)) != old:
                    erasure.counts["summary lines"] += len(old["summary"]["lines"]) - len(new["summary"]["lines"])
                    erasure.rewrite({event.position: new}, "summaries rewritten")
        async for events in self.of(run, services, erasure, EventKind.RECALLED):
            # Besides memories a note has the question, and may name files of any earlier turn in its session.
            gone = (
                note
                for note in events
                if note.position > erasure.first.get(note.scope, note.position)
                or erasure.made_of((note.payload.get("turn"), *note.sources))
                or erasure.has_words([note.payload["query"], note.payload["text"]])
            )
            erasure.drop(gone, "notes of what was recalled")

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        """The audit of critical items over all sessions; the newest compaction of each has its session's sum."""
        total = Audit()
        kinds = (EventKind.COMPACTION,)
        read, name = services.log.read, revision_id("queue", 1)
        for owner in await run.call(services.log.newest, kinds):
            first = await run.call(read, owner, ids=[name], limit=MAX_SESSIONS, newest=True)
            for scope in {event.scope for event in first}:
                limit = STATES_BATCH if scope == owner else 1
                events = await run.call(read, scope, kinds=kinds, limit=limit, newest=True)
                for event in [event for event in events if event.scope == scope][-1:]:
                    total += Audit(**event.payload["summary"]["audit"])
        return {"compactions": total}


def costs_of(services: Services) -> Costs:
    """Counts the tokens of messages in a prompt."""
    return Costs(services.count, services.state(QueueProjection).shown, services.author)


_WORDS = ("text", "path", "moved_from", "outcome", "failing", "speaker")
"""The fields of summary lines and of entries of a ledger that have words of turns."""


def _without(payload: dict[str, Any], session: Scope, erasure: Erasure) -> dict[str, Any]:
    """The state without the erased turns: lines and entries go with any turn that they came from, or by their words."""

    def left(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            entry
            for entry in entries
            if not erasure.made_of(entry.get("sources", ()), session.session)
            and not erasure.has_words([entry.get(name) for name in _WORDS])
        ]

    old, before = payload["summary"], payload["summary"]["artifacts"]
    files = {name: left(entries) if isinstance(entries, list) else entries for name, entries in before.items()}
    if files != before or erasure.has_words(files.get("root")):
        files["root"] = ""  # nobody knows which turn it came from
    return {
        **payload,
        "summary": {**old, "lines": left(old["lines"]), "artifacts": files},
        "kept": [place for place in payload["kept"] if place not in erasure.places],
        "anchor": 0 if payload["anchor"] in erasure.places else payload["anchor"],
    }
