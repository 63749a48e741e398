"""The index of texts (L2): it follows the log, makes vectors, drops what was erased, and goes back with the log."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CleaningLevel
from hybrid_memory.display import Progress, counted
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import anchor_of, anchored, derive, index_terms, passage_and_alone
from hybrid_memory.index.port import Entry, SemanticIndex, Status, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogState, Receipt
from hybrid_memory.log.views import runs
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import astray
from hybrid_memory.store.projection import Newest, Projection, projections
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_a_moment
from hybrid_memory.text.asking import SHORT_CHARS, SURE, emptiness, says_nothing, tells

T = TypeVar("T")

Pending: TypeAlias = Sequence[tuple[Record, Record | None]]
"""Records without a vector yet, each with the previous turn of its segment."""

EMBED_BATCH = 32
EVENT_BATCH = 2048  # events followed at once
LEASE_PAUSE = 0.05  # seconds
MAX_LISTED = 1_000_000  # records of one owner listed at once

LEASE_SECONDS = 30.0  # for so long a process works for an owner alone: one that dies keeps others waiting
AT_ONCE = 2_000  # a recall makes up to this many missing vectors itself; more are left to background work, if enabled

_log = logging.getLogger(__name__)


async def embedding(run: Runner, method: Callable[[T], Floats], argument: T) -> Floats:
    """The embedder's result; any failure raises `ModelError`."""
    try:
        return await run.call(method, argument)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the embedder failed: {type(error).__name__}: {error}") from error


class TextIndex(Projection):
    """The index of texts, which follows the log.

    Args:
        embeddings: vectors of queries and texts, as cached for the embedder.

    Attributes:
        version: of the derivation; an index of another version is derived again when it is next followed.
        emptied: whether it was dropped and does not contain everything in the log yet.
        left: owners whose vectors a recall left to background work.
        settled: the last positions of owners that had no derived work left.
        storing: held while vectors are stored, and while the embedder is replaced.
    """

    version = "3"

    def __init__(self, embeddings: LruCache[bytes, Floats] | None = None) -> None:
        self._embeddings = embeddings
        self._filling = Counter[Scope]()
        self._holder = uuid4().hex
        self._alone: dict[Scope, float] = {}
        self._lock = threading.Lock()
        self.storing = threading.Lock()
        self.emptied = False
        self.left: set[Scope] = set()
        self.settled: dict[Scope, int] = {}

    def clear(self, owner: Scope | None = None) -> None:
        """Drop what has no owner when everything is rebuilt: cached vectors, and who had no work left."""
        if owner is None:
            self.settled.clear()
            if self._embeddings is not None:
                self._embeddings.clear()

    def sources(self, item: object) -> Sequence[str] | None:
        return item.sources if isinstance(item, Record) else None

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events, and drop those of erased ones; returns how many are new."""
        services = in_a_moment(services)
        state = await run.call(services.truth.state, owner)
        count, *_ = await self._followed(run, services, owner, state)
        return count

    async def _followed(
        self, run: Runner, services: Services, owner: Scope, state: LogState, *, pending: int = 0, sums: bool = False
    ) -> tuple[int, Status, bool, str]:
        """Bring the index up to this state of the log; with ``sums`` also the vectors of a few new records.

        Returns how many records are new, the state of the index, whether any have changed since that was read, so that
        its sums are older, and why the model did not make the vectors.
        """
        index, head, count, moved, note = services.index, state.head, 0, False, ""
        status: Status = state.index or await run.call(index.status, owner, pending=pending, sums=sums)
        while True:
            after = status.applied
            events, mark = await _news(run, services, owner, after) if after != head else ([], state.mark)
            if await self._realigned(run, services, owner, status, mark):
                status = await run.call(index.status, owner, pending=pending, sums=sums)
                continue
            if after >= head:
                return count, status, moved, note
            erased = [event.payload for event in events if event.kind is EventKind.ERASED]
            if erased:
                await self._drop(run, services, owner, erased)
            # Its columns do not have what was written since.
            derived = await _derived(run, services, owner, events, None if erased or moved else status)
            # A server that evicts may have lost them.
            upto, mark = (events[-1].position, events[-1].mark) if events else (head, state.mark)
            anchor, uses, cleaning = anchor_of(mark, self.version), uses_of(events), services.config.cleaning
            move: dict[str, Any] = {"after": after, "upto": upto, "anchor": anchor, "seen": status.anchor, "uses": uses}
            entries, made = [Entry(record, index_terms(record, cleaning)) for record, _ in derived], None
            if sums and 0 < len(derived) < EMBED_BATCH and not (status.pending or erased):
                store = partial(index.store, owner, entries, **move)
                made, note = await self._with_vectors(run, services, owner, derived, store)
            # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
            stored = made is not None or await run.call(index.upsert, owner, entries, **move)
            if stored:
                moved, count = moved or bool(entries or uses or erased), count + len(derived)
            if made is not None:
                status, moved = made, False
            elif stored and not erased:
                waiting = [*status.pending, *(record.id for record, _ in derived)][:pending]
                status = replace(status, applied=upto, anchor=anchor, pending=waiting)
            else:
                status = await run.call(index.status, owner, pending=pending, sums=sums)

    async def _with_vectors(
        self,
        run: Runner,
        services: Services,
        owner: Scope,
        derived: Pending,
        store: Callable[..., Status | None],
    ) -> tuple[Status | None, str]:
        """Store new records together with their vectors; returns the new state of the index.

        None if that failed, and why if the model did.
        """
        made: list[Status | None] = []
        try:
            await self.embed(run, services, owner, fresh=derived, put=lambda *vectors: made.append(store(*vectors)))
        except ModelError as error:
            return None, _later(error)
        return (made[0] if made else None), ""

    async def _drop(self, run: Runner, services: Services, owner: Scope, erased: Sequence[Mapping[str, Any]]) -> None:
        """Drop the records of what was erased."""
        for one in erased:
            await self._unindex(run, services, owner, one)
        if any(one.get("scrub", "now") == "now" for one in erased):
            # The process that erased it may have been killed before it cleaned the log.
            try:
                await run.call(services.truth.scrub)
            except StoreUnavailableError as error:  # another process prevents it
                _log.warning("%s; erased data is cleaned up later", error)

    async def _realigned(self, run: Runner, services: Services, owner: Scope, status: Status, mark: str) -> bool:
        """Whether the index was of another version or history than the log, whose mark at its position this is.

        The owner's part of it is then empty, so that everything is indexed again.
        """
        index = services.index
        stored, version = anchored(status.anchor)
        older = bool(status.applied) and version != self.version
        if not older and (stored == mark or not await run.call(astray, services.truth, owner, status)):
            return False
        with services.statistics.timed("realigning"):
            size = await run.call(index.size)
            stale = (await run.call(index.latest, Where(owner.owner), min(size.records, MAX_LISTED))).tolist()
            at, seen = status.applied, status.anchor
            # Where another process was faster, nothing goes: what is stale here may be new by now, under the same id.
            if await run.call(index.upsert, owner, [], after=at, seen=seen, upto=0, anchor="", gone=stale):
                reason = "is of another version" if older else "had seen events that the restored log no longer has"
                _log.warning(
                    "the index of %s, at #%d, %s: %d records were dropped, and all events are indexed again",
                    *(owner.owner, at, reason, len(stale)),
                )
            self.settled.clear()  # all other caches compare the marks of events
        return True

    async def erase(
        self,
        run: Runner,
        services: Services,
        owner: Scope,
        positions: Iterable[int],
        rewritten: Mapping[int, dict[str, Any]] | None = None,
        *,
        seen: int | None = None,
        **more: Any,
    ) -> int:
        """Destroy events of the owner, rewrite others, and remove both from the index.

        Returns how many records were removed. The log notes ``more``: ``scrub``, if followers should clean up
        immediately, and the tombstones.

        Raises:
            OutdatedError: there are events after ``seen``; nothing was destroyed.
        """
        log, gone = services.truth, sorted(positions)
        payload = {"positions": [list(stretch) for stretch in runs(gone)], **more}
        begun = await run.call(log.head, owner)
        # A process that has read the events already can then no longer index them.
        await self.follow(run, services, owner)
        note = services.draft(EventKind.ERASED, payload)
        upto = (await run.call(log.erase, owner, gone, rewritten or {}, note, seen=seen)).position
        between = await run.call(log.read, owner.owner, after=begun, upto=upto, kinds=(EventKind.MESSAGE,))
        count = await self._unindex(run, services, owner, payload)
        await self.follow(run, services, owner)
        # Another process may have derived terms from it, at this moment, for the turns that came in between.
        while True:
            status = await run.call(services.index.status, owner)
            if await self._again(run, services, owner, status, [event.position for event in between]):
                return count

    async def _unindex(self, run: Runner, services: Services, owner: Scope, erased: Mapping[str, Any]) -> int:
        """Drop the records of events erased by this payload; the turns after them are embedded again without them."""
        index, positions = services.index, [p for first, last in erased["positions"] for p in range(first, last + 1)]
        records = await run.call(index.get, positions)
        if all(record.kind is RecordKind.ITEM for record in records):  # nothing was made with their words
            return await run.call(index.delete, [record.id for record in records])
        ids = np.array(positions, dtype=np.int64)
        while True:
            status = await run.call(index.status, owner)
            around = await run.call(index.columns, ids, Where(owner.owner), 1)
            gone = np.isin(around.ids, ids)
            keys = set(zip(around.segments[gone].tolist(), (around.ordinals[gone] + 1).tolist(), strict=True))
            rows = zip(around.ids.tolist(), around.segments.tolist(), around.ordinals.tolist(), strict=True)
            followers = [place for place, segment, ordinal in rows if (segment, ordinal) in keys and place not in ids]
            if await self._again(run, services, owner, status, followers):
                return await run.call(index.delete, around.ids[gone].tolist())

    async def _again(
        self, run: Runner, services: Services, owner: Scope, status: Status, places: Sequence[int]
    ) -> bool:
        """Re-embed these turns; returns False and changes nothing if the index advanced since this status."""
        cleaning = services.config.cleaning
        records = await run.call(services.index.get, places)
        entries = [Entry(record, index_terms(record, cleaning)) for record in records]
        at, anchor = status.applied, status.anchor
        return not entries or await run.call(services.index.upsert, owner, entries, after=at, upto=at, anchor=anchor)

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite destroyed data, if the index has files of its own."""
        if services.config.index.url not in {None, services.config.url}:
            await run.call(services.index.scrub)

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Bring the owner's part of the index up to date, including vectors."""
        indexed = await self.follow(run, services, owner)
        if services.embedder is None:
            return Receipt(indexed=indexed)
        with self.filling(owner):
            embedded = await self.embed_alone(run, services, owner, progress)
        await run.call(services.index.train, owner)
        return Receipt(indexed=indexed, embedded=embedded)

    async def unfinished(self, run: Runner, services: Services, newest: Newest) -> set[Scope]:
        statuses = await run.call(services.index.statuses, list(newest))
        return {
            owner
            for owner, status in statuses.items()
            if None not in (last := newest[owner])
            or anchored(status.anchor) != (last[None].mark, self.version)
            or (services.embedder is not None and status.pending)
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
        embeds = services.embedder is not None
        state = await run.call(services.truth.state, owner) if state is None else state
        if services.read_only:
            status = state.index or await run.call(services.index.status, owner, pending=int(embeds), sums=embeds)
            if anchored(status.anchor)[0] != state.mark and await run.call(astray, services.truth, owner, status):
                raise StoreUnavailableError(f"the log of {owner} was restored to before its index: open it for writing")
            if status.applied < state.head:
                behind = await run.call(services.truth.count, owner, after=status.applied)
                return status, f"read-only: {behind:,} new events are not indexed"
            return status, await self._missing(run, services) if embeds and status.pending else ""
        most = EMBED_BATCH if self._filling[owner] else AT_ONCE
        _, status, moved, note = await self._followed(
            run, services, owner, state, pending=most + 1 if embeds else 0, sums=embeds
        )
        if embeds and status.pending and not note:
            note = await self._embedded(run, services, owner, status, most)
        if embeds and (moved or status.pending):
            status = await run.call(services.index.status, owner, sums=True)
        return status, note

    async def _embedded(self, run: Runner, services: Services, owner: Scope, status: Status, most: int) -> str:
        """Make the missing vectors, unless they are more than a recall waits for; returns a note if some remain."""
        work = services.config.orchestration
        if len(status.pending) > most and (self._filling[owner] or work.background):
            self.left |= set() if self._filling[owner] else {owner}
            return await self._missing(run, services)
        until = time.monotonic() + work.model_timeout.total_seconds()

        def enough(done: int, total: int) -> None:
            if done < total and time.monotonic() > until:
                raise ModelError(_unmade(total - done))

        try:
            await self.embed(run, services, owner, enough)
        except ModelError as error:
            return _later(error)
        return ""

    async def _missing(self, run: Runner, services: Services) -> str:
        return _unmade((await run.call(services.index.size)).pending)

    async def embed_alone(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> int:
        """Like `embed`, after what another process does for this owner."""
        if not (await run.call(services.index.status, owner, pending=1)).pending:
            return 0
        async with self.alone(run, services, owner, progress):
            return await self.embed(run, services, owner, progress)

    @asynccontextmanager
    async def alone(
        self, run: Runner, services: Services, owner: Scope, progress: Progress | None
    ) -> AsyncIterator[None]:
        """Inside the block, no other process that asks for it works for this owner, as long as it calls `go_on`."""
        index = services.index
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
            await run.call(services.index.lease, owner, self._holder, LEASE_SECONDS)
            self._alone[owner] = time.monotonic()

    @traced("index", after=lambda span, count: span.attributes.update(count=count))
    async def embed(
        self,
        run: Runner,
        services: Services,
        owner: Scope,
        progress: Progress | None = None,
        *,
        fresh: Pending = (),
        put: Callable[..., Any] | None = None,
    ) -> int:
        """Make the owner's missing vectors; ``fresh`` are all records without one, if they are known.

        ``put`` stores them, instead of the index's `put_vectors`.
        """
        count, total, embedder, cleaning, index = 0, 0, services.embedder, services.config.cleaning, services.index
        if embedder is None:
            return 0

        embed = partial(embedding, run, embedder.embed_documents)

        def store(*vectors: Any) -> bool:
            with self.storing:
                if services.embedder is not embedder:  # replaced since they were made
                    return False
                (put or index.put_vectors)(*vectors)
                return True

        while services.embedder is embedder:
            pending = fresh if 0 < len(fresh) < EMBED_BATCH else await run.call(index.pending, owner, EMBED_BATCH)
            if not pending:
                break
            texts = await passages(pending, cleaning, embedder.name, embed)
            vectors = await vectors_of(run, index, embedder.name, texts, embed)
            if await run.call(store, *vectors):
                count += len(pending)
            await self.go_on(run, services, owner)
            last = len(pending) < EMBED_BATCH
            if progress is not None:
                if not (total or last):  # once: many engines count all records for it
                    total = count + (await run.call(index.size)).pending
                progress(count, count if last else max(total, count))
            if last:
                break
        return count

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        size, unindexed = await run.call(services.index.size), 0
        for owner, status in (await run.call(services.index.statuses, list(heads))).items():
            if status.applied < heads[owner]:
                unindexed += await run.call(services.log.count, owner, after=status.applied)
        counts = {"records": size.records, "vectors": size.vectors, "pending": size.pending}
        return {**counts, "unindexed": unindexed}


def content_key(embedder: str, text: str) -> bytes:
    """A key for a text embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{text}".encode(), digest_size=16).digest()


async def passages(
    pending: Pending,
    cleaning: CleaningLevel,
    embedder: str,
    embed: Callable[[list[str]], Awaitable[Floats]],
) -> dict[int, str]:
    """The passages by record id. Otherwise "Alright." after a question would be as similar to it as a real answer."""
    texts: dict[int, str] = {}
    doubtful: dict[int, str] = {}
    for record, before in pending:
        texts[record.id], alone = passage_and_alone(record, before, cleaning)
        if texts[record.id] == alone:
            continue
        if says_nothing(record.text):
            texts[record.id] = alone
        elif len(record.text) <= SHORT_CHARS and tells(embedder):
            doubtful[record.id] = alone
    if doubtful:
        told = emptiness(await embed(list(doubtful.values())))
        texts |= {number: doubtful[number] for number, share in zip(doubtful, told, strict=True) if share > SURE}
    return texts


async def vectors_of(
    run: Runner,
    index: SemanticIndex,
    embedder: str,
    texts: Mapping[int, str],
    embed: Callable[[list[str]], Awaitable[Floats]],
) -> tuple[tuple[str, int], dict[int, bytes], dict[bytes, Floats]]:
    """What `SemanticIndex.put_vectors` takes, for these texts by record id; each distinct new text is embedded once."""
    keys = {number: content_key(embedder, text) for number, text in texts.items()}
    by_key = {keys[number]: text for number, text in texts.items()}
    known = await run.call(index.known, list(by_key))
    missing = [key for key in by_key if key not in known]
    new = dict(zip(missing, await embed([by_key[key] for key in missing]), strict=True)) if missing else {}
    return (embedder, len(next(iter((new or known).values())))), keys, new


async def _news(run: Runner, services: Services, owner: Scope, after: int) -> tuple[list[Event], str]:
    """The next events for the index, and the mark of the last one that it followed; empty if that is gone."""
    # The last one again, which shows whether the log still has it.
    events = await run.call(services.truth.read, owner.owner, after=max(after - 1, 0), limit=EVENT_BATCH + 1)
    if not after:
        return events, ""
    there = bool(events) and events[0].position == after
    return (events[1:], events[0].mark) if there else (events, "")


async def _derived(
    run: Runner, services: Services, owner: Scope, events: Sequence[Event], status: Status | None = None
) -> list[tuple[Record, Record | None]]:
    """The records for these events, which follow the turns it already has; claims have the metadata of their turn."""
    kinds = {event.kind for event in events}
    for projection in projections(services):
        if kinds & projection.kinds:
            events = await projection.findable(run, services, owner, events)
    sources = {
        event.position: event.payload["source"]
        for event in events
        if event.kind is EventKind.CLAIM and "text" in event.payload
    }
    if sources:
        read = await at_positions(run, services, owner, set(sources.values()))
        metadata = {turn.position: turn.message.metadata for turn in read if turn.kind is EventKind.MESSAGE}
        events = [
            replace(event, payload={"metadata": metadata[source], **event.payload})
            if (source := sources.get(event.position)) in metadata
            else event
            for event in events
        ]
    sessions = list(dict.fromkeys(event.scope.session for event in events if event.kind is EventKind.MESSAGE))
    return derive(events, await run.call(services.index.tails, owner, sessions, status) if sessions else {})


def _later(error: ModelError) -> str:
    _log.warning("%s; the records are indexed, their vectors are made later", error)
    return str(error)


def _unmade(count: int) -> str:
    return f"{counted(count, 'vector')} still to be made, what has none is found by its words"


def uses_of(events: Sequence[Event]) -> dict[int, Use]:
    """How often these events record a use of each record."""
    uses: dict[int, Use] = {}
    for event in events:
        if event.kind is EventKind.USED:
            for number, count in event.payload["uses"]:
                before = uses.get(number, Use(0, event.at))
                uses[number] = Use(before.count + count, max(before.at, event.at))
    return uses
