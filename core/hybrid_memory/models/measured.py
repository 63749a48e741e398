"""A language model whose calls and tokens are counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.log.message import Message
from hybrid_memory.models.port import LanguageModel
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.text.tokens import TokenCounter


class MeasuredModel:
    """Another language model; each call is counted, with the tokens of its messages and of its answer, and timed.

    Args:
        model: what answers.
        statistics: where the figures go; times stand under the kind ``reasoning``.
        count: counts tokens.
    """

    def __init__(self, model: LanguageModel, statistics: Statistics, count: TokenCounter) -> None:
        self._model = model
        self._statistics = statistics
        self._count = count

    @property
    def name(self) -> str:
        """Of the model."""
        return self._model.name

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer to this conversation; see `LanguageModel.complete`."""
        with self._statistics.timed("reasoning"):
            answer = self._model.complete(messages)
        self._counted(messages, answer)
        return answer

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as a JSON object; see `LanguageModel.structured`."""
        with self._statistics.timed("reasoning"):
            answer = self._model.structured(messages, schema)
        self._counted(messages, json.dumps(schema, ensure_ascii=False), json.dumps(answer, ensure_ascii=False))
        return answer

    def _counted(self, messages: Sequence[Message], *others: str) -> None:
        self._statistics.model_call(sum(map(self._count, (*(message.text for message in messages), *others))))
