"""``flush``, ``rebuild`` and ``migrate``: everything that is derived from a log, anew or in another store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybrid_memory import display
from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError, StoreError
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import content_key, indexes
from hybrid_memory.store.projection import projections
from hybrid_memory.store.remember import drain
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present

BATCH = 512


async def migrate(run: Runner, source: Services, target: Services, progress: Progress | None = None) -> Migration:
    """Copy every event with its position, index them there, and compare; what was copied before is not copied again.

    Vectors of the same embedder are taken over, those of another are made.
    """
    await drain(run, source)
    heads = await run.call(source.truth.heads)
    copied = await run.call(target.truth.heads)
    for owner, head in copied.items():
        if await checksum(run, source, owner, upto=head) != await checksum(run, target, owner, upto=head):
            raise InvalidInputError(f"the target has memories of {owner} that are not here: give an empty store")
    total = sum([await run.call(source.truth.count, owner) for owner in heads])
    done = 0
    for owner in heads:
        done += await _copied(run, source, target, owner)
        if progress is not None:
            progress(done, total)
    digest = hashlib.sha256()
    for owner, head in heads.items():
        ours, theirs = [await checksum(run, services, owner, upto=head) for services in (source, target)]
        if ours != theirs:
            raise StoreError(f"the copy of what {owner} has is not like the original: {theirs} instead of {ours}")
        digest.update(ours.encode())
    indexed = embedded = 0
    given = replace(target, embedder=target.embedder and _Donated(target.embedder, source.index))
    for owner in heads:
        for index in indexes(given):
            made = await index.derive(run, given, owner, progress)
            indexed, embedded = indexed + made.indexed, embedded + made.embedded
    return Migration(owners=len(heads), events=total, indexed=indexed, embedded=embedded, checksum=digest.hexdigest())


async def _copied(run: Runner, source: Services, target: Services, owner: Scope) -> int:
    """Copy what the target does not have of this owner; returns how many events the source has."""
    after = (await run.call(target.truth.heads, owner)).get(owner, 0)
    while events := await run.call(source.truth.read, owner, after=after, limit=BATCH):
        await run.call(target.truth.restore, owner, events)
        after = events[-1].position
    return await run.call(source.truth.count, owner)


async def checksum(run: Runner, services: Services, owner: Scope, *, upto: int) -> str:
    """A digest of the owner's events up to a position, and of their order."""
    digest = hashlib.sha256()
    after = 0
    while events := await run.call(services.truth.read, owner, after=after, upto=upto, limit=BATCH):
        for event in events:
            digest.update(_line(event))
        after = events[-1].position
    return digest.hexdigest()


def _line(event: Event) -> bytes:
    parts = [
        event.position,
        event.id,
        event.scope.session,
        event.kind,
        event.at.isoformat(),
        event.payload,
        event.sources,
        event.author,
    ]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class _Donated:
    """The target's embedder, which takes vectors over from the original where it has them."""

    embedder: Embedder
    donor: SemanticIndex

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def dim(self) -> int:
        return self.embedder.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        keys = [content_key(self.name, text) for text in texts]
        known = self.donor.known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        made = self.embedder.embed_documents(list(missing.values())) if missing else ()
        known = {**known, **dict(zip(missing, made, strict=True))}
        return np.stack([known[key] for key in keys])

    def embed_query(self, text: str) -> Floats:
        return self.embedder.embed_query(text)


@dataclass(frozen=True, slots=True)
class Migration:
    """What was copied.

    Attributes:
        owners, events: how many; indexed, embedded: records and vectors that were derived in the copy.
        checksum: SHA-256 over the events of all owners, the same in the original and in the copy.
    """

    owners: int
    events: int
    indexed: int
    embedded: int
    checksum: str

    def __repr__(self) -> str:
        copied = f"{display.counted(self.owners, 'owner')}, {display.counted(self.events, 'event')}"
        made = f"{display.counted(self.indexed, 'record')}, {display.counted(self.embedded, 'vector')}"
        return f"<Migration of {copied}; {made} made; checksum {self.checksum[:8]}>"


async def flush(
    run: Runner, services: Services, owners: Sequence[Scope] | None = None, progress: Progress | None = None
) -> Receipt:
    """Learn from what was said, then index what the log holds beyond the index, for these owners or for all."""
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
