from __future__ import annotations

from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import ModelError
from hybrid_memory_evaluation import Prompt
from hybrid_memory_evaluation.replaying import Metered, Prompts, faults

USER = {"role": "user", "content": "go"}
CALLS = {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}, {"id": "b"}]}


def result(call: str) -> dict[str, str]:
    return {"role": "tool", "content": "done", "tool_call_id": call}


def words(text: str) -> int:
    return len(text.split())


def prompt(text: str) -> Prompt:
    return Prompt([{"role": "user", "content": text}], words(text) + 1)


def test_reuse_is_the_common_beginning_of_neighbours() -> None:
    prompts = Prompts(6, words)
    for text in ("one two three four", "one two three four five six", "one two nine"):
        prompts.add(prompt(text), 0.5)
    said = prompts.as_dict()
    # "user: one two three four" is 5 words of 5; of the second's 7 tokens "user: one two " are 3.
    assert said["reused"] == 5 + 3
    assert said["reuse"] == pytest.approx((5 / 5 + 3 / 7) / 2)
    assert said["tokens"] == 5 + 7 + 4
    assert said["largest"] == 7
    assert said["over"] == 1
    assert said["seconds"] == [0.5] * 3
    assert said["invalid"] == 0


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([USER], None),
        ([USER, CALLS, result("b"), result("a")], None),
        ([{"role": "system", "content": "s"}, USER], None),
        ([USER, CALLS, result("a")], "a call without its result"),
        ([USER, CALLS, result("a"), USER], "a call without its result"),
        ([USER, result("a")], "a result without its call"),
        ([USER, CALLS, result("a"), result("a"), result("b")], "a result without its call"),
        ([CALLS, result("a"), result("b")], "the first message is not the user's"),
        ([USER, {"role": "assistant", "content": "done"}], "nothing to answer"),
        ([USER | {"tool_calls": [{"id": "a"}]}, result("a")], "calls by the user"),
        ([{"role": "system", "content": "s"}], "the first message is not the user's"),
    ],
)
def test_what_a_provider_refuses(messages: list[dict[str, object]], fault: str | None) -> None:
    assert faults(messages) == ([] if fault is None else [fault])


def test_a_meter_counts_calls_also_those_that_fail(scripted: Any) -> None:
    model = Metered(scripted(lambda _: "two words"), words)
    assert model.complete([Message(content="hello there")]) == "two words"
    with pytest.raises(ModelError):
        model.structured([Message(content="hello")], {})
    assert (model.calls, model.written, model.name) == (2, 2, "scripted")
    assert model.sent == (2 + 3 + 1) + (1 + 3 + 1)  # the words, the framing and the role of each message
