"""A log as it was at one moment, of which an engine has sent the newest events together with its state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, EventLog, LogState, Reading, Selection
from hybrid_memory.log.views import DelegatingLog
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.scope import Scope

NEWEST = 64  # the most events that are sent with the state of a log
KEPT = 512  # the most events of an owner in a tail
READS, READ_EVENTS = 16, 512  # how many answers to earlier reads are kept for an owner, and the most events of one


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest events of an owner: all after a position. The next one is made with what came since.

    ``reads`` are answers to earlier reads, each with the position up to which it goes.
    """

    after: int = 0
    events: Sequence[Event] = ()
    reads: LruCache[tuple[str | None, Selection], tuple[int, list[Event]]] = field(
        default_factory=lambda: LruCache(READS)
    )

    @property
    def head(self) -> int:
        """The position of the last event."""
        return self.events[-1].position if self.events else 0

    def then(self, newest: Sequence[Event], head: int) -> Tail:
        """The tail up to this position, with the newest events, at most `NEWEST`, from its last one on.

        It begins anew if they do not follow it, as after a log was set back, or if something was erased. Events after
        the position came since that was read; they count as the others that are not among so few.
        """
        start = newest[0].position - 1 if len(newest) >= NEWEST else max(self.head - 1, 0)
        newest = [event for event in newest if event.position <= head]
        follows = bool(newest) and newest[:1] == list(self.events[-1:])
        if follows and all(event.kind is not EventKind.ERASED for event in newest[1:]):
            events = [*self.events, *newest[1:]]
            dropped = max(len(events) - KEPT, 0)
            after = events[dropped - 1].position if dropped else self.after
            return Tail(after, events[dropped:], self.reads)
        return Tail(start, newest)

    def read(self, session: str | None, which: Selection) -> list[Event] | None:
        """The events of this session, or of all, that match; None if only the log knows them."""
        mine = [event for event in self.events if session in (None, event.scope.session)]
        events = which.of(mine)
        newest = which.newest and which.limit is not None and len(events) >= which.limit
        if not newest and which.after < self.after:
            upto, earlier = self.reads.get((session, replace(which, upto=None))) or (-1, [])
            if upto < self.after or (which.upto is not None and upto > which.upto):
                return None
            later = replace(which, after=max(which.after, upto), limit=None).of(mine)
            events = which.cut([*earlier, *later])
        return events


class MomentLog(DelegatingLog):
    """A log for one verb, as it was when that first asked for its state, or last wrote to it.

    What the engine sent with the state is not asked for again. Of an engine that sends nothing, everything is read.
    """

    def __init__(self, log: EventLog) -> None:
        super().__init__(log)
        self._states: dict[Scope, LogState] = {}
        self._kinds: dict[Scope, frozenset[EventKind]] = {}

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        state, asked = self._states.get(owner.owner), self._kinds.get(owner.owner, frozenset())
        if state is None or not asked.issuperset(kinds):
            asked = asked.union(kinds)  # after a write, the same verb asks for most of them again
            state = self._log.state(owner, asked)
            if state.tail is not None:
                self._states[owner.owner], self._kinds[owner.owner] = state, asked
        return state

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        state, wanted = self._states.get(scope.owner), Selection(**which)
        if state is None or state.tail is None or wanted.ids is not None or wanted.after > state.head:
            return self._log.read(scope, **which)
        wanted = replace(wanted, kinds=frozenset(wanted.kinds))
        events: list[Event] | None = state.tail.read(scope.session, wanted)
        if events is None:
            events = self._log.read(scope, **which)
            if len(events) <= READ_EVENTS and all(event.position <= state.head for event in events):
                upto = state.head if wanted.upto is None else min(wanted.upto, state.head)
                state.tail.reads.put((scope.session, replace(wanted, upto=None)), (upto, events))
        return events

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        state = None if scope is None else self._states.get(scope.owner)
        if scope is None or state is None:
            return self._log.heads(scope)
        return {scope.owner: state.head} if state.head else {}

    def append(self, owner: Scope, *args: Any, **kwargs: Any) -> list[Appended]:
        self._states.pop(owner.owner, None)
        return self._log.append(owner, *args, **kwargs)

    def erase(self, owner: Scope, *args: Any, **kwargs: Any) -> Appended:
        self._states.pop(owner.owner, None)
        return self._log.erase(owner, *args, **kwargs)
