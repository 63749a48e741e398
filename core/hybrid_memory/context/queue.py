"""L1: the recent turns of a session, read from the log after a cursor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from hybrid_memory.context.state import QueueState
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.exchanges import exchanges
from hybrid_memory.log.message import Message, Role
from hybrid_memory.scope import Scope


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

    @property
    def visible(self) -> tuple[Unit, ...]:
        """What a chat model accepts as a conversation: complete units, from the user's first turn on.

        Before it is only what an assistant says that speaks first.
        """
        shown = [unit for unit in self.units if unit.shown]
        start = next((row for row, unit in enumerate(shown) if unit.opens), len(shown))
        opening = [unit for unit in shown[:start] if unit.role is Role.ASSISTANT and not unit.messages[0].tool_calls]
        return (*opening, *shown[start:])


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


def queue(events: Iterable[Event]) -> Queue:
    """The queue formed by these events of a session, by position: what was kept, and what followed."""
    notes = _Notes()
    said: list[Event] = []
    for event in events:
        if event.kind is EventKind.RECALLED:
            notes.add(event)
        elif event.kind is EventKind.MESSAGE:
            said.append(event)
    units = [
        Unit(tuple(said[row] for row in exchange.rows), shown=exchange.complete, pending=exchange.pending)
        for exchange in exchanges([event.message for event in said])
    ]
    return _split(*notes.given_to(units))


def _split(units: Sequence[Unit], waiting: Mapping[str, str]) -> Queue:
    """The leading system messages are instructions, unless they report an event."""
    others = (row for row, unit in enumerate(units) if unit.role is not Role.SYSTEM or unit.messages[0].event)
    count = next(others, len(units))
    return Queue(instructions=tuple(units[:count]), units=tuple(units[count:]), waiting=waiting)


class _Notes:
    """Which memories were recalled for which turn: one already in the log, or the next one with these words."""

    def __init__(self) -> None:
        self._by_id: dict[str, Event] = {}
        self._coming: list[Event] = []

    def add(self, event: Event) -> None:
        turn = event.payload.get("turn")
        if isinstance(turn, str):
            self._by_id[turn] = event
        else:
            self._coming.append(event)

    def given_to(self, units: Sequence[Unit]) -> tuple[list[Unit], dict[str, str]]:
        given = []
        coming = self._coming
        for unit in units:
            event = None
            if unit.opens:
                before = [event for event in coming if event.position < unit.first]
                coming = coming[len(before) :]
                words = unit.messages[0].text.strip()
                asked = next((event for event in reversed(before) if event.payload["query"] == words), None)
                event = self._by_id.get(unit.events[0].id, asked)
            note = {} if event is None else {"note": event.payload["text"], "recalled": event.sources}
            given.append(replace(unit, **note) if note else unit)
        return given, {event.payload["query"]: event.payload["text"] for event in coming}


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
