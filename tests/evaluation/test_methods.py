from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory_evaluation import Probe, Setting, Transcript
from hybrid_memory_evaluation.methods import OWN, chosen_methods
from hybrid_memory_evaluation.replaying import faults, replayed

SETTING = Setting(400, estimate_tokens, embedder=HashingEmbedder())


@pytest.mark.parametrize("name", OWN)
def test_prompts_are_valid_within_the_budget_and_asking_changes_nothing(name: str, chat: Transcript) -> None:
    with OWN[name].replay(SETTING) as replay:
        for message in chat.messages:
            replay.say(message)
        first = replay.prompt("Which locker is mine?")
        replay.prompt("What was decided?")
        again = replay.prompt("Which locker is mine?")
    assert first.messages[-1]["content"].endswith("Which locker is mine?")
    assert "That was day 27" in first.text
    assert faults(first.messages) == []
    assert first == again
    assert first.tokens <= 400 or name == "none"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", (1.0, 1.0, True)),
        ("sliding-window", (0.0, 0.0, False)),
        ("anchored-alone", (1.0, 0.5, True)),  # the answer that repeats the decision has no line
        ("anchored", (1.0, 1.0, True)),
    ],
)
def test_what_each_keeps_of_the_beginning(
    name: str, expected: tuple[float, float, bool], chat: Transcript, probes: Sequence[Probe]
) -> None:
    found = {one["probe"]: one for one in replayed(chat, OWN[name], probes, SETTING)["results"]}
    database = found["database"]
    assert (database["survival"], database["reach"], database["finished"]) == expected
    assert found["last"]["survival"] == 1
    assert found["last"]["reach"] == 1
    assert found["last"]["fetched"] == 0


def test_an_unknown_method_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"'anchord'.*anchored.*langchain"):
        chosen_methods(["anchord"])
    with pytest.raises(InvalidInputError, match="no method is named"):
        chosen_methods([])
    assert [method.name for method in chosen_methods(["none", "anchored", "none"])] == ["none", "anchored"]
