"""Recall without an index: the newest turns of the log, compared by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_memory.config.memory import Weights
from hybrid_memory.index.derive import derive
from hybrid_memory.index.record import Record
from hybrid_memory.log.event import EventKind
from hybrid_memory.recall import ranking
from hybrid_memory.recall.candidates import narrowed
from hybrid_memory.recall.hit import Hit, Signals
from hybrid_memory.recall.request import Request
from hybrid_memory.recall.score import by_words
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.retention import kept
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view

NEWEST = 1000
"""How many of each owner's newest turns are searched."""

WEIGHTS = replace(Weights.plain(), vector=0.0, text=0.9, recency=0.1)
"""Without a common word, the newest comes first."""


async def from_log(
    run: Runner, services: Services, request: Request, spaces: Sequence[Scope], failure: str
) -> list[Hit]:
    """The hits among the newest turns of the log, with a note on what failed."""
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
