"""``recall``: the records that answer a query best, with the arithmetic of each score."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.candidates import Found, candidates, query_vector
from hybrid_memory.flows.flush import catch_up
from hybrid_memory.flows.history import check_span, checked_count
from hybrid_memory.flows.visible import in_view
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Ids
from hybrid_memory.scoring import ranking, signals
from hybrid_memory.text.asking import about_now, about_the_past
from hybrid_memory.tiers.semantic import SEGMENT_PAUSE
from hybrid_memory.types import Hit, Record, RecordKind, Scope, Signals, Weights, Where
from hybrid_memory.types.record import Scalar
from hybrid_memory.types.validation import shown, storable

MAX_QUERY_CHARS = 10_000
HEAD = 5
"""Hits among which the newest comes first; what stands behind them is not lifted over what fits better."""

DIVERSE_POOL = 50
"""Candidates that compete when results are made diverse."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of recall."""

    query: str
    k: int
    where: Where
    weights: Weights | None
    spaces: Collection[str] = ()

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: str,
        *,
        k: int,
        within: str,
        kinds: Collection[RecordKind | str],
        categories: Collection[str],
        since: datetime | None,
        until: datetime | None,
        metadata: Mapping[str, Scalar] | None,
        weights: Weights | None,
        spaces: Collection[str] = (),
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
        if within == "session" and spaces:
            raise InvalidInputError("within='session' is this handle's session alone: leave spaces out")
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
        return cls(query=query[:MAX_QUERY_CHARS], k=number, where=where, weights=weights, spaces=spaces)


def _kinds(kinds: Collection[RecordKind | str]) -> frozenset[RecordKind]:
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


async def recall(run: Runner, world: World, request: Request, spaces: Sequence[Scope] = ()) -> list[Hit]:
    """At most k hits, best first, from these spaces too; the index is brought up to the log first.

    Where the question is about how things are now, the newer of two that say much the same stands first.
    """
    scopes = [request.where.scope, *spaces]
    notes = dict.fromkeys([await catch_up(run, world, scope.owner) for scope in scopes])
    vector, failure = await query_vector(run, world, request.query)
    count = max(world.config.recall.candidates, request.k)
    several = []
    for scope in scopes:
        view = await in_view(run, world, scope)
        where = replace(request.where, scope=scope)
        several.append(await candidates(run, view, where, request.query, vector, count=count))
    found = Found.joined(several)
    if not len(found.places.ids):
        return []
    weights = _applied(request.weights or world.config.recall.weights, found, request.query, meaning=vector is not None)
    columns = _columns(world, found, weights)
    scores = ranking.weighted_mean(columns, weights)
    records = await _best(run, world, scopes, found.places.ids, scores, k=request.k)
    row_of = {number: row for row, number in enumerate(found.places.ids.tolist())}
    if (request.weights or world.config.recall.weights).current and about_now(request.query):
        ranked = scores[[row_of[record.id] for record in records]]
        records = await _newest_first(run, world, request.where.scope.owner, records, ranked)
    # The same failure may have kept both the query and the new turns from their vectors.
    note = "; ".join(part for part in (failure, *(part for part in notes if part not in failure)) if part)
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


def _columns(world: World, found: Found, weights: Weights) -> dict[str, signals.Array]:
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
        "current": found.current.astype(np.float64),
    }


async def _best(
    run: Runner, world: World, scopes: Sequence[Scope], ids: Ids, scores: signals.Array, *, k: int
) -> list[Record]:
    """The k best records; equal scores put the newer first, and what a turn says is returned once."""
    best = np.lexsort((-ids, -scores))
    diversity = world.config.recall.diversity
    if diversity:
        pool = best[: max(DIVERSE_POOL, k)]
        # Records of different owners are not compared: 0.
        likeness = np.sum([await run.call(world.index.likeness, scope.owner, ids[pool]) for scope in scopes], axis=0)
        best = pool[ranking.diverse(scores[pool], likeness, len(pool), diversity)]
    chosen: dict[int, Record] = {}
    for start in range(0, len(best), k):
        for record in await run.call(world.index.get, ids[best[start : start + k]].tolist()):
            # A turn and what was read from it lead to the same words: the one that fits better stands for both.
            if record.turn not in chosen and len(chosen) < k:
                chosen[record.turn] = record
        if len(chosen) >= k:
            break
    return list(chosen.values())


async def _newest_first(
    run: Runner, world: World, owner: Scope, records: list[Record], scores: signals.Array
) -> list[Record]:
    """The records, where among the first `HEAD` the newer of two that say much the same stands first."""
    centroid, number = await run.call(world.index.centroid, owner)
    if number < 2 or len(records) < 2 or world.config.recall.diversity:  # noqa: PLR2004 - nothing to compare
        return records
    head, rest = records[:HEAD], records[HEAD:]
    ids = np.array([record.id for record in head], dtype=np.int64)
    # The mean over all pairs of different records, from that over all pairs.
    average = (number * float(centroid @ centroid) - 1) / (number - 1)
    by_age = sorted(range(len(head)), key=lambda row: (head[row].at, head[row].turn), reverse=True)
    order = ranking.newest_first(
        await run.call(world.index.likeness, owner, ids),
        scores[:HEAD],
        np.argsort(by_age).astype(np.float64),
        np.array([[_apart(one, other) for other in head] for one in head]),
        average,
    )
    return [*(head[row] for row in order.tolist()), *rest]


def _apart(one: Record, other: Record) -> bool:
    """Whether two records can tell of a change: said on two occasions, and if both are facts, of the same subject."""
    facts = one.kind is other.kind is RecordKind.FACT
    if facts and one.speaker != other.speaker:
        return False
    return one.scope != other.scope or abs(one.at - other.at) > SEGMENT_PAUSE


def _applied(weights: Weights, found: Found, query: str, *, meaning: bool) -> Weights:
    """The weights for these candidates: without vectors the text takes the weight of both."""
    if not meaning:
        weights = replace(weights, vector=0.0, text=weights.vector + weights.text)
    brevity = signals.brevity(found.places.lengths)
    told = found.current.all() or about_the_past(query)
    return replace(
        weights,
        neighbours=weights.neighbours * brevity,
        segment=weights.segment * brevity,
        importance=weights.importance * brevity,
        current=0.0 if told else weights.current,
    )
