"""``recall``: the records that best answer a query, with the arithmetic of each score."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.config import Weights
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.derive import derive
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.event import EventKind, Tier
from hybrid_memory.log.port import LogState
from hybrid_memory.recall import cache, choose, signals
from hybrid_memory.recall.gather import Candidates, Home, gather, last_talk, narrowed, query_vector
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.measure import Measured, measure
from hybrid_memory.recall.plan import DECIDING, Plan, Request, Timing, asks_for_last_talk
from hybrid_memory.recall.plan import plan as planned
from hybrid_memory.recall.signals import Curve, learned
from hybrid_memory.runtime import tracing
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import HIDING, in_a_moment, in_view, kept
from hybrid_memory.text.asking import about_before, about_now
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

NEWEST = 1000  # how many of each owner's newest turns are searched without an index

LOG_WEIGHTS = replace(Weights.plain(), vector=0.0, text=0.9, recency=0.1)
"""Without an index: of what has no common word, the newest comes first."""

RAISED = "its rank above higher scores, as the newest (or oldest) about the same thing, or for variety"

SEVERAL = 3  # number of candidates whose mean similarity counts in addition to the best
MARGIN = 4  # the best score is compared with the one this many ranks below
FEW = 12  # with fewer vectors than this, or none, the learned model does not apply; see `by_rule`
LEARNED_FROM = 240  # the number of vectors of the stores that the model was learned from
SMALLER = 0.3  # what the log-odds gain for each e-fold that a store is smaller than these
FIT = 0.19  # the sum of similarity and words at which the confidence is `AT_FIT`, the default threshold of prompts

AT_FIT = 0.2
STEEPNESS = 10.25  # how fast confidence changes with them: an average record without a common word has a sixth of that
WORDS = 0.4  # the weight of common words relative to similarity

USUAL = 0.13
"""The best similarity if nothing answers the query; also assumed, if unknown, for records with common words and their
neighbours.
"""

TYPICAL = 10.0  # the weight of all terms of a short question
MANY = 30  # the number of records among which a term is rare or common; missing records count as not having it
PAIR = 2  # records of which each stands next to the other, whatever is asked
EVEN = 0.5  # the least confidence of a record that has quoted text literally, or is from the requested time

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
async def recall(run: Runner, services: Services, request: Request, spaces: Sequence[Scope] = ()) -> list[Hit]:
    """At most k hits, best first, also from these spaces; indexes new events first.

    If the question is about the present, the newer of two similar hits comes first. Recent answers are cached until
    something is written. Without an index, the log is searched.
    """
    services, where = in_a_moment(services), request.where
    # Which session was the last depends on this one, and nothing else does.
    session = request.session if asks_for_last_talk(request.query) else None
    key = cache.question(
        where, request.query, request.k, request.weights, request.intent, tuple(spaces), services.horizon, session
    )
    places, heads = list[tuple[Where, LogState]](), cache.Heads()
    for scope in (where.scope, *spaces):
        state = await run.call(services.truth.state, scope.owner, HIDING)
        places.append((where if scope is where.scope else replace(where, scope=scope), state))
        if state.head:
            heads[scope.owner] = state.head, state.mark
    hits = await cache.lookup(run, services, key, heads)
    if hits is not None:
        tracing.note(cached=True)
        return hits
    since = services.state(cache.RecallProjection).answers.cleared
    try:
        hits, failed = await _search(run, services, request, places)
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
    query, settings = request.query, services.config.recall
    homes, notes = await _homes(run, services, places)
    vector, failure = await query_vector(run, services, query, homes[0].status)
    plan = planned(
        query,
        now=services.clock() if services.horizon is None else services.horizon.before or services.clock(),
        candidates=max(settings.candidates, request.k),
        route=request.intent,
        synonyms=settings.synonyms,
    )
    if plan.timing is Timing.LAST_TALK:
        plan = replace(plan, times=await last_talk(run, homes[0], request.session))
    candidates = Candidates.joined([await gather(run, home, query, vector, plan) for home in homes])
    failed = any(notes) or (vector is None and services.embedder is not None)
    if not len(candidates.places.ids):
        return [], failed
    if candidates.corrected:
        plan = replace(plan, corrected=candidates.corrected)
    if plan.timing is Timing.CLEAR and not (signals.deciding(candidates.places.at, plan.times) == 1).any():
        plan = replace(plan, timing=Timing.VAGUE)  # there are no records from then: another time may be meant
    measured = await measure(run, services, homes, query, candidates, weights=request.weights, plan=plan, k=request.k)
    if measured is None:
        return [], failed
    own = signals.weighted_mean(measured.columns, measured.weights)
    final = await choose.reranked(run, services, query, own, measured=measured, homes=homes)
    weights = request.weights or settings.weights or signals.learned().weights
    _vector, _text, *adjustments = signals.values(weights)
    plain = not any(adjustments)
    records, facts = await choose.best(run, services, homes, measured, (final.scores, own), k=request.k, plain=plain)
    instead: dict[int, int] = {}
    if not plain and plan.timing not in DECIDING and (about_now(plan.asked) or about_before(plan.asked)):
        rows = [measured.row_of[facts.get(record.id, record).id] for record in records]
        relevance = measured.features["relevance"][rows]
        records, instead = choose.by_day(homes, measured, records, relevance, newest=about_now(plan.asked))
    questions = await choose.asked_before(run, homes, measured.words, candidates, records)
    # The same failure may have kept both the query and the new turns from their vectors.
    others = [part for part in (*notes, final.failure) if part not in failure]
    note = "; ".join(filter(None, (failure, *others)))
    features, sure = measured.features, confidences(query, plan, measured, own)
    for number, other in instead.items():
        row = measured.row_of[number]
        sure[row] = np.fmax(sure[row], sure[measured.row_of[other]])
    values = np.array([*measured.columns.values()]).T
    behind = f"its place behind what {final.name} scored" if final.name else ""

    def hit(record: Record) -> Hit:
        row = measured.row_of[record.id]
        near, certain = float(features["similarity"][row]), float(sure[row])
        return Hit(
            record=record,
            score=float(final.scores[row]),
            signals=Signals(*values[row].tolist()),
            weights=measured.weights,
            note=note,
            plan=plan,
            reranker=final.name if final.by_model[row] else behind,
            own=float(own[row]) if final.name else None,
            similarity=near if math.isfinite(near) else None,
            confidence=certain if math.isfinite(certain) else None,
            asked=questions.get(record.id),
        )

    better = {turn: hit(fact) for turn, fact in facts.items()}
    return _in_order([*map(hit, records)], better, plain=plain), failed or bool(final.failure)


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
        homes.append(Home(view, narrowed(view, where), status, number))
    return homes, list(notes)


def _raised(hit: Hit, score: float, reason: str) -> Hit:
    """The hit with a raised score; the reason for an earlier raise is appended."""
    if hit.own is None:
        return replace(hit, score=score, own=hit.score, reranker=reason)
    return replace(hit, score=score, reranker=f"{reason}; before it {hit.score:.3f} by {hit.reranker}")


def _in_order(hits: Sequence[Hit], facts: Mapping[int, Hit], *, plain: bool) -> list[Hit]:
    """The hits in order: a turn has the score and confidence of a fact extracted from it, if better, and says so.

    So has one before better ones the best of their scores, unless these are to be ``plain``.
    """
    ordered: list[Hit] = []
    for hit in reversed(hits):
        if (fact := facts.get(hit.record.id)) is not None:
            sure = [each.confidence for each in (hit, fact) if each.confidence is not None]
            hit = replace(hit, confidence=max(sure, default=None))  # noqa: PLW2901
            if fact.score >= hit.score + 10**-choose.SCORE_DIGITS:
                reason = f"its fact {shown(fact.record.text)}" + (fact.reranker and f" and {fact.reranker}")
                hit = _raised(hit, fact.score, reason)  # noqa: PLW2901
        if not plain and ordered and hit.score < ordered[-1].score - 10**-choose.SCORE_DIGITS:
            hit = _raised(hit, ordered[-1].score, RAISED)  # noqa: PLW2901
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
        records += [record for record, _ in derive(events, {}) if allowed.allows(record)]
    times = np.array([record.at.timestamp() for record in records])
    importance, unused = np.array([record.importance for record in records]), np.zeros(len(records), dtype=np.int64)
    rows = np.flatnonzero(kept(services, times, importance, unused))
    records = [records[row] for row in rows.tolist()]
    if not records:
        return []
    age, half_life = services.clock().timestamp() - times[rows], services.config.recall.half_life.total_seconds()
    columns = dict.fromkeys(Signals.__dataclass_fields__, np.zeros(len(records)))
    columns["text"] = signals.by_words(request.query, [record.text for record in records])
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


# The probability that a result answers the query: unlike scores, it is not relative to the best result. Pure functions
# over the candidates of one query, arrays of shape (n,).


def confidences(query: str, plan: Plan, measured: Measured, scores: Array) -> Array:
    """The probability that each candidate answers the query."""
    features, asked_for = measured.features, measured.columns["exact"] > 0
    if measured.asking and plan.timing not in {Timing.NONE, Timing.OLDEST, Timing.NEWEST}:
        temporal = measured.columns["temporal"]  # oldest and newest do not count: there is always a first and a last
        asked_for |= temporal > 0 if plan.timing is Timing.LAST_TALK else temporal == 1
    # The question itself, which an agent remembers before it asks, is no answer to it.
    others = np.flatnonzero(~measured.echoes)
    count = int(measured.candidates.count[measured.candidates.owner].max())
    if count < FEW:
        each = by_rule(query, measured, scores, (features["around"] > 0) & (len(others) > PAIR))
    elif not len(others):
        return np.zeros(len(scores))
    else:  # the probability that the query is answered, for the best candidate; for others scaled by their score
        if len(others) < len(scores):
            features = {name: column[others] for name, column in features.items()}
        share = answered(evidence(features, scores[others]), learned().certainty, learned().bias, count)
        best, worst = float(scores.max()), float(scores.min())
        each = share * ((scores - worst) / (best - worst) if best > worst else np.ones(len(scores)))
    return np.asarray(np.where(asked_for, np.maximum(each, EVEN), each))


def evidence(features: Mapping[str, Array], scores: Array) -> dict[str, float]:
    """Evidence for whether the query is answered at all, from the candidates' features and scores."""
    order = np.argsort(-scores, kind="stable")
    best, several = order[0], order[:SEVERAL]
    behind, near = order[min(MARGIN, len(order) - 1)], features["similarity"]
    near = np.where(np.isfinite(near), near, 0.0)
    return {
        "closest": float(near.max()),
        "closest few": float(np.sort(near)[-SEVERAL:].mean()),
        "covered by the best": float(features["covered"][best]),
        "covered by the few": float(features["covered"][several].max()),
        "phrase": float(features["phrase"].max()),
        "never said": float(features["never said"][0]),
        "told after": float(features["told after"].max()),
        "by whom is named": float(features["named"][best]),
        "score": float(scores[best]),
        "margin": float(scores[best] - scores[behind]),
    }


def answered(signs: Mapping[str, float], curves: Mapping[str, Curve], bias: float, count: int = LEARNED_FROM) -> float:
    """The probability that one of the candidates answers the query, ``1 / (1 + exp(-(bias + curves + few)))``.

    The curves expect what the best of many records reach by chance. Among fewer, the same evidence tells more:
    ``few = 0.3 * log(240 / count)``, at least 0. See `benchmarks/ranking/young.py`.

    Args:
        signs: see `evidence`.
        curves: the log-odds for each.
        bias: of the model.
        count: the number of vectors in the store.
    """
    few = SMALLER * math.log(max(LEARNED_FROM / max(count, 1), 1.0))
    shown_by = 0.0
    for name, curve in curves.items():
        shown_by += float(np.interp(signs[name], *curve))
    return float(1.0 / (1.0 + np.exp(-np.clip(bias + few + shown_by, -50.0, 50.0))))


def by_rule(query: str, measured: Measured, scores: Array, beside: npt.NDArray[np.bool_]) -> Array:
    """The probability that each record answers the query, for small stores or without vectors.

    ``1 / (1 + 4 * exp(-10.25 * (similarity + 0.4 * words - 0.19)))``, where words are ``w / sqrt(10 * all)``: the
    weight of the query terms that the record has, and of all. A term weighs ``log(1 + 30 / records with it)``; the 30
    best by these scores count. The square root helps long queries, of which even a fitting text has a small share.
    Those ``beside`` stand next to a record that fits.
    """
    order = np.argsort(-scores, kind="stable")
    having = [frozenset(terms(measured.records[row].text)) for row in order.tolist()]
    among = having[:MANY]
    weights = {term: math.log(1 + MANY / (sum(term in each for each in among) or 0.5)) for term in set(terms(query))}
    scale = math.sqrt(TYPICAL * math.fsum(weights.values())) or 1.0
    words, similarity = np.empty(len(scores)), measured.features["similarity"]
    words[order] = [math.fsum(weights[term] for term in each.intersection(weights)) / scale for each in having]
    unknown = np.where((words > 0) | beside, USUAL, 0.0)
    fit = np.where(np.isfinite(similarity), similarity, unknown) + WORDS * words
    return np.asarray(1.0 / (1.0 + (1 / AT_FIT - 1) * np.exp(np.clip(STEEPNESS * (FIT - fit), -50.0, 50.0))))
