"""``flush``: derived work; brings the index of L2 up to the log."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.facts.learn import learn
from hybrid_memory.index.derive import derive, index_terms, passage
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.items.state import current
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.media.media import flush_media
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.outbox import drain
from hybrid_memory.store.redact import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.uses import note_uses, uses_of
from hybrid_memory.store.view import present

READ_BATCH = 512
EMBED_BATCH = 32

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def flush(
    run: Runner, services: Services, owners: Sequence[Scope] | None = None, progress: Progress | None = None
) -> Receipt:
    """Learn from what was said, then index what the log holds beyond the index, for these owners or for all.

    Raises:
        ModelError: the embedder failed; texts are indexed, and the vectors that wait are made next time.
    """
    await drain(run, present(services))
    if owners is None:
        owners = list(await run.call(services.truth.heads))
    indexed = embedded = learned = 0
    for owner in owners:
        try:
            learned += await learn(run, services, owner, model=True)
        except ModelError as error:
            _log.warning("%s; what rules can read is learned, the model will be asked again", error)
        await note_uses(run, services, owner)
        indexed += await index_texts(run, services, owner)
        if services.embedder is not None:
            embedded += await index_vectors(run, services, owner, services.embedder, progress)
            await run.call(services.index.train, owner)
        media = await flush_media(run, services, owner)
        indexed, embedded = indexed + media[0], embedded + media[1]
    return Receipt(indexed=indexed, embedded=embedded, learned=learned)


async def index_texts(run: Runner, services: Services, owner: Scope) -> int:
    """Derive records from new events and index their words; returns how many."""
    count = 0
    heads = await run.call(services.truth.heads, owner)
    head = heads.get(owner.owner, 0)
    while (after := await run.call(services.index.applied, owner)) < head:
        events = await run.call(services.truth.read, owner.owner, after=after, limit=READ_BATCH)
        if not events:
            break
        erased = [event for event in events if event.kind is EventKind.ERASED]
        for event in erased:
            await _unindex(run, services, owner, event)
        if any(event.payload.get("scrub", "now") == "now" for event in erased):
            await _scrubbed(run, services)
        news = learnt(services, await current(run, services, owner, events))
        sessions = list(dict.fromkeys(event.scope.session for event in news))
        derived = derive(news, await run.call(services.index.tails, owner, sessions))
        entries = [
            Entry(item.record, index_terms(item.record, item.previous, services.config.cleaning)) for item in derived
        ]
        # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
        if await run.call(
            services.index.upsert, owner, entries, after=after, upto=events[-1].position, uses=uses_of(events)
        ):
            count += len(entries)
    return count


async def _scrubbed(run: Runner, services: Services) -> None:
    """Clean up behind what another process erased, perhaps one that was killed on the way."""
    try:
        await run.call(services.truth.scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; what was erased is cleaned up later", error)


async def _unindex(run: Runner, services: Services, owner: Scope, erased: Event) -> None:
    """Drop the records of what was erased; the turns after it are indexed again without its words."""
    ids = np.array(
        [place for first, last in erased.payload["positions"] for place in range(first, last + 1)], dtype=np.int64
    )
    records = await run.call(services.index.get, ids.tolist())
    if all(record.kind is RecordKind.ITEM for record in records):  # nothing was made with their words
        await run.call(services.index.delete, [record.id for record in records])
        return
    around = await run.call(services.index.columns, ids, Where(owner.owner), 1)
    gone = np.isin(around.ids, ids)
    keys = set(zip(around.segments[gone].tolist(), (around.ordinals[gone] + 1).tolist(), strict=True))
    places = zip(around.ids.tolist(), around.segments.tolist(), around.ordinals.tolist(), strict=True)
    followers = [place for place, segment, ordinal in places if (segment, ordinal) in keys and place not in ids]
    entries = []
    for record in await run.call(services.index.get, followers):
        said = await run.call(
            services.truth.read, record.scope, upto=record.id, kinds=(EventKind.MESSAGE,), limit=3, newest=True
        )
        derived = derive(learnt(services, [event for event in said if event.scope == record.scope]), {})
        before = derived[-1].previous if derived else None
        entries.append(Entry(record, index_terms(record, before, services.config.cleaning)))
    if entries:
        at = await run.call(services.index.applied, owner)
        await run.call(services.index.upsert, owner, entries, after=at, upto=at)
    await run.call(services.index.delete, around.ids[gone].tolist())


async def index_vectors(
    run: Runner, services: Services, owner: Scope, embedder: Embedder, progress: Progress | None = None
) -> int:
    """Give waiting records their vectors, in batches that survive a crash one by one; returns how many."""
    count = 0
    while services.embedder is embedder and (waiting := await run.call(services.index.pending, owner, EMBED_BATCH)):
        count += await _embed_batch(run, services, embedder, waiting)
        if progress is not None:
            progress(count, count + (await run.call(services.index.size)).pending)
    return count


async def _embed_batch(
    run: Runner, services: Services, embedder: Embedder, waiting: Sequence[tuple[Record, Record | None]]
) -> int:
    texts: dict[bytes, str] = {}
    keys: dict[int, bytes] = {}
    for record, previous in waiting:
        text = passage(record, previous, services.config.cleaning)
        keys[record.id] = content_key(embedder.name, text)
        texts[keys[record.id]] = text
    known = await run.call(services.index.known, list(texts))
    missing = [key for key in texts if key not in known]
    fresh = {} if services.donor is None else await run.call(services.donor.known, missing)
    missing = [key for key in missing if key not in fresh]
    if missing:
        rows = await embedding(run, embedder.embed_documents, [texts[key] for key in missing])
        fresh |= dict(zip(missing, rows, strict=True))
    if services.embedder is not embedder:  # a rebuild with another one has begun meanwhile
        return 0
    # The width is the vectors': to ask a model for it may cost a call.
    width = len(next(iter((fresh or known).values())))
    await run.call(services.index.put_vectors, (embedder.name, width), keys, fresh)
    return len(keys)


async def catch_up(run: Runner, services: Services, owner: Scope) -> str:
    """Index what is new before a recall; returns a note if vectors are missing, or if nothing may be indexed.

    Raises:
        EmbedderMismatchError: the store's vectors come from another embedder.
    """
    if services.read_only:
        behind = await run.call(services.truth.count, owner, after=await run.call(services.index.applied, owner))
        return f"read-only: {behind:,} new events are not indexed" if behind else ""
    await index_texts(run, services, owner)
    if services.embedder is None:
        return ""
    try:
        await index_vectors(run, services, owner, services.embedder)
    except ModelError as error:
        _log.warning("%s; the texts are indexed, the vectors will be made later", error)
        return str(error)
    return ""


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
