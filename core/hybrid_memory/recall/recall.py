"""``recall``: the records that answer a query best, with the arithmetic of each score."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from hybrid_memory.arrays import Array, Ids
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import SEGMENT_PAUSE, derive
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.recall import cache, ranking
from hybrid_memory.recall import plan as planning
from hybrid_memory.recall.candidates import Asked, Found, candidates, narrowed, query_vector
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.request import Request
from hybrid_memory.recall.score import by_words
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.retention import kept
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_view
from hybrid_memory.text.asking import about_now, about_the_past

_log = logging.getLogger(__name__)

SCORE_DIGITS = 6
"""Scores that differ less are equal: engines add up in another order."""

HEAD = 5
"""Hits among which the newest comes first; what stands behind them is not lifted over what fits better."""

DIVERSE_POOL = 50
"""Candidates that compete when results are made diverse."""


async def recall(run: Runner, services: Services, request: Request, spaces: Sequence[Scope] = ()) -> list[Hit]:
    """At most k hits, best first, from these spaces too; the index is brought up to the log first.

    Where the question is about how things are now, the newer of two that say much the same stands first. What was
    found lately is found again at once, as long as nothing was written. Without an index the log is looked through.
    """
    where, weights = request.where, request.weights or services.config.recall.weights
    key = cache.question(where, request.query, request.k, weights, request.intent, tuple(spaces), services.horizon)
    now = await cache.heads(run, services, [where.scope, *spaces])
    hits = await cache.lookup(run, services, key, now)
    if hits is not None:
        return hits
    since = services.state(cache.RecallProjection).answers.cleared
    try:
        hits, failed = await _found(run, services, request, spaces)
    except StoreUnavailableError as error:
        _log.warning("%s; recalling from the log alone", error)
        return await from_log(run, services, request, spaces, str(error))
    if not failed:
        cache.keep(services, key, hits, now, since=since)
    return hits


async def _found(run: Runner, services: Services, request: Request, spaces: Sequence[Scope]) -> tuple[list[Hit], bool]:
    """The hits, and whether a path failed on the way."""
    scopes = [request.where.scope, *spaces]
    notes = dict.fromkeys([await services.state(TextIndex).catch_up(run, services, scope.owner) for scope in scopes])
    vector, failure = await query_vector(run, services, request.query)
    failed = any(notes) or (vector is None and services.embedder is not None)
    wanted, plan = request.weights or services.config.recall.weights, _plan(services, request)
    several = []
    for scope in scopes:
        view = await in_view(run, services, scope)
        where = replace(request.where, scope=scope)
        several.append(await candidates(run, view, where, Asked(request.query, vector, plan)))
    found = Found.joined(several)
    if not len(found.places.ids):
        return [], failed
    plan = replace(plan, corrected=found.corrected)
    weights = _applied(wanted, found, request.query, plan, meaning=vector is not None)
    columns = _columns(services, found, weights, plan)
    scores, unranked = await _scores(run, services, request.query, columns, weights=weights, ids=found.places.ids)
    records = await _best(run, services, scopes, found.places.ids, scores, k=request.k)
    row_of = {number: row for row, number in enumerate(found.places.ids.tolist())}
    if wanted.current and about_now(request.query):
        ranked = scores[[row_of[record.id] for record in records]]
        records = await _newest_first(run, services, request.where.scope.owner, records, ranked)
    records = await _whose(run, services, records)
    near = _closeness(found, [row_of[record.id] for record in records if record.text.strip() == request.query.strip()])
    # The same failure may have kept both the query and the new turns from their vectors.
    note = "; ".join(part for part in (failure, *(part for part in notes if part not in failure), unranked) if part)
    ranked_by = "" if unranked else services.ranker.name
    hits = [
        Hit(
            record=record,
            score=float(scores[row_of[record.id]]),
            signals=Signals(**{name: float(column[row_of[record.id]]) for name, column in columns.items()}),
            weights=weights,
            note=note,
            plan=plan,
            ranker=ranked_by,
            closeness=float(near[row_of[record.id]]) if np.isfinite(near[row_of[record.id]]) else None,
        )
        for record in records
    ]
    return [_explained(hit, hits[row + 1 :]) for row, hit in enumerate(hits)], failed or bool(unranked)


def _plan(services: Services, request: Request) -> Plan:
    """What to look for; the times of a query count from now, or from a view's own moment."""
    settings = services.config.recall
    return planning.plan(
        request.query,
        now=services.clock() if services.horizon is None else services.horizon.before or services.clock(),
        candidates=max(settings.candidates, request.k),
        wanted=request.intent,
        synonyms=settings.synonyms,
    )


async def _scores(
    run: Runner, services: Services, query: str, columns: Mapping[str, Array], *, weights: Weights, ids: Ids
) -> tuple[Array, str]:
    """What the ranker gives each candidate, and why it could not: then the weighted mean of the signals."""

    def texts(rows: Sequence[int]) -> list[str]:
        records = {record.id: record.text for record in services.index.get(ids[list(rows)].tolist())}
        return [records.get(int(ids[row]), "") for row in rows]

    try:
        scores = await run.call(services.ranker.score, query, columns, weights, texts)
    except ModelError as error:
        _log.warning("%s; ranking by the signals alone", error)
        return ranking.weighted_mean(columns, weights), f"ranked by the signals alone, {error}"
    if np.shape(scores) != ids.shape or not np.isfinite(scores).all() or np.min(scores) < 0 or np.max(scores) > 1:
        reason = f"{services.ranker.name or services.ranker!r} gave no {len(ids)} scores in 0 to 1"
        _log.warning("%s; ranking by the signals alone", reason)
        return ranking.weighted_mean(columns, weights), f"ranked by the signals alone, {reason}"
    return scores, ""


def _closeness(found: Found, asked: Sequence[int]) -> Array:
    """How near each candidate is to the query by itself; an earlier turn in the same words counts for no average."""
    average, count = found.average.copy(), found.count.copy()
    for row in asked:
        if np.isfinite(found.similarity[row]):
            owner = (found.average == found.average[row]) & (found.count == found.count[row]) & (count > 1)
            average[owner] = (average[owner] * count[owner] - found.similarity[row]) / (count[owner] - 1)
            count[owner] -= 1
    return ranking.closeness(found.similarity, average, found.same, count)


def _explained(hit: Hit, behind: Sequence[Hit]) -> Hit:
    """The hit, with a word on why better ones stand behind it."""
    if not behind or hit.score >= max(other.score for other in behind) - 10**-SCORE_DIGITS:
        return hit
    why = "before better ones, for the newest of much the same or for variety"
    return replace(hit, note=f"{hit.note}; {why}" if hit.note else why)


def _columns(services: Services, found: Found, weights: Weights, plan: Plan) -> dict[str, Array]:
    places = found.places
    by_meaning = ranking.vector_signal(found.similarity, found.average)
    by_words = ranking.text_signal(found.bm25)
    share = weights.vector + weights.text
    vector, text = (weights.vector / share, weights.text / share) if share else (0.0, 0.0)
    relevance = vector * by_meaning + text * by_words
    now, half_life = services.clock().timestamp(), services.config.recall.half_life.total_seconds()
    return {
        "vector": by_meaning,
        "text": by_words,
        "neighbours": ranking.neighbour_signal(relevance, places.segments, places.ordinals, average=0.5 * vector),
        "segment": ranking.segment_signal(relevance, places.segments),
        "recency": ranking.recency_signal(now - places.at, half_life),
        "importance": places.importance.astype(np.float64),
        "use": ranking.use_signal(places.uses, now - places.last_used, half_life),
        "current": found.current.astype(np.float64),
        "exact": found.exact,
        "temporal": ranking.temporal_signal(
            places.at, [(span.since.timestamp(), span.until.timestamp()) for span in plan.times]
        ),
    }


async def _best(
    run: Runner, services: Services, scopes: Sequence[Scope], ids: Ids, scores: Array, *, k: int
) -> list[Record]:
    """The k best records; equal scores put the newer first, and what a turn says is returned once."""
    best = np.lexsort((-ids, -np.round(scores, SCORE_DIGITS)))
    diversity = services.config.recall.diversity
    if diversity:
        pool = best[: max(DIVERSE_POOL, k)]
        # Records of different owners are not compared: 0.
        likeness = np.sum([await run.call(services.index.likeness, scope.owner, ids[pool]) for scope in scopes], axis=0)
        best = pool[ranking.diverse(scores[pool], likeness, len(pool), diversity)]
    owners, chosen = {scope.owner for scope in scopes}, dict[int, Record]()
    for start in range(0, len(best), k):
        for record in await run.call(services.index.get, ids[best[start : start + k]].tolist()):
            # A turn and what was read from it lead to the same words: the one that fits better stands for both.
            mine = record.scope.owner in owners  # an index of a log that was set back may have ids of another owner
            if mine and record.turn not in chosen and len(chosen) < k:
                chosen[record.turn] = record
        if len(chosen) >= k:
            break
    return list(chosen.values())


async def _whose(run: Runner, services: Services, records: list[Record]) -> list[Record]:
    """The records, with the origin of their turn where the index does not know it: it was made by an older version."""
    unknown = [record for record in records if record.origin is Origin.IMPORTED and record.kind is not RecordKind.ITEM]
    origins: dict[int, Origin] = {}
    for owner in {record.scope.owner for record in unknown}:
        turns = {record.turn for record in unknown if record.scope.owner == owner}
        origins |= {turn.position: turn.origin for turn in await at_positions(run, services, owner, turns)}
    if not origins:
        return records
    return [replace(record, origin=origins.get(record.turn, record.origin)) for record in records]


async def _newest_first(
    run: Runner, services: Services, owner: Scope, records: list[Record], scores: Array
) -> list[Record]:
    """The records, where among the first `HEAD` the newer of two that say much the same stands first."""
    centroid, number = await run.call(services.index.centroid, owner)
    if number < 2 or len(records) < 2 or services.config.recall.diversity:  # noqa: PLR2004 - nothing to compare
        return records
    head, rest = records[:HEAD], records[HEAD:]
    ids = np.array([record.id for record in head], dtype=np.int64)
    # The mean over all pairs of different records, from that over all pairs.
    average = (number * float(centroid @ centroid) - 1) / (number - 1)
    by_age = sorted(range(len(head)), key=lambda row: (head[row].at, head[row].turn), reverse=True)
    order = ranking.newest_first(
        await run.call(services.index.likeness, owner, ids),
        scores[:HEAD],
        np.argsort(by_age).astype(np.float64),
        np.array([[_apart(one, other) for other in head] for one in head]),
        average,
    )
    return [*(head[row] for row in order.tolist()), *rest]


def _apart(one: Record, other: Record) -> bool:
    """Whether two records can tell of a change: of two occasions, and if both are facts, of the same subject."""
    if one.kind is other.kind is RecordKind.FACT and one.speaker != other.speaker:
        return False
    return one.scope != other.scope or abs(one.at - other.at) > SEGMENT_PAUSE


def _applied(weights: Weights, found: Found, query: str, plan: Plan, *, meaning: bool) -> Weights:
    """The weights as this query applies them: without vectors the text takes the weight of both."""
    if not meaning:
        weights = replace(weights, vector=0.0, text=weights.vector + weights.text)
    brevity = ranking.brevity(found.places.lengths)
    stale_wanted = found.current.all() or about_the_past(query)
    applied = asdict(weights) | {
        "neighbours": weights.neighbours * brevity,
        "segment": weights.segment * brevity,
        "importance": weights.importance * brevity,
        "current": 0.0 if stale_wanted else weights.current,
        "exact": weights.exact if plan.exact else 0.0,
        "temporal": weights.temporal if plan.times else 0.0,
    }
    # Where nothing is left to judge by, all scores are 0 with any weights.
    return Weights(**applied) if any(applied.values()) else weights


NEWEST = 1000
"""Turns of each owner that are looked through."""

WEIGHTS = replace(Weights.plain(), vector=0.0, text=0.9, recency=0.1)
"""Without a common word the newest comes first."""


async def from_log(
    run: Runner, services: Services, request: Request, spaces: Sequence[Scope], failure: str
) -> list[Hit]:
    """The hits that the newest turns of the log give, with a note of what failed."""
    records: list[Record] = []
    for scope in (request.where.scope, *spaces):
        view = await in_view(run, services, scope)
        allowed = narrowed(view, replace(request.where, scope=scope))
        events = await run.call(view.log.read, scope, kinds=(EventKind.MESSAGE,), limit=NEWEST, newest=True)
        records += [item.record for item in derive(learnt(services, events), {}) if allowed.allows(item.record)]
    importance = np.array([record.importance for record in records])
    times = np.array([record.at.timestamp() for record in records])
    known = kept(services, times, importance, np.zeros(len(records), dtype=np.int64))
    records = [record for record, stays in zip(records, known, strict=True) if stays]
    if not records:
        return []
    age = services.clock().timestamp() - np.array([record.at.timestamp() for record in records])
    columns = dict.fromkeys(Signals.__dataclass_fields__, np.zeros(len(records)))
    columns["text"] = by_words(request.query, [record.text for record in records])
    columns["recency"] = ranking.recency_signal(age, services.config.recall.half_life.total_seconds())
    scores = ranking.weighted_mean(columns, WEIGHTS)
    best = np.lexsort((-np.array([record.id for record in records]), -scores))[: request.k]
    note = f"the index cannot be reached, so this is by words alone over the newest {NEWEST:,} turns: {failure}"
    return [
        Hit(
            record=records[row],
            score=float(scores[row]),
            signals=Signals(text=float(columns["text"][row]), recency=float(columns["recency"][row])),
            weights=WEIGHTS,
            note=note,
        )
        for row in best.tolist()
    ]
