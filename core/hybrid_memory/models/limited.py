"""Models with a time limit for each call; see `TimeLimit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import ParamSpec, TypeVar

from hybrid_memory.arrays import Array
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import ModelError
from hybrid_memory.models.port import Ranker, TextCompressor
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.time_limit import NoResultError, TimeLimit

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 6
"""How many times longer background work waits for a model."""


def model_limit(name: str, timeout: timedelta) -> TimeLimit:
    """The time limit of a model; after a call that took too long, only a probe is made."""
    return TimeLimit(name, timeout, patience=PATIENCE * timeout, breaker=Breaker())


def limited(limit: TimeLimit, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a model's method; raises its error, or `ModelError` if it took too long."""
    try:
        return limit.call(function, *args, **kwargs)
    except NoResultError as error:
        if isinstance(error.__cause__, Exception):
            raise error.__cause__ from None
        raise ModelError(str(error)) from error.__cause__


class LimitedRanker:
    """A ranker with a time limit; all its errors become `ModelError`."""

    def __init__(self, model: Ranker, timeout: timedelta) -> None:
        self._model = model
        self._limit = model_limit(f"ranker {model.name!r}", timeout)

    @property
    def name(self) -> str:
        """The name of the ranker."""
        return self._model.name

    def score(
        self,
        query: str,
        signals: Mapping[str, Array],
        weights: Weights,
        texts: Callable[[Sequence[int]], list[str]],
    ) -> Array:
        """See `Ranker.score`."""
        try:
            return limited(self._limit, self._model.score, query, signals, weights, texts)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"ranker {self.name!r} failed: {type(error).__name__}: {error}") from error


class LimitedCompressor:
    """A compressor with a time limit."""

    def __init__(self, model: TextCompressor, timeout: timedelta) -> None:
        self._model = model
        self._limit = model_limit("the compressor", timeout)

    def compress(self, text: str, *, max_tokens: int) -> str:
        """See `TextCompressor.compress`."""
        return limited(self._limit, self._model.compress, text, max_tokens=max_tokens)
