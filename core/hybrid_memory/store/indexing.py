"""``flush``, ``rebuild``: an index follows the log, and its records get their vectors."""

from __future__ import annotations

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.port import Entry, Use
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import runs
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.outbox import drain
from hybrid_memory.store.projection import Projection, projections
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present

T = TypeVar("T")

Erased: TypeAlias = Mapping[str, Any]
"""The payload of an event that says what was erased."""

_log = logging.getLogger(__name__)


async def flush(
    run: Runner, services: Services, owners: Sequence[Scope] | None = None, progress: Progress | None = None
) -> Receipt:
    """Learn from what was said, then index what the log holds beyond the index, for these owners or for all.

    Raises:
        ModelError: the embedder failed; texts are indexed, and the vectors that wait are made next time.
    """
    await drain(run, present(services))
    total = Receipt()
    for owner in list(await run.call(services.truth.heads)) if owners is None else owners:
        for projection in projections(services):
            done = await projection.derive(run, services, owner, progress)
            sums = {name: getattr(total, name) + getattr(done, name) for name in ("indexed", "embedded", "learned")}
            total = replace(total, **sums)
    return total


async def rebuild(
    run: Runner, services: Services, embedder: Embedder | None, progress: Progress | None = None
) -> Receipt:
    """Drop the indexes and derive them anew, with this embedder from now on."""
    present(services)
    services.embedder = embedder  # first: what the background makes with the old one is not stored any more
    for index in indexes(services):
        await run.call(index.port(services).reset)
    for projection in projections(services):
        projection.clear()
    return await flush(run, services, progress=progress)


class IndexProjection(Projection):
    """An index of records that follows the log.

    Attributes:
        reads: kinds of the events that it follows; empty for all.
        batch: events that are read at once.
    """

    reads: ClassVar[tuple[EventKind, ...]] = ()
    batch: ClassVar[int] = 512

    @abstractmethod
    def port(self, services: Services) -> SemanticIndex:
        """The index itself."""

    def exists(self, services: Services) -> bool:
        """Whether this memory has it."""
        return True

    @abstractmethod
    def embeds(self, services: Services) -> bool:
        """Whether its records get vectors."""

    @abstractmethod
    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        """What it takes of new events."""

    @abstractmethod
    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of what was erased; returns how many there were."""

    @abstractmethod
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        """Give waiting records their vectors, in batches that survive a crash one by one; returns how many."""

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite what was destroyed in files of its own; see `SemanticIndex.scrub`."""
        await run.call(self.port(services).scrub)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Clean up behind what another process erased, perhaps one that was killed on the way."""
        if count:
            await scrubbed(run, self.port(services).scrub)

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events, and drop those of what was erased; returns how many are new."""
        count, index = 0, self.port(services)
        head = (await run.call(services.truth.heads, owner)).get(owner.owner, 0)
        while (after := await run.call(index.applied, owner)) < head:
            events = await run.call(
                services.truth.read, owner.owner, after=after, upto=head, kinds=self.reads, limit=self.batch
            )
            if erased := [event.payload for event in events if event.kind is EventKind.ERASED]:
                dropped = sum([await self.unindex(run, services, owner, one) for one in erased])
                await self.clean(run, services, erased, dropped)
            entries = await self.entries(run, services, owner, events)
            upto = events[-1].position if len(events) == self.batch else head
            # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
            if await run.call(index.upsert, owner, entries, after=after, upto=upto, uses=uses_of(events)):
                count += len(entries)
        return count

    async def drop(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Let what the log has just erased leave the index; returns how many records that were."""
        count = await self.unindex(run, services, owner, erased)
        await self.follow(run, services, owner)
        return count

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Bring the owner's part of the index up to the log, vectors included.

        Raises:
            ModelError: the embedder failed; the records are there, and the vectors that wait are made next time.
            EmbedderMismatchError: the store's vectors come from another embedder.
        """
        indexed = await self.follow(run, services, owner) if self.exists(services) else 0
        if not self.exists(services) or not self.embeds(services):
            return Receipt(indexed=indexed)
        embedded = await self.embed(run, services, owner, progress)
        await run.call(self.port(services).train, owner)
        return Receipt(indexed=indexed, embedded=embedded)

    async def catch_up(self, run: Runner, services: Services, owner: Scope) -> str:
        """Index what is new before a recall; returns a note if vectors are missing, or if nothing may be indexed.

        Raises:
            EmbedderMismatchError: the store's vectors come from another embedder.
        """
        if services.read_only:
            after = await run.call(self.port(services).applied, owner)
            behind = await run.call(services.truth.count, owner, after=after)
            return f"read-only: {behind:,} new events are not indexed" if behind else ""
        await self.follow(run, services, owner)
        try:
            if self.embeds(services):
                await self.embed(run, services, owner)
        except ModelError as error:
            _log.warning("%s; the records are there, their vectors will be made later", error)
            return str(error)
        return ""


def indexes(services: Services) -> list[IndexProjection]:
    """Those of this memory."""
    return [state for state in services.states if isinstance(state, IndexProjection) and state.exists(services)]


async def erase(
    run: Runner,
    services: Services,
    owner: Scope,
    positions: Iterable[int],
    rewritten: Mapping[int, dict[str, Any]] | None = None,
    **scrub: str,
) -> int:
    """Destroy events of the owner, give others a new payload, and let both leave the indexes.

    Returns how many records went. ``scrub`` is noted in the log: whether whoever follows it is to clean up now.
    """
    gone = sorted(positions)
    payload = {"positions": [list(stretch) for stretch in runs(gone)], **scrub}
    # A process that has read the events already can then no longer index them.
    for index in indexes(services):
        await index.follow(run, services, owner)
    await run.call(services.truth.erase, owner, gone, rewritten or {}, services.draft(EventKind.ERASED, payload))
    return sum([await index.drop(run, services, owner, payload) for index in indexes(services)])


def uses_of(events: Sequence[Event]) -> dict[int, Use]:
    """How often these events say that each record was used."""
    uses: dict[int, Use] = {}
    for event in events:
        if event.kind is EventKind.USED:
            for number, count in event.payload["uses"]:
                before = uses.get(number, Use(0, event.at))
                uses[number] = Use(before.count + count, max(before.at, event.at))
    return uses


async def put_vectors(
    run: Runner,
    index: SemanticIndex,
    embedder: str,
    content: Mapping[int, tuple[bytes, T]],
    embed: Callable[[list[T]], Awaitable[Floats]],
    *,
    wanted: Callable[[], bool] = lambda: True,
) -> bool:
    """Give records the vectors of their content, by its key; what is there twice, or was before, is embedded once.

    False, and nothing is stored, if the vectors are not ``wanted`` any more once they were made.
    """
    by_key = dict(content.values())
    known = await run.call(index.known, list(by_key))
    missing = [key for key in by_key if key not in known]
    fresh = dict(zip(missing, await embed([by_key[key] for key in missing]), strict=True)) if missing else {}
    if not wanted():
        return False
    # The width is the vectors': to ask a model for it may cost a call.
    width = len(next(iter((fresh or known).values())))
    keys = {number: key for number, (key, _) in content.items()}
    await run.call(index.put_vectors, (embedder, width), keys, fresh)
    return True


async def scrubbed(run: Runner, scrub: Callable[[], None]) -> None:
    """Scrub now, or say that it is done later where another process keeps the engine from it."""
    try:
        await run.call(scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; what was erased is cleaned up later", error)


async def embedding(run: Runner, method: Callable[[T], Floats], argument: T) -> Floats:
    """What the embedder answers; raises `ModelError`, whatever it fails with."""
    try:
        return await run.call(method, argument)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the embedder failed: {type(error).__name__}: {error}") from error


def content_key(embedder: str, text: str) -> bytes:
    """Identifies a text embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{text}".encode(), digest_size=16).digest()
