"""How recall searches, and how much each signal counts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from math import isfinite
from typing import Self

from pydantic import Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import Duration, Settings


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; the same field names as `Signals`.

    ``score = sum(weight * signal) / sum(weights)``, so it stays in [0, 1]; with every adjustment at 0 it is
    exactly ``0.7 * vector + 0.3 * text``. An adjustment at 0 is off. Neighbours, segment and importance fade where
    turns are long; current counts only where something that was found is out of date, exact where the query quotes
    something or has a path or an id, temporal where it names a time. A hit carries the weights as they were applied.
    Recency and use are off by default: no labelled set at hand shows what they are worth.

    Raises:
        InvalidInputError: a weight is negative or not finite, or all are 0.
    """

    vector: float = 0.7
    text: float = 0.3
    neighbours: float = 0.3
    segment: float = 0.4
    recency: float = 0.0
    importance: float = 0.3
    use: float = 0.0
    current: float = 1.0
    exact: float = 0.4
    temporal: float = 0.4

    def __post_init__(self) -> None:
        values = [getattr(self, part.name) for part in fields(self)]
        numbers = all(isinstance(value, int | float) and isfinite(value) and value >= 0 for value in values)
        if not numbers or not any(values):
            raise InvalidInputError(f"weights must be 0 or more, finite, and not all 0: {self}")

    @classmethod
    def plain(cls) -> Self:
        """``0.7 * vector + 0.3 * text`` and nothing else."""
        return cls(neighbours=0.0, segment=0.0, importance=0.0, current=0.0, exact=0.0, temporal=0.0)

    @classmethod
    def routed(cls) -> Self:
        """``0.3 * exact + 0.5 * vector + 0.2 * temporal`` and nothing else."""
        return replace(cls.plain(), vector=0.5, text=0.0, exact=0.3, temporal=0.2)

    @classmethod
    def heat(cls) -> Self:
        """``0.3 * use + 0.7 * recency`` and nothing else: what is in use and new, among what the paths found."""
        return replace(cls.plain(), vector=0.0, text=0.0, use=0.3, recency=0.7)


class RecallConfig(Settings):
    """How recall searches and scores.

    Attributes:
        weights: of the signals; see `Weights`.
        candidates: how many records each of the vector and the text path brings in.
        half_life: after this time a record's recency is 0.5.
        diversity: 0 ranks by score alone; towards 1, records that repeat better ones fall back (MMR).
        synonyms: groups of words that mean the same; where a query has one, the others are looked for too.
        cache_ttl: an answer is given again within this time, if nothing was written since; 0 finds each one anew.
        ranker: what scores the candidates: ``weighted-mean`` of the signals, or the name of an installed one.
        count_uses: record in the log which records were recalled, in batches; see `Record.uses`.
    """

    weights: Weights = Weights()
    candidates: int = Field(default=48, ge=1, le=10_000)
    half_life: Duration = Field(default=timedelta(days=30), gt=timedelta(0))
    diversity: float = Field(default=0.0, ge=0, le=1)
    synonyms: tuple[tuple[str, ...], ...] = ()
    cache_ttl: Duration = Field(default=timedelta(seconds=300), ge=timedelta(0))
    ranker: str = "weighted-mean"
    count_uses: bool = True
