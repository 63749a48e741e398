"""What the paths of a recall find: by meaning, by words, and what stands around it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.flows.expired import retained
from hybrid_memory.flows.facts import outdated
from hybrid_memory.flows.flush import embedding
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Floats, Matches, Places
from hybrid_memory.scoring import signals
from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Where

NEIGHBOURS = 2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, columns of shape (n,).

    Attributes:
        similarity: inner product with the query, NaN without a vector; average: of the records of the same owner.
        bm25: 0 without a common word.
        current: False where a newer one among them says otherwise.
    """

    places: Places
    similarity: signals.Array
    average: signals.Array
    bm25: signals.Array
    current: npt.NDArray[np.bool_]

    def rows(self, keep: npt.NDArray[np.bool_]) -> Found:
        """Some of them."""
        return Found(
            self.places.rows(keep), self.similarity[keep], self.average[keep], self.bm25[keep], self.current[keep]
        )

    @classmethod
    def joined(cls, several: Sequence[Found]) -> Found:
        """Those of several owners."""
        if len(several) == 1:
            return several[0]
        columns = [(found.similarity, found.average, found.bm25, found.current) for found in several]
        similarity, average, bm25, current = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        return cls(Places.joined([found.places for found in several]), similarity, average, bm25, current)


async def query_vector(run: Runner, world: World, query: str) -> tuple[Floats | None, str]:
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


async def candidates(
    run: Runner, world: World, where: Where, query: str, vector: Floats | None, *, count: int
) -> Found:
    """What either path found, and its neighbours; ``world`` as `in_view` gives it."""
    index, where = world.index, narrowed(world, where)
    words = terms(query)
    asked, average = None, 0.0
    if vector is not None:
        centroid, number = await run.call(index.centroid, where.scope.owner)
        if number:
            middle = centroid.astype(np.float64)
            centred = signals.centred(vector.astype(np.float64), middle, number)
            asked, average = centred.astype(np.float32), float(centred @ middle)

    async def by_vector() -> Matches | None:
        return None if asked is None else await run.call(index.nearest, asked, where, count)

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
    if asked is not None:
        similarity = (await run.call(index.similar, asked, where.scope.owner, places.ids)).astype(np.float64)
    stale = (await outdated(run, world, where.scope)).among(places.ids.tolist())
    current = ~np.isin(places.ids, list(stale)) if stale else np.ones(len(places.ids), dtype=bool)
    found = Found(places, similarity, np.full(len(places.ids), average), bm25, current)
    kept = retained(world, places)
    return found if kept.all() else found.rows(kept)


def narrowed(world: World, where: Where) -> Where:
    """What the search may return in this view of the memory."""
    before = None if world.horizon is None else world.horizon.before
    until = where.until if before is None else before if where.until is None else min(before, where.until)
    now = world.clock()
    fresh: dict[str, datetime] = {name: now - age for name, age in world.config.retention.ttl.items()}
    return replace(where, hidden=world.hidden, until=until, fresh=fresh)
