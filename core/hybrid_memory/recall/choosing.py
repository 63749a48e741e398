"""Chooses which candidates become hits, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_memory.arrays import Array, Ids
from hybrid_memory.index.derive import SEGMENT_PAUSE
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.recall import ranking
from hybrid_memory.recall.candidates import Home
from hybrid_memory.recall.measuring import Measured
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions

SCORE_DIGITS = 6
"""Scores that differ less are equal, as engines sum in different orders."""

HEAD = 5
"""Among this many hits newer ones come first; later hits are not raised over better ones."""

DIVERSE_POOL = 50
"""Candidates considered when results are diversified."""


async def best(
    run: Runner, services: Services, homes: Sequence[Home], measured: Measured, ranked: tuple[Array, Array], *, k: int
) -> tuple[list[Record], dict[int, Record]]:
    """The k best by the first score, then the second; newer first among equals, each turn's content once.

    A candidate turn stands for the facts extracted from it; a better fitting fact is also returned, by the turn's id.
    """
    (scores, own), ids = ranked, measured.ids
    order = np.lexsort((-ids, -np.round(own, SCORE_DIGITS), -np.round(scores, SCORE_DIGITS)))
    diversity = services.config.recall.diversity
    if diversity:
        pool = order[: max(DIVERSE_POOL, k)]
        likeness = await _likeness(run, services, homes, measured, pool)
        order = pool[ranking.diverse(scores[pool], likeness, len(pool), diversity)]
    owners, chosen = {home.view.owner for home in homes}, dict[int, Record]()
    for start in range(0, len(order), k):
        for record in await measured.those(run, services, ids[order[start : start + k]].tolist()):
            # A turn and what was read from it lead to the same words.
            mine = record.scope.owner in owners  # an index of a log that was set back may have ids of another owner
            if mine and record.turn not in chosen and len(chosen) < k:
                chosen[record.turn] = record
        if len(chosen) >= k:
            break
    return await _in_their_words(run, services, measured, list(chosen.values()))


async def _likeness(run: Runner, services: Services, homes: Sequence[Home], measured: Measured, rows: Ids) -> Array:
    """Inner products of the candidates in these rows; 0 for different owners, which are not comparable."""
    if measured.vectors is None:
        ids = measured.ids[rows]
        several = [await run.call(services.index.likeness, home.view.owner, ids) for home in homes]
        return np.asarray(np.sum(several, axis=0), dtype=np.float64)
    vectors, owner = measured.vectors[rows], measured.found.owner[rows]
    return np.where(owner[:, None] == owner, (vectors @ vectors.T).astype(np.float64), 0.0)


async def _in_their_words(
    run: Runner, services: Services, measured: Measured, records: list[Record]
) -> tuple[list[Record], dict[int, Record]]:
    """The records with facts replaced by their turns, and the facts by turn; other facts stay."""
    candidates = set(measured.ids.tolist())
    facts = {one.turn: one for one in records if one.kind is RecordKind.FACT and one.turn in candidates}
    turns = await measured.those(run, services, list(facts))
    said = {turn.id: turn for turn in turns if turn.scope.owner == facts[turn.id].scope.owner}
    return [said.get(one.turn, one) for one in records], {number: facts[number] for number in said}


async def whose(run: Runner, services: Services, records: list[Record]) -> list[Record]:
    """The records, with the origin of their turn if an older version's index does not have it."""
    unknown = [record for record in records if record.origin is Origin.IMPORTED and record.kind is not RecordKind.ITEM]
    origins: dict[int, Origin] = {}
    for owner in {record.scope.owner for record in unknown}:
        turns = {record.turn for record in unknown if record.scope.owner == owner}
        origins |= {turn.position: turn.origin for turn in await at_positions(run, services, owner, turns)}
    if not origins:
        return records
    return [replace(record, origin=origins.get(record.turn, record.origin)) for record in records]


async def newest_first(
    run: Runner, homes: Sequence[Home], measured: Measured, records: list[Record], relevance: Array
) -> list[Record]:
    """The records; among the first `HEAD`, the newer of two similar records of the first owner comes first.

    ``relevance`` is that of each record, or of a better fitting fact extracted from it.
    """
    status, services = homes[0].status, homes[0].view
    number = status.vectors
    if number < 2 or len(records) < 2 or services.config.recall.diversity:  # noqa: PLR2004 - nothing to compare
        return records
    head, rest = records[:HEAD], records[HEAD:]
    rows = np.array([measured.row_of[record.id] for record in head])
    own = measured.found.owner[rows] == homes[0].number
    likeness = await _likeness(run, services, homes[:1], measured, rows)
    # The mean over all pairs of different records, from that over all pairs.
    average = (number * float(status.mean @ status.mean) - 1) / (number - 1)
    by_age = sorted(range(len(head)), key=lambda row: (head[row].at, head[row].turn), reverse=True)
    order = ranking.newest_first(
        np.where(own[:, None] & own, likeness, 0.0),
        relevance[:HEAD],
        np.argsort(by_age).astype(np.float64),
        np.array([[_apart(one, other) for other in head] for one in head]),
        average,
    )
    return [*(head[row] for row in order.tolist()), *rest]


def _apart(one: Record, other: Record) -> bool:
    """Whether two records can show a change: of different occasions and, if both are facts, about one subject."""
    if one.kind is other.kind is RecordKind.FACT and one.speaker != other.speaker:
        return False
    return one.scope != other.scope or abs(one.at - other.at) > SEGMENT_PAUSE
