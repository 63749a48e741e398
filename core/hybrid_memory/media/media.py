"""Pictures and sounds of messages as records of an index of their own, which follows the log as L2 does."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Sequence

from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import substance
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.echoes import is_echo
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.log.media import Media, media_of
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.visible import MAX_POSITION, joined
from hybrid_memory.models.port import MediaEmbedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.reading import runs
from hybrid_memory.store.redact import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokenize import terms

MAX_BLOCKS = 1024
"""Content blocks of one message that are looked at: the id of a record is ``position * 1024 + block``."""

CAPTION_CHARS = 2_000
"""How much of the words around a picture stands in its record."""

READ_BATCH = 64
EMBED_BATCH = 16
ERASE_BATCH = 256
STRETCHES = 200
"""Stretches of the log that one search for erased media names."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_log = logging.getLogger(__name__)


async def flush_media(run: Runner, services: Services, owner: Scope) -> tuple[int, int]:
    """Index the owner's media beyond the index; how many records and vectors. Nothing where no media are embedded.

    Raises:
        ModelError: the embedder failed; the records are there, and the vectors that wait are made next time.
        EmbedderMismatchError: the store's vectors come from another embedder.
    """
    if services.media is None or services.media_embedder is None:
        return 0, 0
    indexed = await index_media(run, services, owner)
    embedded = await _index_vectors(run, services, owner, services.media, services.media_embedder)
    await run.call(services.media.train, owner)
    return indexed, embedded


async def index_media(run: Runner, services: Services, owner: Scope) -> int:
    """Derive records from new events, and drop those of what was erased; returns how many are new."""
    media, embedder, count = services.media, services.media_embedder, 0
    if media is None or embedder is None:
        return 0
    head = (await run.call(services.truth.heads, owner)).get(owner.owner, 0)
    kinds = (EventKind.MESSAGE, EventKind.ERASED)
    while (after := await run.call(media.applied, owner)) < head:
        events = await run.call(
            services.truth.read, owner.owner, after=after, upto=head, kinds=kinds, limit=READ_BATCH
        )  # fmt: skip
        erased = [event for event in events if event.kind is EventKind.ERASED]
        gone = [(first, last) for event in erased for first, last in event.payload["positions"]]
        if await unindex_media(run, services, owner, gone):
            await _scrubbed(run, services)
        entries = [entry for event in events for entry in _entries(services, event, embedder.kinds)]
        upto = events[-1].position if len(events) == READ_BATCH else head
        # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
        if await run.call(media.upsert, owner, entries, after=after, upto=upto):
            count += len(entries)
    return count


async def unindex_media(run: Runner, services: Services, owner: Scope, gone: Iterable[tuple[int, int]]) -> int:
    """Drop the records of media that stood in these stretches of the log; returns how many there were."""
    if services.media is None:
        return 0
    count, stretches = 0, joined(gone)
    for start in range(0, len(stretches), STRETCHES):
        where = Where(owner.owner, hidden=_between(stretches[start : start + STRETCHES]))
        while len(ids := await run.call(services.media.latest, where, ERASE_BATCH)):
            count += await run.call(services.media.delete, ids.tolist())
    return count


def _between(stretches: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """What lies outside these stretches, which ascend."""
    firsts = (0, *(last + 1 for _, last in stretches))
    lasts = (*(first - 1 for first, _ in stretches), MAX_POSITION)
    return tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)


async def _scrubbed(run: Runner, services: Services) -> None:
    """Clean up behind what another process erased, perhaps one that was killed on the way."""
    if services.media is None:
        return
    try:
        await run.call(services.media.scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; what was erased is cleaned up later", error)


def _entries(services: Services, event: Event, kinds: frozenset[str]) -> Iterator[Entry]:
    """What the index takes for the media of a message, by what is said with them."""
    if event.kind is not EventKind.MESSAGE or not isinstance(event.message.content, list):
        return
    found = [(block, media) for block, media in _media(event.message) if media.kind in kinds]
    if not found or event.message.role is Role.SYSTEM or is_echo(event.message):
        return
    words = learnt(services, [event])[0].message.text
    for block, media in found:
        record = _record(event, block, media, "\n".join(part for part in (words, media.name) if part))
        yield Entry(record, " ".join(terms(clean(record.text, services.config.cleaning))))


def _record(event: Event, block: int, media: Media, words: str) -> Record:
    message, text = event.message, _UNPRINTABLE.sub(" ", words).strip()[:CAPTION_CHARS]
    weight = message.importance if message.importance is not None or not text else substance(text)
    return Record(
        id=event.position * MAX_BLOCKS + block,
        scope=event.scope,
        text=text,
        at=event.at,
        sources=(event.id,),
        segment=event.position,
        ordinal=block,
        kind=RecordKind.MEDIA,
        category=media.kind,
        speaker=message.speaker,
        importance=0.5 if weight is None else weight,
        metadata={
            "media": media.type,
            "bytes": len(media.data),
            "block": block,
            "handle": handle(event.position, event.position),
        },
        turn=event.position,
        author=event.author,
    )


def _media(message: Message) -> list[tuple[int, Media]]:
    """The media of a message that have their data with them, each with the number of its block."""
    blocks = message.content[:MAX_BLOCKS] if isinstance(message.content, list) else []
    found = ((number, media_of(block)) for number, block in enumerate(blocks))
    return [(number, media) for number, media in found if media is not None]


async def _index_vectors(
    run: Runner, services: Services, owner: Scope, index: SemanticIndex, embedder: MediaEmbedder
) -> int:
    """Give waiting records their vectors, in batches that survive a crash one by one; returns how many."""
    count = 0
    while waiting := await run.call(index.pending, owner, EMBED_BATCH):
        records = [record for record, _ in waiting]
        there = await _data(run, services, owner, records)
        known = {number: media for number, media in there.items() if media.kind in embedder.kinds}
        if lost := [record.id for record in records if record.id not in known]:
            # Erased meanwhile, or of a kind that the embedder had when they were indexed.
            await run.call(index.delete, lost)
        for kind in sorted({media.kind for media in known.values()}):
            batch = {number: media for number, media in known.items() if media.kind == kind}
            await _embed_batch(run, index, embedder, kind, batch)
        count += len(known)
    return count


async def _data(run: Runner, services: Services, owner: Scope, records: Sequence[Record]) -> dict[int, Media]:
    """The media behind these records, by record."""
    found: dict[int, Media] = {}
    for first, last in runs(sorted({record.turn for record in records})):
        said = (EventKind.MESSAGE,)
        for event in await run.call(services.truth.read, owner.owner, after=first - 1, upto=last, kinds=said):
            found |= {event.position * MAX_BLOCKS + block: media for block, media in _media(event.message)}
    return {record.id: found[record.id] for record in records if record.id in found}


async def _embed_batch(
    run: Runner, index: SemanticIndex, embedder: MediaEmbedder, kind: str, batch: dict[int, Media]
) -> None:
    """Give these records of one kind their vectors; what is there twice is embedded once."""
    keys = {number: media_key(embedder.name, kind, media.data) for number, media in batch.items()}
    data = {keys[number]: media.data for number, media in batch.items()}
    known = await run.call(index.known, list(data))
    missing = [key for key in data if key not in known]
    fresh = {}
    if missing:
        rows = await run.call(embedder.embed_media, [data[key] for key in missing], kind)
        fresh = dict(zip(missing, rows, strict=True))
    width = len(next(iter((fresh or known).values())))
    await run.call(index.put_vectors, (embedder.name, width), keys, fresh)


async def catch_up_media(run: Runner, services: Services, owner: Scope) -> str:
    """Index what is new before a recall; returns a note if the embedder failed and vectors are missing."""
    if services.read_only:
        return ""
    await index_media(run, services, owner)
    if services.media is None or services.media_embedder is None:
        return ""
    try:
        await _index_vectors(run, services, owner, services.media, services.media_embedder)
    except ModelError as error:
        _log.warning("%s; the media wait for their vectors", error)
        return str(error)
    return ""


def media_key(embedder: str, kind: str, data: bytes) -> bytes:
    """Identifies a medium, or with the kind ``text`` a query, embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{kind}\x00".encode() + data, digest_size=16).digest()
