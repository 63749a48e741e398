"""``recall``: the records that best answer a query, with the arithmetic of each score."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from hybrid_memory.arrays import Array
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import derive
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.event import EventKind, Tier
from hybrid_memory.log.port import LogState
from hybrid_memory.recall import cache, choose, signals
from hybrid_memory.recall.confidence import confidences
from hybrid_memory.recall.gather import KINDS, Asked, Candidates, Home, gather, last_talk, narrowed, query_vector
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.measure import Measured, measure
from hybrid_memory.recall.plan import Request, Timing, asks_for_last_talk
from hybrid_memory.recall.plan import plan as planned
from hybrid_memory.recall.texts import by_words
from hybrid_memory.runtime import tracing
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, kept
from hybrid_memory.text.asking import about_now
from hybrid_memory.validation import shown

NEWEST = 1000
"""How many of each owner's newest turns are searched without an index."""

LOG_WEIGHTS = replace(Weights.plain(), vector=0.0, text=0.9, recency=0.1)
"""Without an index: of what has no common word, the newest comes first."""

FIRST = "its rank above higher scores, as the newest of similar turns or for variety"

_log = logging.getLogger(__name__)


def asks(span: Span, query: str, k: int, scope: Scope) -> None:
    """Set the attributes of a recall's span that are known at the beginning."""
    span.attributes |= {"k": k, "tier": Tier.SEMANTIC.value, "cached": False}
    span.content |= {"query": query, "scope": scope}


def asks_by_request(span: Span, given: Given) -> None:
    """The same, from a flow's argument ``request``."""
    request = given["request"]
    asks(span, request.query, request.k, request.where.scope)


def finds(span: Span, hits: Sequence[Hit]) -> None:
    """Set the attributes known at the end."""
    best = {"top_score": max(hit.score for hit in hits)} if hits else {}
    span.attributes |= {"count": len(hits), **best}
    span.content["hits"] = hits


@tracing.traced("recall", asks_by_request, finds)
async def recall(
    run: Runner, services: Services, request: Request, spaces: Sequence[Scope] = (), items: Where | None = None
) -> list[Hit]:
    """At most k hits, best first, also from these spaces and items; indexes new events first.

    If the question is about the present, the newer of two similar hits comes first. Recent answers are cached until
    something is written. Without an index, the log is searched.
    """
    where = request.where
    # Which session was the last depends on this one, and nothing else does.
    session = request.session if asks_for_last_talk(request.query) else None
    also = None if items is None else (items.scope, items.categories)
    key = cache.question(
        where, request.query, request.k, request.weights, request.intent, tuple(spaces), services.horizon, session, also
    )
    places = [where, *(replace(where, scope=space) for space in spaces), *([] if items is None else [items])]
    states = [await run.call(services.truth.state, place.scope.owner, KINDS) for place in places]
    heads = {
        place.scope.owner: (state.head, state.mark) for place, state in zip(places, states, strict=True) if state.head
    }
    hits = await cache.lookup(run, services, key, heads)
    if hits is not None:
        tracing.note(cached=True)
        return hits
    since = services.state(cache.RecallProjection).answers.cleared
    try:
        hits, failed = await _search(run, services, request, list(zip(places, states, strict=True)))
    except StoreUnavailableError as error:
        _log.warning("%s; recalling from the log alone", error)
        tracing.note(tier=Tier.EPISODIC.value)
        return await _from_log(run, services, request, spaces, str(error))
    if not failed:
        cache.keep(services, key, hits, heads, since=since)
    return hits


async def _search(
    run: Runner, services: Services, request: Request, places: Sequence[tuple[Where, LogState]]
) -> tuple[list[Hit], bool]:
    """The hits, and whether a path failed."""
    query, settings = request.query, services.config.recall
    homes, notes = await _homes(run, services, places)
    vector, failure = await query_vector(run, services, query, homes[0].status)
    plan = planned(
        query,
        now=services.clock() if services.horizon is None else services.horizon.before or services.clock(),
        candidates=max(settings.candidates, request.k),
        wanted=request.intent,
        synonyms=settings.synonyms,
    )
    if plan.timing is Timing.LAST_TALK:
        plan = replace(plan, times=await last_talk(run, homes[0], request.session))
    candidates = Candidates.joined([await gather(run, home, Asked(query, vector, plan)) for home in homes])
    failed = any(notes) or (vector is None and services.embedder is not None)
    if not len(candidates.places.ids):
        return [], failed
    plan = replace(plan, corrected=candidates.corrected)
    if plan.timing is Timing.CLEAR and not signals.some_within(candidates.places.at, plan.times):
        plan = replace(plan, timing=Timing.VAGUE)  # there are no records from then: another time may be meant
    measured = await measure(run, services, homes, query, candidates, weights=request.weights, plan=plan, k=request.k)
    if not len(measured.ids):
        return [], failed
    own, unranked = await _scores(run, services, query, measured)
    final = await choose.reranked(run, services, query, own, measured=measured, homes=homes)
    weights = request.weights or settings.weights or signals.learned().weights
    plain = not any(getattr(weights, part.name) for part in fields(weights) if part.name not in {"vector", "text"})
    records, facts = await choose.best(run, services, homes, measured, (final.scores, own), k=request.k, plain=plain)
    if weights.current and about_now(query):
        rows = [measured.row_of[facts.get(record.id, record).id] for record in records]
        records = choose.newest_first(homes, measured, records, measured.features["relevance"][rows])
    # The same failure may have kept both the query and the new turns from their vectors.
    others = (*(part for part in notes if part not in failure), unranked, final.failure)
    note = "; ".join(part for part in (failure, *others) if part)
    questions = await choose.asked_before(run, homes, query, replace(candidates, read=measured.read), records)
    among = measured.candidates
    near = signals.absolute_similarity(among.similarity, among.average, among.same, among.count)
    sure = confidences(query, plan, measured, own, near)

    def hit(record: Record) -> Hit:
        row = measured.row_of[record.id]
        return Hit(
            record=record,
            score=float(final.scores[row]),
            signals=Signals(**{name: float(column[row]) for name, column in measured.columns.items()}),
            weights=measured.weights,
            note=note,
            plan=plan,
            ranker="" if unranked else services.ranker.name,
            reranker=final.by(row),
            own=float(own[row]) if final.name else None,
            similarity=float(near[row]) if np.isfinite(near[row]) else None,
            confidence=float(sure[row]) if np.isfinite(sure[row]) else None,
            asked=questions.get(record.id),
        )

    hits = [_supported(hit(one), hit(facts[one.id])) if one.id in facts else hit(one) for one in records]
    return hits if plain else _descending(hits), failed or bool(unranked or final.failure)


async def _homes(
    run: Runner, services: Services, places: Sequence[tuple[Where, LogState]]
) -> tuple[list[Home], list[str]]:
    """The memories to search, with their indexes brought up to date, and notes on what is missing."""
    texts = services.state(TextIndex)
    if texts.emptied:
        raise StoreUnavailableError("the index is being rebuilt")
    homes, notes = list[Home](), dict[str, None]()
    for number, (where, state) in enumerate(places):
        status, note = await texts.catch_up(run, services, where.scope.owner, state)
        notes[note] = None
        view = await in_view(run, services, where.scope, state)
        homes.append(Home(view, narrowed(view, where), status, state, number))
    return homes, list(notes)


async def _scores(run: Runner, services: Services, query: str, measured: Measured) -> tuple[Array, str]:
    """The ranker's score of each candidate; if it fails, the weighted mean of the signals and the reason."""

    def texts(rows: Sequence[int]) -> list[str]:
        return [measured.records[row].text for row in rows]

    columns, weights = measured.columns, measured.weights
    try:
        scores = await run.call(services.ranker.score, query, columns, weights, texts)
        if np.shape(scores) == measured.ids.shape and 0 <= np.min(scores) <= np.max(scores) <= 1:  # NaN is not either
            return scores, ""
        reason = f"{services.ranker.name or services.ranker!r} did not return {len(measured.ids)} scores in 0 to 1"
    except ModelError as error:
        reason = str(error)
    _log.warning("%s; ranking by the signals alone", reason)
    return signals.weighted_mean(columns, weights), f"ranked by the signals alone, {reason}"


def _supported(turn: Hit, fact: Hit) -> Hit:
    """The hit of a turn, with the score and confidence of a fact extracted from it, if better."""
    sure = [hit.confidence for hit in (turn, fact) if hit.confidence is not None]
    turn = replace(turn, confidence=max(sure, default=None))
    if fact.score < turn.score + 10**-choose.SCORE_DIGITS:
        return turn
    return _raised(
        turn, fact.score, f"its fact {shown(fact.record.text)}" + (fact.reranker and f" and {fact.reranker}")
    )


def _raised(hit: Hit, score: float, reason: str) -> Hit:
    """The hit with a raised score; the reason for an earlier raise is appended."""
    if hit.own is None:
        return replace(hit, score=score, own=hit.score, reranker=reason)
    return replace(hit, score=score, reranker=f"{reason}; before it {hit.score:.3f} by {hit.reranker}")


def _descending(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order; a hit before better ones gets the best of their scores, and says so."""
    ordered: list[Hit] = []
    for hit in reversed(hits):
        if ordered and hit.score < ordered[-1].score - 10**-choose.SCORE_DIGITS:
            hit = _raised(hit, ordered[-1].score, FIRST)  # noqa: PLW2901
        ordered.append(hit)
    return ordered[::-1]


async def _from_log(
    run: Runner, services: Services, request: Request, spaces: Sequence[Scope], failure: str
) -> list[Hit]:
    """The hits among the newest turns of the log, compared by words, with a note on what failed."""
    records: list[Record] = []
    for scope in (request.where.scope, *spaces):
        view = await in_view(run, services, scope)
        allowed = narrowed(view, replace(request.where, scope=scope))
        events = await run.call(view.log.read, scope, kinds=(EventKind.MESSAGE,), limit=NEWEST, newest=True)
        records += [item.record for item in derive(learnt(services, events), {}) if allowed.allows(item.record)]
    times = np.array([record.at.timestamp() for record in records])
    importance, unused = np.array([record.importance for record in records]), np.zeros(len(records), dtype=np.int64)
    rows = np.flatnonzero(kept(services, times, importance, unused))
    records = [records[row] for row in rows.tolist()]
    if not records:
        return []
    age, half_life = services.clock().timestamp() - times[rows], services.config.recall.half_life.total_seconds()
    columns = dict.fromkeys(Signals.__dataclass_fields__, np.zeros(len(records)))
    columns["text"] = by_words(request.query, [record.text for record in records])
    columns["recency"] = signals.recency_signal(age, half_life)
    scores = signals.weighted_mean(columns, LOG_WEIGHTS)
    best = np.lexsort((-np.array([record.id for record in records]), -scores))[: request.k]
    note = f"the index cannot be reached, so this is by words alone over the newest {NEWEST:,} turns: {failure}"
    return [
        Hit(
            record=records[row],
            score=float(scores[row]),
            signals=Signals(text=float(columns["text"][row]), recency=float(columns["recency"][row])),
            weights=LOG_WEIGHTS,
            note=note,
        )
        for row in best.tolist()
    ]
