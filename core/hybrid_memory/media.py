"""Images and audio of messages: a separate index that follows the log, and ``recall_media`` over it."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.config.memory import Weights
from hybrid_memory.display import Progress
from hybrid_memory.errors import EmbedderMismatchError, InvalidInputError, ModelError
from hybrid_memory.index.derive import substance
from hybrid_memory.index.port import Entry, SemanticIndex, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.log.exchanges import is_echo
from hybrid_memory.log.media import Media, media_in, media_of
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.port import LogState
from hybrid_memory.log.views import MAX_POSITION, joined, runs
from hybrid_memory.models.port import MediaEmbedder
from hybrid_memory.recall import plan as planning
from hybrid_memory.recall import signals
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.recall.gather import KINDS, Asked, Home, gather, narrowed
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.recall import asks, finds
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.following import Erased, IndexProjection, Pending
from hybrid_memory.store.indexing import embedded, put_vectors
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

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
            part = stretches[start : start + STRETCHES]
            firsts = (0, *(last + 1 for _, last in part))
            lasts = (*(first - 1 for first, _ in part), MAX_POSITION)
            outside = tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)
            where = Where(owner.owner, hidden=outside)
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
            await self.go_on(run, services, owner)
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


def _entries(services: Services, event: Event, kinds: frozenset[str]) -> Iterator[Entry]:
    """Index entries for the media of a message, found by the text that came with them."""
    if event.kind is not EventKind.MESSAGE or not isinstance(event.message.content, list):
        return
    message, position = event.message, event.position
    media_blocks = [(block, media) for block, media in _media(message) if media.kind in kinds]
    if not media_blocks or message.role is Role.SYSTEM or is_echo(message):
        return
    words = learnt(services, [event])[0].message.text
    for block, media in media_blocks:
        caption = "\n".join(part for part in (words, media.name) if part)
        text = _UNPRINTABLE.sub(" ", caption).strip()[:CAPTION_CHARS]
        weight = message.importance if message.importance is not None or not text else substance(text)
        size, name = len(media.data), handle(position, position)
        record = Record(
            id=position * MAX_BLOCKS + block,
            scope=event.scope,
            text=text,
            at=event.at,
            sources=(event.id,),
            segment=position,
            ordinal=block,
            kind=RecordKind.MEDIA,
            category=media.kind,
            speaker=message.speaker,
            importance=0.5 if weight is None else weight,
            metadata={"media": media.type, "bytes": size, "block": block, "handle": name},
            turn=position,
            author=event.author,
            origin=event.origin,
        )
        yield Entry(record, " ".join(terms(clean(text, services.config.cleaning))))


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


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MediaRequest:
    """A validated call of recall_media, with either a text or an example."""

    text: str
    example: Media | None
    k: int
    where: Where

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: Any,
        *,
        k: int,
        kinds: Any,
        since: datetime | None,
        until: datetime | None,
        within: str,
    ) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        if isinstance(kinds, str) or not isinstance(kinds, Collection) or not all(isinstance(k, str) for k in kinds):
            raise InvalidInputError(f"kinds must be a collection such as ['image'], got {shown(kinds)}")
        example: Media | None = None
        if isinstance(query, Mapping):
            example = media_of(query)
            if example is None:
                raise InvalidInputError(f"this content block has no data that can be decoded: {shown(query)}")
        elif isinstance(query, bytes | bytearray | memoryview) and len(query):
            example = media_in(bytes(query))
        elif not isinstance(query, str):
            raise InvalidInputError(f"ask with a text, the bytes of an example, or a content block; got {shown(query)}")
        asked = planning.Request.of(
            scope, query if example is None else example.kind or "media", k=k, within=within, kinds=(),
            categories=(), since=since, until=until, metadata=None, weights=None,
        )  # fmt: skip
        return cls(
            asked.query if example is None else "", example, asked.k, replace(asked.where, categories=frozenset(kinds))
        )


def _asks(span: Span, given: Given) -> None:
    request = given["request"]
    asks(span, request.text, request.k, request.where.scope)


@traced("recall", _asks, finds)
async def recall_media(run: Runner, services: Services, request: MediaRequest) -> list[Hit]:
    """At most k hits, best first; indexes new media first."""
    index, embedder = ready(services)
    example, kinds, embeds = request.example, request.where.categories, ", ".join(sorted(embedder.kinds))
    if unknown := sorted(kinds - embedder.kinds):
        raise InvalidInputError(f"{embedder.name!r} embeds {embeds}, not {', '.join(unknown)}")
    if example is not None and not example.kind:
        possible = sorted(kinds or embedder.kinds)
        if len(possible) > 1:
            raise InvalidInputError(f"are these bytes {' or '.join(possible)}? give kinds=, or a content block")
        example = replace(example, kind=possible[0])
    if example is not None and example.kind not in embedder.kinds:
        raise InvalidInputError(f"{embedder.name!r} embeds {embeds}, not {example.kind}")
    asked = replace(request, example=example)
    state = await run.call(services.truth.state, request.where.scope.owner, KINDS)
    status, note = await services.state(MediaIndex).catch_up(run, services, request.where.scope.owner, state)
    vector, failure = await _query_vector(run, services, index, embedder, asked)
    settings = services.config.recall
    plan = planning.plan(
        request.text, now=services.clock(), candidates=max(settings.candidates, request.k), synonyms=settings.synonyms
    )
    # The same failure may have kept both the query and the new media from their vectors.
    note = "; ".join(part for part in (failure, "" if note in failure else note) if part)
    view = replace(await in_view(run, services, request.where.scope, state), index=index)
    longest = view.config.retention.ttl.get(RecordKind.TURN.value)  # media live as long as their turns
    oldest = None if longest is None else view.clock() - longest
    where = replace(asked.where, since=max(filter(None, (asked.where.since, oldest)), default=None))
    home = Home(view, narrowed(view, where), status, state)
    return await _ranked(run, home, asked, Asked(request.text, vector, plan), note)


async def _query_vector(
    run: Runner, services: Services, index: SemanticIndex, embedder: MediaEmbedder, request: MediaRequest
) -> tuple[Floats | None, str]:
    """The unit vector of the text or the example, or why there is none."""
    example = request.example
    data = request.text.encode(errors="surrogatepass") if example is None else example.data
    key = media_key(embedder.name, "text" if example is None else example.kind, data)
    vector = services.state(RecallProjection).passages.get(key)
    if vector is None and example is not None:  # it may be a picture that was shown before
        vector = (await run.call(index.known, [key])).get(key)
    if vector is None:
        try:
            if example is None:
                vector = await run.call(embedder.embed_query, request.text)
            else:
                vector = (await run.call(embedder.embed_media, [example.data], example.kind))[0]
        except ModelError as error:
            if example is not None:
                raise
            _log.warning("%s; recalling media by words alone", error)
            return None, f"words alone, {error}"
        services.state(RecallProjection).passages.put(key, vector)
    if example is not None and not vector.any():
        raise InvalidInputError(f"{embedder.name!r} cannot read this example: give another, or a text")
    stored = await run.call(index.embedder)
    if stored is not None and stored != (embedder.name, len(vector)):
        raise EmbedderMismatchError(stored, (embedder.name, len(vector)))
    return vector, ""


async def _ranked(run: Runner, home: Home, request: MediaRequest, asked: Asked, note: str) -> list[Hit]:
    """The hits among what the paths of the plan find; the view is one of the index of media."""
    pool = await gather(run, home, asked)
    weights = Weights.plain()  # vector and text, 0.7 to 0.3
    if request.example is not None:
        weights = replace(weights, vector=1.0, text=0.0)
    elif asked.vector is None:
        weights = replace(weights, vector=0.0, text=1.0)
    columns = dict.fromkeys(Signals.__dataclass_fields__, np.zeros(len(pool.places.ids)))
    columns["vector"] = signals.vector_signal(pool.similarity, pool.average)
    columns["text"] = signals.text_signal(pool.bm25)
    scores = signals.weighted_mean(columns, weights)
    best = np.lexsort((-pool.places.ids, -scores))[: request.k]
    row_of = {number: row for row, number in enumerate(pool.places.ids.tolist())}
    plan: Plan | None = None if request.example else replace(asked.plan, corrected=pool.corrected)
    return [
        Hit(
            record=record,
            score=float(scores[row_of[record.id]]),
            signals=Signals(**{name: float(columns[name][row_of[record.id]]) for name in ("vector", "text")}),
            weights=weights,
            note=note,
            plan=plan,
        )
        for record in await run.call(home.view.index.get, pool.places.ids[best].tolist())
    ]
