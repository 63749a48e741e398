"""How recall searches and scores."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from hybrid_memory.config.weights import Weights
from hybrid_memory.validation import Duration, Settings


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

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    weights: Weights = Weights()
    candidates: int = Field(default=48, ge=1, le=10_000)
    half_life: Duration = Field(default=timedelta(days=30), gt=timedelta(0))
    diversity: float = Field(default=0.0, ge=0, le=1)
    synonyms: tuple[tuple[str, ...], ...] = ()
    cache_ttl: Duration = Field(default=timedelta(seconds=300), ge=timedelta(0))
    ranker: str = "weighted-mean"
    count_uses: bool = True
