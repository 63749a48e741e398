"""``recall_media``: the images and audio that match a text or resemble an example."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import EmbedderMismatchError, InvalidInputError, ModelError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.log.media import Media, media_in, media_of
from hybrid_memory.media.media import MediaIndex, media_key, ready
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
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.validation import shown

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
        example = _example(query)
        asked = planning.Request.of(
            scope, query if example is None else example.kind or "media", k=k, within=within, kinds=(),
            categories=(), since=since, until=until, metadata=None, weights=None,
        )  # fmt: skip
        return cls(
            asked.query if example is None else "", example, asked.k, replace(asked.where, categories=frozenset(kinds))
        )


def _example(query: Any) -> Media | None:
    if isinstance(query, str):
        return None
    if isinstance(query, Mapping):
        example = media_of(query)
        if example is None:
            raise InvalidInputError(f"this content block has no data that can be decoded: {shown(query)}")
        return example
    if isinstance(query, bytes | bytearray | memoryview) and len(query):
        return media_in(bytes(query))
    raise InvalidInputError(f"ask with a text, the bytes of an example, or a content block; got {shown(query)}")


def _asks(span: Span, given: Given) -> None:
    request = given["request"]
    asks(span, request.text, request.k, request.where.scope)


@traced("recall", _asks, finds)
async def recall_media(run: Runner, services: Services, request: MediaRequest) -> list[Hit]:
    """At most k hits, best first; indexes new media first."""
    index, embedder = ready(services)
    asked = replace(request, example=_of_kind(request, embedder))
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


def _of_kind(request: MediaRequest, embedder: MediaEmbedder) -> Media | None:
    """The example with its kind; raises `InvalidInputError` for a kind that is not embedded."""
    example, wanted = request.example, request.where.categories
    possible = sorted(embedder.kinds)
    if unknown := sorted(wanted - embedder.kinds):
        raise InvalidInputError(f"{embedder.name!r} embeds {', '.join(possible)}, not {', '.join(unknown)}")
    if example is None:
        return None
    if not example.kind:
        possible = sorted(wanted or embedder.kinds)
        if len(possible) > 1:
            raise InvalidInputError(f"are these bytes {' or '.join(possible)}? give kinds=, or a content block")
        return replace(example, kind=possible[0])
    if example.kind not in embedder.kinds:
        raise InvalidInputError(f"{embedder.name!r} embeds {', '.join(possible)}, not {example.kind}")
    return example


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
