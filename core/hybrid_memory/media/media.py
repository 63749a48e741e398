"""Images and audio of messages as records of a separate index that follows the log."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.derive import substance
from hybrid_memory.index.port import Entry, SemanticIndex, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.log.exchanges import is_echo
from hybrid_memory.log.media import Media, media_of
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.port import LogState
from hybrid_memory.log.views import MAX_POSITION, joined, runs
from hybrid_memory.models.port import MediaEmbedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.following import Erased, IndexProjection, Pending
from hybrid_memory.store.indexing import embedded, put_vectors
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokenize import terms

MAX_BLOCKS = 1024
"""The most content blocks of a message that are indexed: a record's id is ``position * 1024 + block``."""

CAPTION_CHARS = 2_000
"""How much of the text around an image is stored in its record."""

EMBED_BATCH = 16
ERASE_BATCH = 256
STRETCHES = 200
"""Stretches of the log per search for erased media."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class MediaIndex(IndexProjection):
    """The index of images and audio; inactive if no media are embedded."""

    reads = (EventKind.MESSAGE, EventKind.ERASED)
    batch = 64
    taken = EMBED_BATCH

    def exists(self, services: Services) -> bool:
        return services.media is not None

    def model(self, services: Services) -> MediaEmbedder | None:
        return services.media_embedder

    def port(self, services: Services) -> SemanticIndex:
        if services.media is None:
            raise InvalidInputError("this memory has no media index")
        return services.media

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events; waits until there is an embedder."""
        return await super().follow(run, services, owner) if self.embeds(services) else 0

    def place(self, record: Record) -> int:
        return record.turn

    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        kinds = ready(services)[1].kinds
        return [entry for event in events for entry in _entries(services, event, kinds)]

    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        count, stretches = 0, joined((first, last) for first, last in erased["positions"])
        for start in range(0, len(stretches), STRETCHES):
            where = Where(owner.owner, hidden=_between(stretches[start : start + STRETCHES]))
            while len(ids := await run.call(self.port(services).latest, where, ERASE_BATCH)):
                count += await run.call(self.port(services).delete, ids.tolist())
        return count

    @traced("index", after=embedded)
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        count, (index, embedder) = 0, ready(services)
        while pending := await run.call(index.pending, owner, EMBED_BATCH):
            records = [record for record, _ in pending]
            behind = await _data(run, services, owner, records)
            known = {number: media for number, media in behind.items() if media.kind in embedder.kinds}
            if lost := [record.id for record in records if record.id not in known]:
                # Erased meanwhile, or of a kind that the embedder had when they were indexed.
                await run.call(index.delete, lost)
            for kind in sorted({media.kind for media in known.values()}):
                batch = {number: media.data for number, media in known.items() if media.kind == kind}
                content = {number: (media_key(embedder.name, kind, data), data) for number, data in batch.items()}

                async def embed(data: list[bytes], kind: str = kind) -> Floats:
                    return await run.call(embedder.embed_media, data, kind)

                await put_vectors(run, index, embedder.name, content, embed)
            count += len(known)
            if progress is not None:
                progress(count, count + (await run.call(index.size)).pending)
        return count

    async def keys(
        self, run: Runner, services: Services, owner: Scope, pending: Pending, donor: SemanticIndex
    ) -> dict[int, bytes]:
        name, data = ready(services)[1].name, await _data(run, services, owner, [record for record, _ in pending])
        return {number: media_key(name, media.kind, media.data) for number, media in data.items()}

    async def catch_up(
        self, run: Runner, services: Services, owner: Scope, state: LogState | None = None
    ) -> tuple[Status, str]:
        """Index new events before a recall; the note says if the embedder failed and vectors are missing."""
        if services.read_only:
            return await run.call(self.port(services).status, owner, sums=True), ""
        return await super().catch_up(run, services, owner, state)


def ready(services: Services) -> tuple[SemanticIndex, MediaEmbedder]:
    """The media index and its embedder; raises `InvalidInputError` if there is none."""
    if services.media is None or services.media_embedder is None:
        raise InvalidInputError(
            "this memory cannot embed images or sounds: open it with an embedder that has "
            "embed_images(list of bytes) or embed_audio(list of bytes), or a LlamaIndex MultiModalEmbedding"
        )
    return services.media, services.media_embedder


def _between(stretches: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges outside these ascending stretches."""
    firsts = (0, *(last + 1 for _, last in stretches))
    lasts = (*(first - 1 for first, _ in stretches), MAX_POSITION)
    return tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)


def _entries(services: Services, event: Event, kinds: frozenset[str]) -> Iterator[Entry]:
    """Index entries for the media of a message, found by the text that came with them."""
    if event.kind is not EventKind.MESSAGE or not isinstance(event.message.content, list):
        return
    media_blocks = [(block, media) for block, media in _media(event.message) if media.kind in kinds]
    if not media_blocks or event.message.role is Role.SYSTEM or is_echo(event.message):
        return
    words = learnt(services, [event])[0].message.text
    for block, media in media_blocks:
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
        origin=event.origin,
    )


def _media(message: Message) -> list[tuple[int, Media]]:
    """The media of a message that include their data, each with its block number."""
    blocks = message.content[:MAX_BLOCKS] if isinstance(message.content, list) else []
    decoded = ((number, media_of(block)) for number, block in enumerate(blocks))
    return [(number, media) for number, media in decoded if media is not None]


async def _data(run: Runner, services: Services, owner: Scope, records: Sequence[Record]) -> dict[int, Media]:
    data: dict[int, Media] = {}
    for first, last in runs({record.turn for record in records}):
        kinds = (EventKind.MESSAGE,)
        for event in await run.call(services.truth.read, owner.owner, after=first - 1, upto=last, kinds=kinds):
            data |= {event.position * MAX_BLOCKS + block: media for block, media in _media(event.message)}
    return {record.id: data[record.id] for record in records if record.id in data}


def media_key(embedder: str, kind: str, data: bytes) -> bytes:
    """A key for a medium (or, with the kind ``text``, a query) embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{kind}\x00".encode() + data, digest_size=16).digest()
