"""``recall``: the records that best answer a query, with the arithmetic of each score."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_memory.arrays import Array
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.event import Tier
from hybrid_memory.log.port import LogState
from hybrid_memory.recall import cache, choosing, in_time, ranking
from hybrid_memory.recall import confidence as certainty
from hybrid_memory.recall import plan as planning
from hybrid_memory.recall.candidates import KINDS, Asked, Found, Home, candidates, last_talk, narrowed, query_vector
from hybrid_memory.recall.exchanges import asked_before
from hybrid_memory.recall.features import repeats
from hybrid_memory.recall.from_log import from_log
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.in_time import Timing
from hybrid_memory.recall.learned import Learned
from hybrid_memory.recall.measuring import Measured, measure, wanted_of
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.request import Request
from hybrid_memory.recall.reranking import reranked
from hybrid_memory.recall.spans import asks, finds
from hybrid_memory.runtime import tracing
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.text.asking import about_now, asking_share
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

_log = logging.getLogger(__name__)


def _asks(span: Span, given: Given) -> None:
    request = given["request"]
    asks(span, request.query, request.k, request.where.scope)


@tracing.traced("recall", _asks, finds)
async def recall(
    run: Runner, services: Services, request: Request, spaces: Sequence[Scope] = (), items: Where | None = None
) -> list[Hit]:
    """At most k hits, best first, also from these spaces and items; indexes new events first.

    If the question is about the present, the newer of two similar hits comes first. Recent answers are cached until
    something is written. Without an index, the log is searched.
    """
    where = request.where
    # Which session was the last depends on this one, and nothing else does.
    session = request.session if in_time.asks_for_last_talk(request.query) else None
    also = None if items is None else (items.scope, items.categories)
    key = cache.question(
        where, request.query, request.k, request.weights, request.intent, tuple(spaces), services.horizon, session, also
    )
    places = [where, *(replace(where, scope=space) for space in spaces), *([] if items is None else [items])]
    scopes = [place.scope for place in places]
    states = [await run.call(services.truth.state, scope.owner, KINDS) for scope in scopes]
    now = {scope.owner: (state.head, state.mark) for scope, state in zip(scopes, states, strict=True) if state.head}
    hits = await cache.lookup(run, services, key, now)
    if hits is not None:
        tracing.note(cached=True)
        return hits
    since = services.state(cache.RecallProjection).answers.cleared
    try:
        hits, failed = await _found(run, services, request, list(zip(places, states, strict=True)))
    except StoreUnavailableError as error:
        _log.warning("%s; recalling from the log alone", error)
        tracing.note(tier=Tier.EPISODIC.value)
        return await from_log(run, services, request, spaces, str(error))
    if not failed:
        cache.keep(services, key, hits, now, since=since)
    return hits


async def _found(
    run: Runner, services: Services, request: Request, places: Sequence[tuple[Where, LogState]]
) -> tuple[list[Hit], bool]:
    """The hits, and whether a path failed."""
    homes, notes = await _homes(run, services, places)
    vector, failure = await query_vector(run, services, request.query, homes[0].status)
    plan = _plan(services, request)
    if plan.timing is Timing.LAST_TALK:
        plan = replace(plan, times=await last_talk(run, homes[0], request.session))
    found = Found.joined([await candidates(run, home, Asked(request.query, vector, plan)) for home in homes])
    failed = any(notes) or (vector is None and services.embedder is not None)
    if not len(found.places.ids):
        return [], failed
    plan = _settled(replace(plan, corrected=found.corrected), found)
    measured = await measure(
        run, services, homes, request.query, found, weights=request.weights, plan=plan, k=request.k
    )
    if not len(measured.ids):
        return [], failed
    own, unranked = await _scores(run, services, request.query, measured)
    anew = await reranked(run, services, request.query, own, measured=measured, homes=homes)
    chosen = await choosing.best(run, services, homes, measured, (anew.scores, own), k=request.k)
    records = await _ordered(run, request, homes, measured, chosen)
    records = await choosing.whose(run, services, records)
    # The same failure may have kept both the query and the new turns from their vectors.
    others = (*(part for part in notes if part not in failure), unranked, anew.failure)
    note = "; ".join(part for part in (failure, *others) if part)
    asked = await asked_before(run, homes, request.query, replace(found, read=measured.read), records)
    asked = dict(zip(asked, await choosing.whose(run, services, list(asked.values())), strict=True))
    known = measured.found
    near = ranking.absolute_similarity(known.similarity, known.average, known.same, known.count)
    sure = _confidence(request.query, plan, measured, own, near)

    def hit(record: Record) -> Hit:
        row = measured.row_of[record.id]
        return Hit(
            record=record,
            score=float(anew.scores[row]),
            signals=Signals(**{name: float(column[row]) for name, column in measured.columns.items()}),
            weights=measured.weights,
            note=note,
            plan=plan,
            ranker="" if unranked else services.ranker.name,
            reranker=anew.by(row),
            own=float(own[row]) if anew.name else None,
            similarity=float(near[row]) if np.isfinite(near[row]) else None,
            confidence=float(sure[row]) if np.isfinite(sure[row]) else None,
            asked=asked.get(record.id),
        )

    _, facts = chosen
    hits = [_supported(hit(one), hit(facts[one.id])) if one.id in facts else hit(one) for one in records]
    return _descending(hits), failed or bool(unranked or anew.failure)


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


async def _ordered(
    run: Runner,
    request: Request,
    homes: Sequence[Home],
    measured: Measured,
    chosen: tuple[list[Record], dict[int, Record]],
) -> list[Record]:
    """The chosen records, newest first if the question is about the present."""
    records, facts = chosen
    if not wanted_of(homes[0].view, request.weights).current or not about_now(request.query):
        return records
    rows = [measured.row_of[facts.get(record.id, record).id] for record in records]
    return await choosing.newest_first(run, homes, measured, records, measured.features["relevance"][rows])


def _plan(services: Services, request: Request) -> Plan:
    """The plan; times in the query are relative to now, or to the view's own time."""
    settings = services.config.recall
    return planning.plan(
        request.query,
        now=services.clock() if services.horizon is None else services.horizon.before or services.clock(),
        candidates=max(settings.candidates, request.k),
        wanted=request.intent,
        synonyms=settings.synonyms,
    )


def _settled(plan: Plan, found: Found) -> Plan:
    """The plan; its time becomes vague if there are no records from then, since another may be meant."""
    empty = plan.timing is Timing.CLEAR and not in_time.within(found.places.at, plan.times)
    return replace(plan, timing=Timing.VAGUE) if empty else plan


async def _scores(run: Runner, services: Services, query: str, measured: Measured) -> tuple[Array, str]:
    """The ranker's score of each candidate; if it fails, the weighted mean of the signals and the reason."""
    ids, columns, weights = measured.ids, measured.columns, measured.weights

    def texts(rows: Sequence[int]) -> list[str]:
        return [measured.records[row].text for row in rows]

    try:
        scores = await run.call(services.ranker.score, query, columns, weights, texts)
    except ModelError as error:
        _log.warning("%s; ranking by the signals alone", error)
        return ranking.weighted_mean(columns, weights), f"ranked by the signals alone, {error}"
    if np.shape(scores) != ids.shape or not np.isfinite(scores).all() or np.min(scores) < 0 or np.max(scores) > 1:
        reason = f"{services.ranker.name or services.ranker!r} did not return {len(ids)} scores in 0 to 1"
        _log.warning("%s; ranking by the signals alone", reason)
        return ranking.weighted_mean(columns, weights), f"ranked by the signals alone, {reason}"
    return scores, ""


def _confidence(query: str, plan: Plan, measured: Measured, scores: Array, near: Array) -> Array:
    """The probability that each candidate answers the query; NaN if its words were not read."""
    if not measured.records:
        return np.full(len(scores), np.nan)
    of_the_time = in_time.meant(plan.timing, measured.columns["temporal"]) & (asking_share(query) > 0)
    asked_for = (measured.columns["exact"] > 0) | of_the_time
    count = int(measured.found.count.max())
    if count < certainty.FEW:
        order = np.argsort(-scores, kind="stable")
        having = [frozenset(terms(measured.records[row].text)) for row in order.tolist()]
        words = np.empty(len(scores))
        words[order] = certainty.common_words(set(terms(query)), having)
        besides = sum(not repeats(query, record) for record in measured.records)
        beside = (measured.features["around"] > 0) & (besides > certainty.PAIR)
        each = certainty.by_rule(near, words, beside)
        return np.asarray(np.where(asked_for, np.maximum(each, certainty.EVEN), each))
    # The question itself, which an agent remembers before it asks, is no answer to it.
    others = np.flatnonzero([not repeats(query, record) for record in measured.records])
    if not len(others):
        return np.zeros(len(scores))
    learned, features = Learned.load(), measured.features | {"similarity": np.nan_to_num(near)}
    told = certainty.evidence({name: column[others] for name, column in features.items()}, scores[others])
    share = certainty.answered(told, learned.certainty, learned.bias, count)
    return certainty.confidence(share, scores, asked_for)


FIRST = "its rank above higher scores, as the newest of similar turns or for variety"


def _supported(turn: Hit, fact: Hit) -> Hit:
    """The hit of a turn, with the score and confidence of a fact extracted from it, if better."""
    sure = [one.confidence for one in (turn, fact) if one.confidence is not None]
    turn = replace(turn, confidence=max(sure, default=None))
    if fact.score < turn.score + 10**-choosing.SCORE_DIGITS:
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
        if ordered and hit.score < ordered[-1].score - 10**-choosing.SCORE_DIGITS:
            hit = _raised(hit, ordered[-1].score, FIRST)  # noqa: PLW2901
        ordered.append(hit)
    return ordered[::-1]
