"""Predicts which turns will be asked about, from their vectors and form; learned from conversations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.context.summaries.importance import importance
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.derive import substance
from hybrid_memory.log.event import Event
from hybrid_memory.log.origin import Origin
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.text.speech import speech

SHORT = 0.6
"""More substance than this counts less, or against a turn: a page of advice is seldom asked about."""

_head = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
EMBEDDER: str = _head["embedder"]
_VECTOR: Array = np.array(_head["vector"], dtype=np.float64)
_FORM: Array = np.array(_head["form"], dtype=np.float64)
_USUAL = float(_head["usual"])
_BIAS = float(_head["bias"])
"""Weights from benchmarks/ranking/asked_about.py, and the average contribution of a vector.

They are read at import, as compaction runs in event loops.
"""


async def asked_about(run: Runner, services: Services, scope: Scope, turns: Sequence[Event]) -> dict[int, float]:
    """The probability that each turn will be asked about, in [0, 1], by position; 0.5 is typical.

    A turn without a vector yet is judged by its form. Empty if the vectors are not of the embedder it was trained on.
    """
    if services.embedder is None or services.embedder.name != EMBEDDER:
        return {}
    positions = np.array([turn.position for turn in turns], dtype=np.int64)
    try:
        rows, known = await run.call(services.index.vector_rows, scope.owner, positions)
    except StoreUnavailableError:  # of an index elsewhere; the turns are at hand
        known = np.zeros(len(turns), dtype=np.bool_)
    vectors = rows if known.any() else np.zeros((len(turns), len(_VECTOR)), dtype=np.float32)
    by_meaning = np.where(known, vectors.astype(np.float64) @ _VECTOR, _USUAL)
    chances = 1 / (1 + np.exp(-(by_meaning + form(turns, vectors) @ _FORM + _BIAS)))
    return dict(zip(positions.tolist(), chances.tolist(), strict=True))


def form(turns: Sequence[Event], vectors: Floats) -> Array:
    """Features of turns other than their vectors, of shape (n, 6)."""
    texts = [turn.message.text for turn in turns]
    length = np.array([substance(text) for text in texts])
    spoken = speech(texts, vectors, EMBEDDER)
    helper = np.array([float(turn.origin is Origin.ASSISTANT) for turn in turns])
    cues = np.array([importance(text) for text in texts])
    return np.column_stack([length, np.minimum(length, SHORT), spoken.asks, spoken.empty, helper, cues])
