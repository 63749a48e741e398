"""Measures the candidates of a query: their signals, and the weights for this query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids
from hybrid_memory.config.memory import Weights
from hybrid_memory.index.record import Record
from hybrid_memory.recall import features, in_time, ranking
from hybrid_memory.recall.candidates import Found, Home
from hybrid_memory.recall.features import Said
from hybrid_memory.recall.in_time import DECIDING
from hybrid_memory.recall.learned import Learned
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.ranking import WeightedMean
from hybrid_memory.recall.reading import demand
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.asking import about_the_past, asking_share

READ = 40
"""Number of candidates whose words are read, unless more hits are requested."""

AS_RELEVANT = 0.25
"""The share of a turn's relevance that a newer one needs to make it outdated for the query."""

FIRST = 3
"""Number of best candidates that the others are compared with."""

SEARCH_TERMS = 4
"""A query with at most this many terms that is not a question is a keyword search."""

LESS = 0.25
"""The share of the learned weights of statement, speaker and kind for a keyword search."""


@dataclass(frozen=True)
class Measured:
    """Candidates that may become hits.

    Attributes:
        found: their places and matches.
        records: their records, in the same order; empty if their words were not read.
        vectors: of the records, of shape (n, dim), zeros without one; None if they were not read.
        columns: the signals, of shape (n,) in [0, 1]; features: what they were made from.
        weights: as applied for this query.
    """

    found: Found
    records: Sequence[Record]
    columns: dict[str, Array]
    features: dict[str, Array]
    weights: Weights
    vectors: Floats | None = None

    @property
    def ids(self) -> Ids:
        """The ids of the records."""
        return self.found.places.ids

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each record, by id."""
        return {number: row for row, number in enumerate(self.ids.tolist())}

    @cached_property
    def read(self) -> dict[int, Record]:
        """All records that were read for this query, by id."""
        return {**self.found.read, **{record.id: record for record in self.records}}

    async def those(self, run: Runner, services: Services, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the given order; those not read before are read now."""
        if missing := [number for number in ids if number not in self.read]:
            self.read.update({record.id: record for record in await run.call(services.index.get, missing)})
        return [self.read[number] for number in ids if number in self.read]


def ranker_of(services: Services) -> Learned | WeightedMean:
    """The ranker that makes the signals: the memory's, or the default if that is a foreign one."""
    ranker = services.ranker
    return ranker if isinstance(ranker, Learned | WeightedMean) else Learned.load()


def wanted_of(services: Services, weights: Weights | None) -> Weights:
    """The weights of the call, the memory or its ranker, before they are applied to the query."""
    return weights or services.config.recall.weights or ranker_of(services).weights


async def measure(
    run: Runner,
    services: Services,
    homes: Sequence[Home],
    query: str,
    found: Found,
    *,
    weights: Weights | None,
    plan: Plan,
    k: int,
) -> Measured:
    """The best candidates, at least k if there are as many, with their signals.

    Words are read only for candidates that are best without them, so that the cost does not grow with their number.
    """
    ranker = ranker_of(services)
    given = weights or services.config.recall.weights
    applied = _applied(given or _what_it_says(ranker.weights, query), found, query, plan)
    share = applied.vector + applied.text
    vector, text = (applied.vector / share, applied.text / share) if share else (0.0, 0.0)
    known = features.of_places(found, plan, vector=vector, text=text)
    found = _asked_to_be_current(found, known["relevance"])
    if isinstance(ranker, WeightedMean):
        return Measured(found, [], _fixed(services, found, known, plan), known, applied)
    rough = ranking.weighted_mean(_columns(services, found, ranker, known, plan), applied)
    best = np.sort(np.lexsort((-found.places.ids, -rough))[: max(READ, k)])
    read, vectors = await _read(run, services, homes, found, best)
    there = np.isin(found.places.ids[best], list(read))  # another process may have deleted some meanwhile
    best, vectors = best[there], vectors[there]
    itself = np.isin(found.places.ids, [one.id for one in read.values() if features.repeats(query, one)])
    if itself.any() and asking_share(query):
        found = _beside_itself(found, itself)
        known = features.of_places(found, plan, vector=vector, text=text)
    found, rough = found.rows(best), rough[best]
    known = {name: column[best] for name, column in known.items()}
    if not len(best):
        return Measured(found, [], {}, known, applied)
    records = [read[number] for number in found.places.ids.tolist()]
    total = sum({(count, average): count for count, average in zip(found.count, found.average, strict=True)}.values())
    total = max(int(total), len(found.places.ids), *found.counts.values(), 0)
    usual = max(float(home.status.mean @ home.status.mean) for home in homes)
    embedder = "" if services.embedder is None else services.embedder.name
    places = found.places
    said = Said(records, known["relevance"], places.segments, places.ordinals, vectors, embedder)
    known |= features.of_words(query, said, found.counts, total)
    known["like the first"] = _like_the_first(vectors, usual, rough)
    columns = _columns(services, found, ranker, known, plan)
    return Measured(found, records, columns, known, applied if given else _telling(applied, columns), vectors)


def _asked_to_be_current(found: Found, relevance: Array) -> Found:
    """Candidates of which one stays current if the newer ones that contradict it are much less relevant.

    A turn says more than one thing, and the query may ask for another than the one that is no longer true.
    """
    if not found.newer:
        return found
    of = dict(zip(found.places.ids.tolist(), relevance.tolist(), strict=True))
    other = [
        number
        for number, newer in found.newer.items()
        if number in of and max((of[one] for one in newer if one in of), default=0.0) < AS_RELEVANT * of[number]
    ]
    return replace(found, current=found.current | np.isin(found.places.ids, other))


def _beside_itself(found: Found, itself: npt.NDArray[np.bool_]) -> Found:
    """Candidates measured relative to the best except the query itself, which agents remember before they ask."""

    def lowered(matches: Array) -> Array:
        others = matches[~itself & np.isfinite(matches)]
        return np.where(itself, np.minimum(matches, others.max()), matches) if len(others) else matches

    average, count = found.average.copy(), found.count.copy()
    for row in np.flatnonzero(itself & np.isfinite(found.similarity)).tolist():
        owner = (found.average == found.average[row]) & (found.count == found.count[row]) & (count > 1)
        average[owner] = (average[owner] * count[owner] - found.similarity[row]) / (count[owner] - 1)
        count[owner] -= 1
    return replace(found, similarity=lowered(found.similarity), bm25=lowered(found.bm25), average=average, count=count)


async def _read(
    run: Runner, services: Services, homes: Sequence[Home], found: Found, rows: Ids
) -> tuple[dict[int, Record], Floats]:
    """The records in these rows, by id, and the vector of each row, zeros without one."""
    read: dict[int, Record] = {}
    vectors = np.zeros((len(rows), max(len(home.status.mean) for home in homes)), dtype=np.float32)
    for home in homes:
        mine = found.owner[rows] == home.number
        if mine.any():
            fetched = await run.call(services.index.fetch, found.places.ids[rows[mine]], home.where.scope.owner)
            read |= {record.id: record for record in fetched.records}
            if fetched.present.any() and vectors.shape[1]:  # else they are of an embedder that is not there
                vectors[mine] = fetched.vectors
    return read, vectors


def _like_the_first(vectors: Floats, usual: float, rough: Array) -> Array:
    """The similarity of each to the best so far: a second pass, for answers that the question does not describe."""
    first = vectors[np.argsort(-rough, kind="stable")[:FIRST]]
    like = (vectors @ first.T).mean(axis=1).astype(np.float64)
    return np.asarray(np.clip((like - usual) / max(1.0 - usual, ranking.ROUNDING), 0.0, 1.0))


def _columns(
    services: Services, found: Found, ranker: Learned, known: Mapping[str, Array], plan: Plan
) -> dict[str, Array]:
    """All signals: learned ones, fixed ones, and that of a deciding time."""
    columns = _plain(services, found, known) | ranker.signals(known)
    return columns | ({"temporal": _temporal(found, known, plan)} if plan.timing in DECIDING else {})


def _temporal(found: Found, known: Mapping[str, Array], plan: Plan) -> Array:
    return in_time.signal(plan.timing, found.places.at, known["relevance"], plan.times)


def _plain(services: Services, found: Found, known: Mapping[str, Array]) -> dict[str, Array]:
    places, nothing = found.places, np.zeros(len(found.places.ids))
    now, half_life = services.clock().timestamp(), services.config.recall.half_life.total_seconds()
    columns = dict.fromkeys(Weights.__dataclass_fields__, nothing)
    return columns | {
        "vector": known["vector"],
        "text": known["text"],
        "recency": ranking.recency_signal(now - places.at, half_life),
        "use": ranking.use_signal(places.uses, now - places.last_used, half_life),
        "current": found.current.astype(np.float64),
        "exact": found.exact,
    }


def _fixed(services: Services, found: Found, known: Mapping[str, Array], plan: Plan) -> dict[str, Array]:
    """The signals of version 0.9."""
    return _plain(services, found, known) | {
        "neighbours": known["around"],
        "segment": known["segment"],
        "importance": known["importance"],
        "temporal": _temporal(found, known, plan),
    }


def _what_it_says(weights: Weights, query: str) -> Weights:
    """The weights; for a keyword query, those that recognize the answer to a question count less."""
    if asking_share(query) or len(demand(query).terms) > SEARCH_TERMS:
        return weights
    return replace(weights, **{name: LESS * getattr(weights, name) for name in ("statement", "speaker", "kind")})


def _telling(weights: Weights, columns: Mapping[str, Array]) -> Weights:
    """The weights without adjustments that are the same for all candidates and so have no effect."""
    same = {name: 0.0 for name, column in columns.items() if np.ptp(column) < ranking.ROUNDING}
    return replace(weights, **{name: zero for name, zero in same.items() if name not in {"vector", "text"}})


def _applied(weights: Weights, found: Found, query: str, plan: Plan) -> Weights:
    """The weights as this query applies them: without vectors, text takes the weight of both."""
    if not np.isfinite(found.similarity).any():
        weights = replace(weights, vector=0.0, text=weights.vector + weights.text, similarity=0.0)
    brevity = ranking.brevity(found.places.lengths)
    stale_wanted = found.current.all() or about_the_past(query)
    applied = asdict(weights) | {
        "neighbours": weights.neighbours * brevity,
        "segment": weights.segment * brevity,
        "importance": weights.importance * brevity,
        "current": 0.0 if stale_wanted else weights.current,
        "exact": weights.exact if plan.exact else 0.0,
        "temporal": 0.0,
    }
    applied["temporal"] = in_time.weight(plan.timing, weights.temporal, sum(applied.values()))
    # Where nothing is left to judge by, all scores are 0 with any weights.
    return Weights(**applied) if any(applied.values()) else weights
