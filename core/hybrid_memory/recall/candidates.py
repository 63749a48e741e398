"""What the paths of a recall find: by meaning, by words, by name, by time, and what stands around it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids, Numbers
from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.facts.facts import knowledge
from hybrid_memory.index.port import Matches, RecordColumns
from hybrid_memory.index.record import Where
from hybrid_memory.log.origin import Origin
from hybrid_memory.log.visible import MAX_POSITION
from hybrid_memory.recall import ranking
from hybrid_memory.recall.plan import Plan, folded
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.retention import retained
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.tokenize import allowed_edits, terms

NEIGHBOURS = 2
SPELT_WORDS = 8
"""Words of a query that may be misspelt: each may cost a look through the terms of the owner."""

MAX_WORDS = 1024
"""Words of a query that are searched for; of more those at its two ends."""

_NONE: Ids = np.empty(0, dtype=np.int64)
_NOTHING = Matches(ids=_NONE, scores=np.empty(0, dtype=np.float32))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, columns of shape (n,).

    Attributes:
        similarity: inner product with the query, NaN without a vector; average: of all records of the same owner.
        same: inner product of the query with itself; count: of the owner's vectors.
        current: False where a newer one among them says otherwise.
        corrected: words of the query that the owner never used, and the one that was looked for instead.
    """

    places: RecordColumns
    similarity: Array
    average: Array
    same: Array
    count: Numbers
    bm25: Array
    current: npt.NDArray[np.bool_]
    exact: Array
    corrected: dict[str, str] = field(default_factory=dict)

    def rows(self, keep: npt.NDArray[np.bool_]) -> Found:
        """Some of them."""
        return replace(self, places=self.places.rows(keep), **{name: getattr(self, name)[keep] for name in _COLUMNS})

    @classmethod
    def joined(cls, several: Sequence[Found]) -> Found:
        """Those of several owners."""
        if len(several) == 1:
            return several[0]
        columns = {name: np.concatenate([getattr(found, name) for found in several]) for name in _COLUMNS}
        return cls(
            places=RecordColumns.joined([found.places for found in several]),
            corrected={wrong: right for found in several for wrong, right in found.corrected.items()},
            **columns,
        )


_COLUMNS = ("similarity", "average", "same", "count", "bm25", "current", "exact")
"""Fields of `Found` with a value for each candidate."""


async def query_vector(run: Runner, services: Services, query: str) -> tuple[Floats | None, str]:
    """The query's unit vector, and why there is none."""
    embedder = services.embedder
    if embedder is None:
        return None, "words alone, no embedder"
    try:
        vector = await embedding(run, embedder.embed_query, query)
    except ModelError as error:
        _log.warning("%s; recalling by words alone", error)
        return None, f"words alone, {error}"
    stored = await run.call(services.index.embedder)
    if stored is not None and stored != (embedder.name, len(vector)):
        raise EmbedderMismatchError(stored, (embedder.name, len(vector)))
    return vector, ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look for; without a vector by words alone."""

    query: str
    vector: Floats | None
    plan: Plan


async def candidates(run: Runner, services: View, where: Where, asked: Asked) -> Found:
    """What the paths of the plan found, and its neighbours."""
    index, where, plan = services.index, narrowed(services, where), asked.plan
    words, corrected = await _words(run, services, where, asked)
    vector, average, count = await centred(run, services, where, asked.vector)
    same = 0.0 if vector is None or asked.vector is None else float(vector @ asked.vector)
    by_words, others = await _paths(run, services, where, replace(asked, vector=vector), words)
    seeds: Ids = np.unique(np.concatenate([_NONE, *(matches.ids for matches in (*by_words, *others))]))
    places = await run.call(index.columns, seeds, where, NEIGHBOURS)
    similarity = np.full(len(places.ids), np.nan)
    if vector is not None:
        similarity = (await run.call(index.similar, vector, where.scope.owner, places.ids)).astype(np.float64)
    stale = (await knowledge(run, services)).outdated(frozenset(places.ids.tolist()))
    found = Found(
        places=places,
        similarity=similarity,
        average=np.full(len(places.ids), average),
        same=np.full(len(places.ids), same),
        count=np.full(len(places.ids), count),
        bm25=_scores(places, by_words),
        current=~np.isin(places.ids, list(stale)) if stale else np.ones(len(places.ids), dtype=bool),
        exact=await _exact(run, services, places, plan, seeds),
        corrected=corrected,
    )
    kept = retained(services, places)
    return found if kept.all() else found.rows(kept)


async def _paths(
    run: Runner, services: Services, where: Where, asked: Asked, words: Sequence[str]
) -> tuple[list[Matches], list[Matches]]:
    """What was found by the words of the query, and what else; the paths run side by side."""
    index, plan, vector = services.index, asked.plan, asked.vector
    named = list(dict.fromkeys(term for entity in plan.entities if entity.verbatim for term in terms(entity.text)))
    searches = [(where, plan.vector, plan.text)]
    searches += [(span, plan.temporal, plan.temporal) for span in _spans(where, plan.times)]

    async def by_text(where: Where, limit: int) -> Matches:
        return await run.call(index.matching, words, where, limit) if words and limit else _NOTHING

    async def by_vector(where: Where, limit: int) -> Matches:
        return _NOTHING if vector is None or not limit else await run.call(index.nearest, vector, where, limit)

    async def by_name() -> Matches:
        # Where the query is nothing but the name, the text path asks the same.
        asks = plan.exact and named and set(named) != set(words)
        return await run.call(index.matching, named, where, plan.exact) if asks else _NOTHING

    async def by_time() -> Matches:
        if plan.times or not plan.temporal:
            return _NOTHING
        latest = await run.call(index.latest, where, plan.temporal)
        return Matches(ids=latest, scores=np.zeros(len(latest), dtype=np.float32))

    found = await run.gather(
        *(partial(by_text, span, limit) for span, _, limit in searches),
        *(partial(by_vector, span, limit) for span, limit, _ in searches),
        by_name,
        by_time,
    )
    return found[: len(searches)], found[len(searches) :]


async def centred(
    run: Runner, services: Services, where: Where, vector: Floats | None
) -> tuple[Floats | None, float, int]:
    """The query vector as it is compared, its inner product with an average record of the owner, and their number."""
    if vector is None:
        return None, 0.0, 0
    centroid, number = await run.call(services.index.centroid, where.scope.owner)
    if not number:
        return None, 0.0, 0
    middle = centroid.astype(np.float64)
    compared = ranking.centred(vector.astype(np.float64), middle, number)
    return compared.astype(np.float32), float(compared @ middle), number


async def _words(run: Runner, services: Services, where: Where, asked: Asked) -> tuple[list[str], dict[str, str]]:
    """The terms to look for, and which of the query's were taken for misspelt."""
    words = terms(asked.query)
    if len(words) > MAX_WORDS:
        words = words[: MAX_WORDS // 2] + words[-MAX_WORDS // 2 :]
    corrected: dict[str, str] = {}
    # The longest are the rarest, and the most easily mistyped.
    doubtful = dict.fromkeys(word for word in words if allowed_edits(word))
    for word in sorted(doubtful, key=len, reverse=True)[:SPELT_WORDS]:
        if meant := await run.call(services.index.spellings, word, where.scope.owner, 1):
            corrected[word] = meant[0]
    synonyms = [term for others in asked.plan.synonyms.values() for other in others for term in terms(other)]
    return [corrected.get(word, word) for word in words] + synonyms, corrected


def _spans(where: Where, times: Sequence[TimeSpan]) -> list[Where]:
    return [
        replace(
            where,
            since=span.since if where.since is None else max(where.since, span.since),
            until=span.until if where.until is None else min(where.until, span.until),
        )
        for span in times
    ]


def _scores(places: RecordColumns, several: Sequence[Matches]) -> Array:
    """The BM25 of each place; what another process deleted since the search has no place."""
    bm25 = np.zeros(len(places.ids))
    for matches in several:
        row = np.searchsorted(places.ids, matches.ids)
        kept = np.isin(matches.ids, places.ids)
        bm25[row[kept]] = matches.scores[kept]
    return bm25


async def _exact(run: Runner, services: Services, places: RecordColumns, plan: Plan, seeds: Ids) -> Array:
    """The share of the plan's entities that each place has word for word; neighbours are not asked."""
    share = np.zeros(len(places.ids))
    if not plan.exact:
        return share
    row_of = {number: row for row, number in enumerate(places.ids.tolist())}
    names = [folded(entity.text) for entity in plan.entities if entity.verbatim]
    for record in await run.call(services.index.get, seeds.tolist()):
        if record.id in row_of:
            text = folded(f"{record.speaker}: {record.text}")
            share[row_of[record.id]] = sum(name in text for name in names) / len(names)
    return share


def narrowed(services: View, where: Where) -> Where:
    """What the search may return in this view of the memory."""
    before = None if services.horizon is None else services.horizon.before
    until = where.until if before is None else before if where.until is None else min(before, where.until)
    now = services.clock()
    fresh: dict[str, datetime] = {name: now - age for name, age in services.config.retention.ttl.items()}
    origins, hidden = where.origins, services.hidden
    if allowed := frozenset(map(Origin, services.config.recall.origins)):
        origins = where.origins & allowed if where.origins else allowed
        hidden = hidden if origins else ((0, MAX_POSITION),)  # nothing that was asked for may be recalled
    return replace(where, hidden=hidden, until=until, fresh=fresh, origins=origins)
