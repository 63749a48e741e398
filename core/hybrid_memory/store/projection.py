"""Projections: state derived from the log, the events it depends on, and how it forgets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from hybrid_memory.display import Progress
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import RESERVED
from hybrid_memory.log.port import Appended, Draft, EventLog, LogState, Receipt
from hybrid_memory.log.views import Horizon, Stretches
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import BATCH, RESTORE, Finding
from hybrid_memory.store.erasure import STREAM_BATCH, Erasure, stream
from hybrid_memory.store.services import Services

Newest: TypeAlias = Mapping[Scope, Mapping[EventKind | None, Event]]
"""The last events of every owner by kind; that of any kind under None."""


class Projection:
    """State derived from events of some kinds; `Services.states` holds one object per type.

    Rebuilding, migrating, forgetting and counting visit all of them in registration order.

    Attributes:
        kinds: its kinds of events, which no other projection has.
        repeats: those kinds whose events may repeat words of turns.
        progress: the kinds whose last events `unfinished` compares.
    """

    kinds: ClassVar[frozenset[EventKind]] = frozenset()
    repeats: ClassVar[frozenset[EventKind]] = frozenset()
    progress: ClassVar[frozenset[EventKind]] = frozenset()

    def clear(self, owner: Scope | None = None) -> None:
        """Drop what is cached for this owner, or for all, after something was destroyed or before a rebuild."""

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark those of the owner's events that may repeat words of the turns; all of them if a user is forgotten."""
        if erasure.everything:
            for kind in sorted(self.repeats):
                async for events in self.of(run, services, erasure, kind):
                    erasure.drop(events, f"{kind} events")

    def of(
        self, run: Runner, services: Services, erasure: Erasure, kind: EventKind, size: int = STREAM_BATCH
    ) -> AsyncIterator[list[Event]]:
        """Its events of this kind that an erasure examines, in batches."""
        return stream(run, services.truth, erasure.scope.owner, kinds=(kind,), after=erasure.after, size=size)

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Do this owner's deferred work; returns what was learned, indexed and embedded."""
        return Receipt()

    async def unfinished(self, run: Runner, services: Services, newest: Newest) -> set[Scope]:
        """The owners for whom `derive` has work, given the last events of every owner."""
        return set()

    async def findable(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Event]:
        """The events, some of which are its own, without those that should no longer be found."""
        return events

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        """Its part of `hybrid_memory.memory.store.Stats`, by field; ``heads`` are the last positions of all owners."""
        return {}

    def parse(self, event: Event) -> object:
        """The content of one of its events; raises `LookupError`, `TypeError` or `ValueError` if it is invalid."""
        return event.payload

    def check(self, log: EventLog, owner: Scope) -> Iterator[Finding]:
        """Its events that cannot be parsed."""
        after = 0
        while events := log.read(owner, after=after, kinds=self.kinds, limit=BATCH) if self.kinds else ():
            after = events[-1].position
            for event in events:
                try:
                    self.parse(event)
                except (LookupError, TypeError, ValueError) as error:
                    text = f"#{event.position} of {owner} is no {event.kind}: {type(error).__name__}: {error}"
                    yield Finding("log", "wrong", text, RESTORE)

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the events behind an object that it returned; None for other objects."""
        return None


def projections(services: Services) -> list[Projection]:
    """The projections of this memory."""
    return [state for state in services.states if isinstance(state, Projection)]


class Folded(Protocol):
    """A state that events update one after another."""

    @property
    def position(self) -> int:
        """The position of the last event."""

    def after(self, events: Iterable[Event]) -> Self:
        """The state after these events, which follow by position."""


S = TypeVar("S", bound=Folded)

Key: TypeAlias = tuple[Scope, Stretches, Horizon | None]
"""An owner, and what is hidden from the view; replaced messages do not change the state."""


class FoldedProjection(Projection, Generic[S]):
    """A projection that updates its state with the events since the last read.

    Attributes:
        start: the state before the first event.
        follows: kinds of the events that change it.
        anew: those of them after which all events must be read again, such as an erasure that changes their payloads.
        capacity: how many states to cache.
    """

    start: Callable[[], S]
    follows: ClassVar[frozenset[EventKind]]
    anew: ClassVar[frozenset[EventKind]] = frozenset()
    capacity: ClassVar[int] = 1024

    def __init__(self) -> None:
        self._cache: LruCache[Key, tuple[S, str]] = LruCache(self.capacity)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the states that an erasure may change."""
        if self.anew:
            self._cache.clear(lambda key, _: owner in (None, key[0]))

    async def read(self, run: Runner, services: Services, owner: Scope) -> S:
        """The state after all events of the owner, hidden or not."""
        return await self.read_log(run, services.truth, (owner.owner, (), None))

    async def read_log(self, run: Runner, log: EventLog, key: Key, state: LogState | None = None) -> S:
        """The state after the events that this log shows; ``state`` is that of the owner's log, with these kinds."""
        owner = key[0]
        known, mark = self._cache.get(key) or (self.start(), "")
        if state is not None and (known.position, mark) == state.newest(self.follows):
            return known
        # The last one again: after a log was set back, another event may have its position.
        last, news = None, await run.call(log.read, owner, after=max(known.position - 1, 0), kinds=self.follows)
        if known.position and news:
            last, *news = news
        lost = known.position and (last is None or last.mark != mark)
        if lost or (known.position and any(event.kind in self.anew for event in news)):
            known = self.start()
            news = await run.call(log.read, owner, kinds=self.follows)
        if news:
            known = await run.call(known.after, news)
            self._cache.put(key, (known, news[-1].mark))
        return known


def revision_id(name: str, number: int) -> str:
    """The id of a revision; the first writer gets it, and it determines the id of the next one."""
    return f"{RESERVED}{name}:{number}"


def number_of(event: Event | None) -> int:
    """The number of a revision; 0 if there is none."""
    return 0 if event is None else int(event.id.rpartition(":")[2])


async def append_revision(
    run: Runner,
    services: Services,
    owner: Scope,
    revision: Draft,
    drafts: Sequence[Draft] = (),
    *,
    seen: int | None = None,
) -> list[Appended] | None:
    """Append the next revision of something, alone or with other drafts; None if another writer was faster.

    Also None if something was erased after ``seen``, the last position before the data it is based on was read.

    Raises:
        IdConflictError: an id of the other drafts is taken.
    """
    try:
        return await run.call(services.truth.append, owner, drafts or [revision], seen=seen)
    except OutdatedError:
        return None
    except IdConflictError:
        taken = await run.call(services.truth.get, owner, [revision.id])
        if not any(event.scope.session == revision.session for event in taken):
            raise
        return None
