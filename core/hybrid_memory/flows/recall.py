"""``recall``: the records that answer a query best, with the arithmetic of each score."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import EmbedderMismatchError, InvalidInputError, ModelError
from hybrid_memory.flows.flush import catch_up, embedding
from hybrid_memory.flows.history import check_span, checked_count
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Floats, Ids, Matches, Places
from hybrid_memory.scoring import ranking, signals
from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Hit, RecordKind, Scope, Signals, Weights, Where
from hybrid_memory.types.record import Scalar
from hybrid_memory.types.validation import shown, storable

NEIGHBOURS = 2
MAX_QUERY_CHARS = 10_000
DIVERSE_POOL = 50
"""Candidates that compete when results are made diverse."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Found:
    """Candidates: their places, similarity (NaN: no vector) against the owner's average, BM25 (0: no common word)."""

    places: Places
    similarity: signals.Array
    average: float
    bm25: signals.Array


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
        metadata: Mapping[str, Scalar] | None,
        weights: Weights | None,
    ) -> Self:
        """The request, if its parts are in order; raises `InvalidInputError`."""
        if not isinstance(query, str):
            raise InvalidInputError(f"the query must be text, got {shown(query)}")
        if not query.strip():
            raise InvalidInputError("the query is empty: ask for something")
        number = checked_count("k", k, least=1)
        if within not in ("user", "session"):
            raise InvalidInputError(f"within must be 'user' or 'session', got {within!r}")
        if within == "session" and scope.session is None:
            raise InvalidInputError("within='session' needs a scope with a session: scoped(..., session=...)")
        if isinstance(categories, str) or not isinstance(categories, Collection):
            raise InvalidInputError(f"categories must be a collection of names, got {shown(categories)}")
        if not isinstance(weights, Weights | None):
            raise InvalidInputError(f"weights must be Weights(...), got {shown(weights)}")
        check_span(since, until)
        where = Where(
            scope=scope if within == "session" else scope.owner,
            kinds=_kinds(kinds),
            categories=frozenset(categories),
            since=since,
            until=until,
            metadata={} if metadata is None else _scalars(metadata),
        )
        return cls(query=query[:MAX_QUERY_CHARS], k=number, where=where, weights=weights)


def _kinds(kinds: Collection[RecordKind]) -> frozenset[RecordKind]:
    try:
        return frozenset(RecordKind(kind) for kind in kinds)
    except (TypeError, ValueError):
        known = ", ".join(RecordKind)
        raise InvalidInputError(f"kinds must be a collection of these: {known}; got {shown(kinds)}") from None


def _scalars(metadata: Mapping[Any, Any]) -> dict[str, Scalar]:
    """The metadata to look for, if every engine can compare its values for equality."""
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be values by name, got {shown(metadata)}")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, Scalar):
            raise InvalidInputError(
                f"metadata can be text, numbers, booleans or None by name, got {shown(key)}: {shown(value)}"
            )
        try:
            storable({key: value})
        except ValueError as error:
            raise InvalidInputError(f"no metadata has {shown(key)}: {shown(value)}; {error}") from None
    return dict(metadata)


async def recall(run: Runner, world: World, request: Request) -> list[Hit]:
    """At most k hits, best first; the index is brought up to the log first."""
    note = await catch_up(run, world, request.where.scope.owner)
    vector, failure = await _query_vector(run, world, request.query)
    found = await _candidates(run, world, request, vector)
    if not len(found.places.ids):
        return []
    weights = request.weights or world.config.recall.weights
    if vector is None:
        weights = _words_alone(weights)
    weights = _faded(weights, signals.brevity(found.places.lengths))
    columns = _columns(world, found, weights)
    scores = ranking.weighted_mean(columns, weights)
    rows = await _order(run, world, request, found.places.ids, scores)
    records = await run.call(world.index.get, found.places.ids[rows].tolist())
    row_of = {int(found.places.ids[row]): int(row) for row in rows}
    # The same failure may have kept both the query and the new turns from their vectors.
    note = "; ".join(part for part in (failure, "" if note and note in failure else note) if part)
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
        raise EmbedderMismatchError(there, (embedder.name, len(vector)))
    return vector, ""


async def _candidates(run: Runner, world: World, request: Request, vector: Floats | None) -> _Found:
    """What either path found, and its neighbours."""
    index, where = world.index, request.where
    count = max(world.config.recall.candidates, request.k)
    words = terms(request.query)
    query, average = None, 0.0
    if vector is not None:
        centroid, number = await run.call(index.centroid, where.scope.owner)
        if number:
            middle = centroid.astype(np.float64)
            asked = signals.centred(vector.astype(np.float64), middle, number)
            query, average = asked.astype(np.float32), float(asked @ middle)

    async def by_vector() -> Matches | None:
        return None if query is None else await run.call(index.nearest, query, where, count)

    async def by_text() -> Matches | None:
        return await run.call(index.matching, words, where, count) if words else None

    near, matching = await run.gather(by_vector, by_text)
    ids = [matches.ids for matches in (near, matching) if matches is not None]
    seeds = np.unique(np.concatenate(ids)) if ids else np.empty(0, dtype=np.int64)
    places = await run.call(index.places, seeds, where, NEIGHBOURS)
    bm25 = np.zeros(len(places.ids))
    if matching is not None:
        # What another process deleted since the search has no place.
        row = np.minimum(np.searchsorted(places.ids, matching.ids), max(len(places.ids) - 1, 0))
        there = places.ids[row] == matching.ids if len(places.ids) else np.zeros(len(row), dtype=bool)
        bm25[row[there]] = matching.scores[there]
    similarity = np.full(len(places.ids), np.nan)
    if query is not None:
        similarity = (await run.call(index.similar, query, where.scope.owner, places.ids)).astype(np.float64)
    return _Found(places, similarity, average, bm25)


def _columns(world: World, found: _Found, weights: Weights) -> dict[str, signals.Array]:
    """Every signal of every candidate, under its field name."""
    places = found.places
    by_meaning = signals.vector_signal(found.similarity, found.average)
    by_words = signals.text_signal(found.bm25)
    share = weights.vector + weights.text
    vector, text = (weights.vector / share, weights.text / share) if share else (0.0, 0.0)
    relevance = vector * by_meaning + text * by_words
    now = world.clock().timestamp()
    return {
        "vector": by_meaning,
        "text": by_words,
        "neighbours": signals.neighbour_signal(relevance, places.segments, places.ordinals, average=0.5 * vector),
        "segment": signals.segment_signal(relevance, places.segments),
        "recency": signals.recency_signal(now - places.at, world.config.recall.half_life.total_seconds()),
        "importance": places.importance.astype(np.float64),
        "use": signals.use_signal(places.uses),
    }


async def _order(run: Runner, world: World, request: Request, ids: Ids, scores: signals.Array) -> npt.NDArray[np.int64]:
    """Row numbers of the k best; equal scores put the newer first."""
    best = np.lexsort((-ids, -scores))
    diversity = world.config.recall.diversity
    if not diversity:
        return best[: request.k]
    pool = best[: max(DIVERSE_POOL, request.k)]
    likeness = await run.call(world.index.likeness, request.where.scope.owner, ids[pool])
    return pool[ranking.diverse(scores[pool], likeness, request.k, diversity)]


def _words_alone(weights: Weights) -> Weights:
    """Without vectors the text takes the weight of both."""
    return replace(weights, vector=0.0, text=weights.vector + weights.text)


def _faded(weights: Weights, brevity: float) -> Weights:
    return replace(
        weights,
        neighbours=weights.neighbours * brevity,
        segment=weights.segment * brevity,
        importance=weights.importance * brevity,
    )
