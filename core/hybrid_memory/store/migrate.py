"""``flush``, ``rebuild`` and ``migrate``: derive everything from a log again, here or in a copy of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress, counted
from hybrid_memory.errors import InvalidInputError, StoreError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Receipt
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex, content_key, embedding
from hybrid_memory.store.projection import projections
from hybrid_memory.store.remember import drain
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present
from hybrid_memory.urls import shown_url

PROBE = ["hello"]  # embedded before anything is dropped for a new embedder, to find out whether it works


async def copied(run: Runner, source: Services, target: Services, progress: Progress) -> list[OwnerCopy]:
    """Copy every event with its position, and compare; events copied earlier are only compared.

    Each owner is copied up to the current end of their log, batch by batch, each of which is read back.

    Raises:
        InvalidInputError: events are in an archive that is not named, or the target contains other events.
        StoreError: the target does not return what was written.
    """
    await drain(run, source)
    size = await run.call(source.truth.size)
    if size.archived:
        raise InvalidInputError(
            f"{counted(size.archived, 'message')} of {shown_url(source.config.url)} are in an archive: name it with "
            "archive= in the settings, so that they are copied too"
        )
    heads, there = await run.call(source.truth.heads), await run.call(target.truth.heads)
    copies = {owner: OwnerCopy(owner, heads.get(owner, 0)) for owner in sorted({**heads, **there}, key=str)}
    for owner, position in there.items():  # all of them before anything is written
        same = position <= copies[owner].head
        while same and copies[owner].position < position:
            same = await _step(run, source, target, copies[owner], position, write=False)
        if not same:
            raise InvalidInputError(
                f"the target has memories of {owner} that are not here, or were forgotten here since: give an empty "
                "store"
            )
    for copy in copies.values():
        while (after := copy.position) < copy.head:
            if not await _step(run, source, target, copy, copy.head, write=True):
                raise StoreError(
                    f"the copy of {copy.owner} differs from the original between #{after} and #{copy.position}"
                )
            done = sum(each.events for each in copies.values())
            progress(done, max(done, size.events))
    return list(copies.values())


class _Donated:
    """An embedder of a copy, which takes the vectors that the original's index has under its name."""

    def __init__(self, embedder: Embedder, donor: SemanticIndex) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._donor = donor

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        keys = {text: content_key(self.name, text) for text in texts}
        known = self._donor.known(list(keys.values()))
        rows = {text: known[key] for text, key in keys.items() if key in known}
        if missing := [text for text in keys if text not in rows]:
            rows |= zip(missing, self._embedder.embed_documents(missing), strict=True)
        return np.stack([rows[text] for text in texts])

    def embed_query(self, text: str) -> Floats:
        return self._embedder.embed_query(text)


async def derived(
    run: Runner, source: Services, target: Services, copies: Sequence[OwnerCopy], progress: Progress
) -> Migration:
    """Index the copied events. Vectors of the same embedder are taken over; others are made."""
    index, indexed, embedded = target.state(TextIndex), 0, 0
    if target.embedder is not None:
        target = replace(target, embedder=_Donated(target.embedder, source.index))

    def further(done: int, left: int) -> None:
        progress(embedded + done, embedded + left)

    for copy in copies:
        made = await index.derive(run, target, copy.owner, further)
        indexed, embedded = indexed + made.indexed, embedded + made.embedded
    digest = hashlib.sha256("".join(copy.digest.hexdigest() for copy in copies).encode())
    return Migration(len(copies), sum(copy.events for copy in copies), indexed, embedded, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of a copy.

    Attributes:
        owners, events: numbers copied; indexed, embedded: records and vectors made in the copy.
        checksum: SHA-256 over the events of all owners, equal in original and copy.
    """

    owners: int
    events: int
    indexed: int
    embedded: int
    checksum: str

    def __repr__(self) -> str:
        copied = f"{counted(self.owners, 'owner')}, {counted(self.events, 'event')}"
        made = f"{counted(self.indexed, 'record')}, {counted(self.embedded, 'vector')}"
        return f"<Migration of {copied}; {made} made; checksum {self.checksum[:8]}>"


async def flush(
    run: Runner, services: Services, owners: Sequence[Scope] | None = None, progress: Progress | None = None
) -> Receipt:
    """Extract facts, then index what the log has beyond the index, for these owners or for all."""
    await drain(run, present(services))
    total = Receipt()
    for owner in await unfinished(run, services) if owners is None else owners:
        for projection in projections(services):
            done = await projection.derive(run, services, owner, progress)
            sums = {name: getattr(total, name) + getattr(done, name) for name in ("indexed", "embedded", "learned")}
            total = replace(total, **sums)
    return total


async def unfinished(run: Runner, services: Services) -> list[Scope]:
    """The owners with derived work left, found by asking log and indexes once for all of them.

    Those that had none are left out until something is written for them.
    """
    settled, heads = services.state(TextIndex).settled, await run.call(services.truth.heads)
    changed = {owner for owner, head in heads.items() if settled.get(owner) != head}
    if not changed:
        return []
    kinds = (None, *{kind for projection in projections(services) for kind in projection.progress})
    there = await run.call(services.truth.newest, kinds)
    newest = {owner: last for owner, last in there.items() if owner in changed}
    left: set[Scope] = set()
    for projection in projections(services):
        left |= await projection.unfinished(run, services, newest)
    settled.update({owner: heads[owner] for owner in newest if owner not in left})
    return [owner for owner in newest if owner in left]


async def rebuild(
    run: Runner, services: Services, embedder: Embedder | None, progress: Progress | None = None
) -> Receipt:
    """Drop the index and rebuild it, with this embedder from now on; a new embedder must answer first.

    All texts are indexed before the first vector is made. In the meantime recall uses the log, then words, and says so.
    """
    present(services)
    if embedder is not None and embedder is not services.embedder:
        await embedding(run, embedder.embed_documents, PROBE)
    index, indexed = services.state(TextIndex), 0

    def replaced() -> None:
        with index.storing:
            services.embedder = embedder

    await run.call(replaced)  # first: what the background makes with the old one is not stored any more
    try:
        index.emptied = True
        await run.call(services.index.delete, None)
        for owner in await run.call(services.truth.heads):
            indexed += await index.follow(run, services, owner)
    finally:
        index.emptied = False
        for projection in projections(services):
            projection.clear()
    with ExitStack() as stack:
        for owner in await run.call(services.truth.heads):
            stack.enter_context(index.filling(owner))
        done = await flush(run, services, progress=progress)
    return replace(done, indexed=done.indexed + indexed)


BATCH = 512


@dataclass(slots=True)
class OwnerCopy:
    """The progress of copying one owner.

    Attributes:
        head: the last position to copy.
        position: up to here everything is copied; events, digest: the number of copied events, and a digest of them.
    """

    owner: Scope
    head: int
    position: int = 0
    events: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)


def line_of(event: Event) -> bytes:
    """The event without its owner, as one line of bytes."""
    parts = [event.position, event.id, event.scope.session, event.kind, event.at.isoformat()]
    parts += [event.payload, event.sources, event.author]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")


async def _step(run: Runner, source: Services, target: Services, copy: OwnerCopy, upto: int, *, write: bool) -> bool:
    """Copy the next events up to this position, or only look at them; whether the target has the same there."""
    after = copy.position
    events = await run.call(source.truth.read, copy.owner, after=after, upto=upto, limit=BATCH)
    copy.position = events[-1].position if len(events) == BATCH else upto
    if write and events:
        await run.call(target.truth.restore, copy.owner, events)
    stored = await run.call(target.truth.read, copy.owner, after=after, upto=copy.position)
    lines = [line_of(event) for event in events]
    copy.digest.update(b"".join(lines))
    copy.events += len(events)
    return lines == [line_of(event) for event in stored]
