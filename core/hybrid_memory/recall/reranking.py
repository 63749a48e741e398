"""Reranks the best candidates with the caller's model; the others follow in their original order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.errors import ModelError
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.recall.candidates import Home
from hybrid_memory.recall.measuring import Measured
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Final scores of shape (n,), which of them are the reranker's, and its name; or why it gave none."""

    scores: Array
    by_model: npt.NDArray[np.bool_]
    name: str = ""
    failure: str = ""

    def by(self, row: int) -> str:
        """The reranker's name for a row that it scored, for the explanation."""
        return self.name if self.by_model[row] or not self.name else f"its place behind what {self.name} scored"


async def reranked(
    run: Runner, services: Services, query: str, own: Array, *, measured: Measured, homes: Sequence[Home]
) -> Reranked:
    """The reranker's scores for the best candidates; others get their own score times its lowest, to stay behind."""
    nothing = Reranked(own, np.zeros(len(own), dtype=np.bool_))
    if services.reranker is None:
        return nothing
    ids = measured.ids
    best = np.lexsort((-ids, -own))[: services.config.recall.rerank_candidates]
    owners = {home.view.owner for home in homes}  # an index of a log that was set back may have ids of another owner
    read = await measured.those(run, services, ids[best].tolist())
    said = {record.id: _said(record) for record in read if record.scope.owner in owners}
    known = [row for row in best.tolist() if int(ids[row]) in said]
    try:
        given = await run.call(services.reranker.score, query, [said[int(ids[row])] for row in known])
    except ModelError as error:
        _log.warning("%s; hits keep their order", error)
        return Reranked(own, nothing.by_model, failure=f"not reranked, {error}")
    scores = np.full(len(own), np.nan)
    scores[known] = given
    by_model = np.isfinite(scores)
    return Reranked(np.where(by_model, scores, own * np.nanmin(scores, initial=1.0)), by_model, services.reranker.name)


def _said(record: Record) -> str:
    """The words, with the speaker if that is a name: questions ask for people."""
    if record.kind is not RecordKind.TURN or record.speaker in {"", "user", "assistant"}:
        return record.text
    return record.text if record.text.startswith(f"{record.speaker}:") else f"{record.speaker}: {record.text}"
