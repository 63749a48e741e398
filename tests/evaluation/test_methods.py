from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import estimate_tokens, message_tokens
from hybrid_memory_evaluation import Probe, Setting, Transcript, found_methods
from hybrid_memory_evaluation.measures import faults
from hybrid_memory_evaluation.methods import chosen_methods
from hybrid_memory_evaluation.methods.own import OWN, truncated
from hybrid_memory_evaluation.replaying import replayed

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


def test_a_model_that_looks_again_finds_turns_with_their_ids(chat: Transcript) -> None:
    with OWN["window"].replay(SETTING) as replay:
        for message in chat.messages:
            replay.say(message)
        texts = list(replay.fetch("Which locker is mine?", replay.prompt("Which locker is mine?")))
    assert "QX4471" in texts[0].text
    assert "turn-1" in texts[0].sources
    assert len({source for text in texts for source in text.sources}) <= 30


def test_the_truncated_part_is_what_a_window_leaves_out(chat: Transcript) -> None:
    before = truncated(chat.messages, 400, estimate_tokens)
    tokens = [message_tokens(message, estimate_tokens) for message in chat.messages]
    assert sum(tokens[before:]) <= 400 < sum(tokens[before - 1 :])
    assert truncated(chat.messages, 10**6, estimate_tokens) == 0


def test_a_system_message_counts_towards_the_window() -> None:
    said = [Message(role=Role.SYSTEM, content="rules " * 50), *(Message(content="word " * 20) for _ in range(10))]
    alone = truncated(said[1:], 150, estimate_tokens)
    assert truncated(said, 150, estimate_tokens) > alone + 1


def test_methods_of_both_frameworks_are_found() -> None:
    there = found_methods()
    assert set(OWN) < set(there)
    assert {name.partition("-")[0] for name in set(there) - set(OWN)} == {"langchain", "llamaindex"}


def test_an_unknown_method_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"'anchord'.*anchored.*langchain"):
        chosen_methods(["anchord"])
    with pytest.raises(InvalidInputError, match="no method is named"):
        chosen_methods([])
    assert [method.name for method in chosen_methods(["none", "anchored", "none"])] == ["none", "anchored"]


def test_every_message_of_a_transcript_has_an_id_of_its_own() -> None:
    said = [{"content": "a", "id": "turn-2"}, {"content": "b"}, {"content": "c", "id": "turn-2"}, {"content": "d"}]
    assert [message.id for message in Transcript.of(said).messages] == ["turn-2", "turn-2-2", "turn-3", "turn-4"]
    late = [{"content": "a"}, {"content": "b", "id": "turn-1"}]
    assert [message.id for message in Transcript.of(late).messages] == ["turn-1-2", "turn-1"]


def test_an_embedder_may_be_named(chat: Transcript, probes: Sequence[Probe]) -> None:
    words = Setting(400, estimate_tokens, embedder="none")
    found = replayed(chat, OWN["anchored"], probes, words)["results"]
    assert all(one["survival"] == 1 for one in found)
    with pytest.raises(InvalidInputError, match="needs an embedder"):
        replayed(chat, found_methods()["llamaindex-memory-vector"], probes, words)
