"""``recall``: the records that answer a query best, with the arithmetic of each score."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Self

import numpy as np

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import EmbedderMismatchError, InvalidInputError, ModelError
from hybrid_memory.flows.flush import catch_up, embedding
from hybrid_memory.flows.history import check_span
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Floats, Matches, Places
from hybrid_memory.scoring import ranking, signals
from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Hit, RecordKind, Scope, Signals, Weights, Where

NEIGHBOURS = 1
MAX_QUERY_CHARS = 10_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of recall."""

    query: str
    k: int
    where: Where
    weights: Weights | None

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: str,
        *,
        k: int,
        within: str,
        kinds: Collection[RecordKind],
        categories: Collection[str],
        since: datetime | None,
        until: datetime | None,
        metadata: Mapping[str, str | int | float | bool | None] | None,
        weights: Weights | None,
    ) -> Self:
        """The request, if its parts are in order; raises `InvalidInputError`."""
        if not query.strip():
            raise InvalidInputError("the query is empty: ask for something")
        if k < 1:
            raise InvalidInputError(f"k must be 1 or more, got {k}")
        if within not in {"user", "session"}:
            raise InvalidInputError(f"within must be 'user' or 'session', got {within!r}")
        if within == "session" and scope.session is None:
            raise InvalidInputError("within='session' needs a scope with a session: scoped(..., session=...)")
        check_span(since, until)
        where = Where(
            scope=scope if within == "session" else scope.owner,
            kinds=frozenset(RecordKind(kind) for kind in kinds),
            categories=frozenset(categories),
            since=since,
            until=until,
            metadata=dict(metadata or {}),
        )
        return cls(query=query[:MAX_QUERY_CHARS], k=k, where=where, weights=weights)


async def recall(run: Runner, world: World, request: Request) -> list[Hit]:
    """At most k hits, best first; the index is brought up to the log first."""
    note = await catch_up(run, world, request.where.scope.owner)
    vector, failure = await _query_vector(run, world, request.query)
    places, cosines, bm25 = await _candidates(run, world, request, vector)
    if not len(places.ids):
        return []
    weights = request.weights or world.config.recall.weights
    if vector is None:  # words alone: the text signal takes the place of both
        weights = _without_vector(weights)
    columns = _columns(world, places, cosines, bm25, weights)
    scores = ranking.weighted_mean(columns, weights)
    order = np.lexsort((-places.ids, -scores))[: request.k]
    records = await run.call(world.index.get, places.ids[order].tolist())
    row_of = {int(places.ids[row]): int(row) for row in order}
    note = "; ".join(part for part in (failure, note) if part)
    return [
        Hit(
            record=record,
            score=float(scores[row_of[record.id]]),
            signals=Signals(**{name: float(column[row_of[record.id]]) for name, column in columns.items()}),
            weights=weights,
            note=note,
        )
        for record in records
    ]


async def _query_vector(run: Runner, world: World, query: str) -> tuple[Floats | None, str]:
    """The query's unit vector, and why there is none."""
    embedder = world.embedder
    if embedder is None:
        return None, "words alone, no embedder"
    vector = world.queries.get(query)
    if vector is None:
        try:
            vector = await embedding(run, embedder.embed_query, query)
        except ModelError as error:
            _log.warning("%s; recalling by words alone", error)
            return None, f"words alone, {error}"
        world.queries.put(query, vector)
    there = await run.call(world.index.embedder)
    if there is not None and there != (embedder.name, len(vector)):
        raise EmbedderMismatchError(
            f"the store's vectors come from embedder {there[0]!r} (width {there[1]}), the query's from "
            f"{embedder.name!r} (width {len(vector)}): open the store with its embedder, or call rebuild(embedder=...)"
        )
    return vector, ""


async def _candidates(
    run: Runner, world: World, request: Request, vector: Floats | None
) -> tuple[Places, signals.Array, signals.Array]:
    """What either path found and its neighbours, with cosines (NaN: no vector) and BM25 scores (0: no word)."""
    index, where = world.index, request.where
    count = max(world.config.recall.candidates, request.k)
    words = terms(request.query)

    async def by_vector() -> Matches | None:
        return None if vector is None else await run.call(index.nearest, vector, where, count)

    async def by_text() -> Matches | None:
        return await run.call(index.matching, words, where, count) if words else None

    near, matching = await run.gather(by_vector, by_text)
    found = [matches.ids for matches in (near, matching) if matches is not None]
    ids = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    places = await run.call(index.places, ids, where, NEIGHBOURS)
    bm25 = np.zeros(len(places.ids))
    if matching is not None:
        bm25[np.searchsorted(places.ids, matching.ids)] = matching.scores
    cosines = np.full(len(places.ids), np.nan)
    if vector is not None:
        cosines = (await run.call(index.similar, vector, where.scope, places.ids)).astype(np.float64)
    return places, cosines, bm25


def _columns(
    world: World, places: Places, cosines: signals.Array, bm25: signals.Array, weights: Weights
) -> dict[str, signals.Array]:
    """Every signal of every candidate, under its field name."""
    by_meaning, by_words = signals.vector_signal(cosines), signals.text_signal(bm25)
    share = weights.vector + weights.text
    relevance = (weights.vector * by_meaning + weights.text * by_words) / share if share else np.zeros(len(places.ids))
    now = world.clock().timestamp()
    return {
        "vector": by_meaning,
        "text": by_words,
        "neighbours": signals.neighbour_signal(relevance, places.segments, places.ordinals),
        "segment": signals.segment_signal(relevance, places.segments),
        "recency": signals.recency_signal(now - places.at, world.config.recall.half_life.total_seconds()),
        "importance": places.importance.astype(np.float64),
        "use": signals.use_signal(places.uses),
    }


def _without_vector(weights: Weights) -> Weights:
    by_name = asdict(weights)
    return Weights(**{**by_name, "vector": 0.0, "text": by_name["vector"] + by_name["text"]})
