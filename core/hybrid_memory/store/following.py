"""How an index follows the log: it derives records from new events, drops erased ones, and goes back with the log."""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias
from uuid import uuid4

from hybrid_memory.display import Progress, counted
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.port import Entry, SemanticIndex, Status, Use
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogState, Receipt
from hybrid_memory.models.port import Embedder, MediaEmbedder
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import anchor_of, anchored, astray
from hybrid_memory.store.projection import Newest, Projection, projections
from hybrid_memory.store.services import Services

Erased: TypeAlias = Mapping[str, Any]
"""The payload of an event that records an erasure."""

Pending: TypeAlias = Sequence[tuple[Record, Record | None]]
"""Records without a vector yet, each with the previous turn of its segment."""

EMBED_BATCH = 32

LEASE_SECONDS = 30.0
"""For so long a process works for an owner alone: one that dies keeps others waiting."""

LEASE_PAUSE = 0.05

AT_ONCE = 2_000
"""A recall makes up to this many missing vectors itself; more are left to background work, if enabled."""

SEEN_CACHE = 4096
"""For how many owners a process remembers the last event it saw."""

MAX_LISTED = 1_000_000
"""Records of one owner listed at once."""

_log = logging.getLogger(__name__)


class IndexProjection(Projection):
    """An index of records that follows the log.

    Attributes:
        reads: kinds of the events it follows; empty for all.
        batch: how many events to read at once; taken: how many records whose vectors are taken over at once.
        version: of the derivation; an index of another version is derived again when it is next followed.
        emptied: whether it was dropped and does not contain everything in the log yet.
        left: owners whose vectors a recall left to background work.
        storing: held while vectors are stored, and while the embedder is replaced.
    """

    reads: ClassVar[tuple[EventKind, ...]] = ()
    batch: ClassVar[int] = 2048
    taken: ClassVar[int] = 512
    version: ClassVar[str] = ""

    def __init__(self) -> None:
        self._seen: LruCache[Scope, tuple[int, str]] = LruCache(SEEN_CACHE)
        self._filling = Counter[Scope]()
        self._holder = uuid4().hex
        self._alone: dict[Scope, float] = {}
        self._lock = threading.Lock()
        self.storing = threading.Lock()
        self.emptied = False
        self.left: set[Scope] = set()

    @abstractmethod
    def port(self, services: Services) -> SemanticIndex:
        """The index itself."""

    def exists(self, services: Services) -> bool:
        """Whether this memory has it."""
        return True

    @abstractmethod
    def model(self, services: Services) -> Embedder | MediaEmbedder | None:
        """The embedder of its records; None if they get no vectors."""

    def embeds(self, services: Services) -> bool:
        """Whether its records get vectors."""
        return self.model(services) is not None

    @abstractmethod
    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        """The index entries for new events."""

    @abstractmethod
    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of erased events; returns how many there were."""

    @abstractmethod
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        """Give pending records their vectors, in batches that each survive a crash; returns how many."""

    async def embed_alone(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> int:
        """Like `embed`, after what another process does for this owner."""
        if not (await run.call(self.port(services).status, owner, pending=1)).pending:
            return 0
        async with self.alone(run, services, owner, progress):
            return await self.embed(run, services, owner, progress)

    @asynccontextmanager
    async def alone(
        self, run: Runner, services: Services, owner: Scope, progress: Progress | None
    ) -> AsyncIterator[None]:
        """Inside the block, no other process that asks for it works for this owner, as long as it calls `go_on`."""
        index = self.port(services)
        while not await run.call(index.lease, owner, self._holder, LEASE_SECONDS):
            if progress is not None:
                progress(0, 0)  # which raises where nobody waits any more
            await run.call(time.sleep, LEASE_PAUSE)
        self._alone[owner] = time.monotonic()
        try:
            yield
        finally:
            self._alone.pop(owner, None)
            await run.call(index.lease, owner, self._holder, 0)

    async def go_on(self, run: Runner, services: Services, owner: Scope) -> None:
        """Keep other processes waiting, inside the block of `alone`; elsewhere it does nothing."""
        since = self._alone.get(owner)
        if since is not None and time.monotonic() - since > LEASE_SECONDS / 3:
            await run.call(self.port(services).lease, owner, self._holder, LEASE_SECONDS)
            self._alone[owner] = time.monotonic()

    async def take_over(
        self, run: Runner, services: Services, owner: Scope, donor: SemanticIndex
    ) -> AsyncIterator[int]:
        """Give pending records vectors that another index has for their content; yields how many, per batch."""
        index, without = self.port(services), 0
        model, embedder = self.model(services), await run.call(donor.embedder)
        if model is None or embedder is None or embedder[0] != model.name:
            return
        while pending := (await run.call(index.status, owner, pending=without + self.taken)).pending[without:]:
            records = await run.call(index.get, pending)
            before = await run.call(index.previous, owner, records)
            keys = await self.keys(run, services, owner, [(one, before.get(one.id)) for one in records], donor)
            known = await run.call(donor.known, list(dict.fromkeys(keys.values())))
            found = {number: key for number, key in keys.items() if key in known}
            if found:
                await run.call(index.put_vectors, embedder, found, known)
            without += len(pending) - len(found)
            yield len(found)

    @abstractmethod
    async def keys(
        self, run: Runner, services: Services, owner: Scope, pending: Pending, donor: SemanticIndex
    ) -> dict[int, bytes]:
        """For each record id, the content key under which another index may have its vector."""

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite destroyed data in files of its own; see `SemanticIndex.scrub`."""
        await run.call(self.port(services).scrub)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Finish the cleaning after another process erased something, in case that process was killed."""
        if count:
            await scrubbed(run, self.port(services).scrub)

    async def records(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Record]:
        """The records of these events, without the fields that only the index needs."""
        return [entry.record for entry in await self.entries(run, services, owner, events)]

    def place(self, record: Record) -> int:
        """Position of the event that a record was made from."""
        return record.id

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events, and drop those of erased ones; returns how many are new."""
        state = await run.call(services.truth.state, owner)
        return (await self._followed(run, services, owner, state))[0]

    async def _followed(
        self, run: Runner, services: Services, owner: Scope, state: LogState, *, pending: int = 0, sums: bool = False
    ) -> tuple[int, Status]:
        """Bring the index up to this state of the log; returns how many records are new, and the index's own state."""
        count, index, head = 0, self.port(services), state.head
        marks = {0: "", head: state.mark}  # of the log's events, by position
        while True:
            status = await run.call(index.status, owner, pending=pending, sums=sums)
            after = status.applied
            if after not in marks:
                marks[after] = await run.call(services.truth.mark, owner, after)
            mark, version = anchored(status)
            older = after and version != self.version
            if older or (mark != marks[after] and await run.call(astray, services.truth, owner, status)):
                with services.statistics.timed("realigning"):
                    await self._realign(run, services, owner, status)
                continue
            await self._note(run, services, owner.owner, (after, marks[after]), marks)
            if after >= head:
                return count, status
            events = await run.call(
                services.truth.read, owner.owner, after=after, upto=head, kinds=self.reads, limit=self.batch
            )
            if erased := [event.payload for event in events if event.kind is EventKind.ERASED]:
                dropped = sum([await self.unindex(run, services, owner, one) for one in erased])
                await self.clean(run, services, erased, dropped)
            entries = await self.entries(run, services, owner, events)
            upto = events[-1].position if len(events) == self.batch else head
            if upto < head:
                marks[upto] = events[-1].mark
            anchor, uses = anchor_of(marks[upto], self.version), uses_of(events)
            # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
            seen = status.anchor
            if await run.call(
                index.upsert, owner, entries, after=after, seen=seen, upto=upto, anchor=anchor, uses=uses
            ):
                count += len(entries)

    async def _note(
        self, run: Runner, services: Services, owner: Scope, seen: tuple[int, str], marks: Mapping[int, str]
    ) -> None:
        """Drop cached data of a history that the log no longer has, if another process repaired the index."""
        before = self._seen.get(owner)
        if before == seen:
            return
        if before is not None:
            mark = marks.get(before[0]) or await run.call(services.truth.mark, owner, before[0])
            if mark != before[1]:
                _clear(services)
        self._seen.put(owner, seen)

    async def _realign(self, run: Runner, services: Services, owner: Scope, status: Status) -> None:
        """Go back to where the index agrees with the log, without records of later events; to 0 in another version.

        The position is written last, so that whoever follows next finishes what a crash left undone.
        """
        index, truth = self.port(services), services.truth
        older = anchored(status)[1] != self.version
        upto, standing = (0, set[int]()) if older else await self._agreement(run, services, owner, status.applied)
        size = await run.call(index.size)
        stored = await run.call(index.latest, Where(owner.owner), min(size.records, MAX_LISTED))
        stale = [number for number in stored.tolist() if number not in standing]
        anchor = anchor_of(await run.call(truth.mark, owner, upto), self.version) if upto else ""
        at, seen = status.applied, status.anchor
        # Where another process was faster, nothing goes: what is stale here may be new by now, under the same id.
        if await run.call(index.upsert, owner, [], after=at, seen=seen, upto=upto, anchor=anchor, gone=stale):
            reason = "is of another version" if older else "had seen events that the restored log no longer has"
            _log.warning(
                "the index of %s, at #%d, %s: %d records were dropped, and events after #%d are indexed again",
                *(owner.owner, at, reason, len(stale), upto),
            )
        _clear(services)

    async def _agreement(self, run: Runner, services: Services, owner: Scope, applied: int) -> tuple[int, set[int]]:
        """The position up to which the index agrees with the log, and the ids of the records up to there."""
        standing: set[int] = set()
        upto, same = 0, attrgetter("scope", "kind", "text", "at", "turn", "sources")
        while events := await run.call(
            services.truth.read, owner.owner, after=upto, upto=applied, kinds=self.reads, limit=self.batch
        ):
            records = await self.records(run, services, owner, events)
            there = await run.call(self.port(services).get, [record.id for record in records])
            stored = {record.id: same(record) for record in there}  # made from the same events
            differing = [self.place(record) for record in records if stored.get(record.id) != same(record)]
            end = min(differing, default=applied + 1)
            standing |= {one.id for one in records if self.place(one) < end}
            upto = max([upto, *(event.position for event in events if event.position < end)])
            if end <= applied:
                break
        return upto, standing

    async def drop(
        self, run: Runner, services: Services, owner: Scope, erased: Erased, between: Sequence[Event]
    ) -> int:
        """Remove what the log has just erased from the index; returns how many records there were.

        ``between`` are turns that came after the index last followed and before the erasure.
        """
        count = await self.unindex(run, services, owner, erased)
        await self.follow(run, services, owner)
        return count

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Bring the owner's part of the index up to date, including vectors."""
        indexed = await self.follow(run, services, owner) if self.exists(services) else 0
        if not self.exists(services) or not self.embeds(services):
            return Receipt(indexed=indexed)
        with self.filling(owner):
            embedded = await self.embed_alone(run, services, owner, progress)
        await run.call(self.port(services).train, owner)
        return Receipt(indexed=indexed, embedded=embedded)

    async def unfinished(self, run: Runner, services: Services, newest: Newest) -> set[Scope]:
        if not self.exists(services):
            return set()
        statuses = await run.call(self.port(services).statuses, list(newest))
        return {
            owner
            for owner, status in statuses.items()
            if None not in (last := newest[owner])
            or anchored(status) != (last[None].mark, self.version)
            or (self.embeds(services) and status.pending)
        }

    @contextmanager
    def filling(self, owner: Scope) -> Iterator[None]:
        """Inside the block, background work makes this owner's vectors, and a recall does not wait for all of them."""
        self.left.discard(owner)
        with self._lock:
            self._filling[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._filling -= Counter([owner])

    async def catch_up(
        self, run: Runner, services: Services, owner: Scope, state: LogState | None = None
    ) -> tuple[Status, str]:
        """Index new events before a recall.

        Returns the state of the index, with sums if its records get vectors, and a note if vectors are missing or
        nothing may be indexed. ``state`` is that of the owner's log, if known.
        """
        embeds, most = self.embeds(services), EMBED_BATCH if self._filling[owner] else AT_ONCE
        state = await run.call(services.truth.state, owner) if state is None else state
        if services.read_only:
            status = await run.call(self.port(services).status, owner, pending=int(embeds), sums=embeds)
            if anchored(status)[0] != state.mark and await run.call(astray, services.truth, owner, status):
                raise StoreUnavailableError(f"the log of {owner} was restored to before its index: open it for writing")
            if status.applied < state.head:
                behind = await run.call(services.truth.count, owner, after=status.applied)
                return status, f"read-only: {behind:,} new events are not indexed"
            return status, await self._missing(run, services) if status.pending else ""
        pending = most + 1 if embeds else 0
        _, status = await self._followed(run, services, owner, state, pending=pending, sums=embeds)
        if not status.pending:
            return status, ""
        note = await self._embedded(run, services, owner, len(status.pending), most)
        return await run.call(self.port(services).status, owner, sums=True), note

    async def _embedded(self, run: Runner, services: Services, owner: Scope, pending: int, most: int) -> str:
        """Make some of the missing vectors, as far as a recall waits for them; returns a note if some remain."""
        work = services.config.orchestration
        if pending > most and (self._filling[owner] or work.background):
            self.left |= set() if self._filling[owner] else {owner}
            return await self._missing(run, services)
        until = time.monotonic() + work.model_timeout.total_seconds()

        def enough(done: int, total: int) -> None:
            if done < total and time.monotonic() > until:
                raise ModelError(_unmade(total - done))

        try:
            await self.embed(run, services, owner, enough)
        except ModelError as error:
            _log.warning("%s; the records are indexed, their vectors are made later", error)
            return str(error)
        return ""

    async def _missing(self, run: Runner, services: Services) -> str:
        return _unmade((await run.call(self.port(services).size)).pending)


def _unmade(count: int) -> str:
    return f"{counted(count, 'vector')} still to be made, what has none is found by its words"


def _clear(services: Services) -> None:
    for projection in projections(services):
        projection.clear()


def uses_of(events: Sequence[Event]) -> dict[int, Use]:
    """How often these events record a use of each record."""
    uses: dict[int, Use] = {}
    for event in events:
        if event.kind is EventKind.USED:
            for number, count in event.payload["uses"]:
                before = uses.get(number, Use(0, event.at))
                uses[number] = Use(before.count + count, max(before.at, event.at))
    return uses


async def scrubbed(run: Runner, scrub: Callable[[], None]) -> None:
    """Scrub now, or report that it will be done later if another process prevents it."""
    try:
        await run.call(scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; erased data is cleaned up later", error)
