"""Calls and tokens of a language model, counted on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.models.language import MeasuredModel
from hybrid_memory.runtime.statistics import Statistics


class Model:
    """Answers everything alike, or fails."""

    name = "parrot"

    def __init__(self) -> None:
        self.error: Exception | None = None

    def complete(self, messages: Sequence[Message]) -> str:
        if self.error:
            raise self.error
        return "four words of answer"

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.error:
            raise self.error
        return {"asked": len(messages), "城": schema["title"]}


def said(*texts: str) -> list[Message]:
    return [Message(role=Role.USER, content=text) for text in texts]


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def statistics() -> Statistics:
    return Statistics()


@pytest.fixture
def measured(model: Model, statistics: Statistics) -> MeasuredModel:
    return MeasuredModel(model, statistics, words)


def test_tokens_of_all_messages_and_of_the_answer_are_counted(measured: MeasuredModel, statistics: Statistics) -> None:
    measured.complete(said("one two three", "four five"))
    work = statistics.snapshot()
    assert (work.model_calls, work.tokens) == (1, 5 + 4)
    answer = measured.structured(said("one two"), {"title": "x"})
    work = statistics.snapshot()
    assert (work.model_calls, work.tokens) == (2, 9 + 2 + words(json.dumps({"title": "x"})) + words(json.dumps(answer)))
    assert work.kinds["reasoning"].done == 2
    assert work.kinds["reasoning"].latency is not None
