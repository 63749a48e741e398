"""Which words of a turn are its speaker's own."""

from __future__ import annotations

import pytest

from hybrid_memory import MemoryConfig, Message, Role, open_memory


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I'm allergic to peanuts: what could I cook for four friends?", ["I'm allergic to peanuts"]),
        ("我对花生过敏，晚上吃什么好呢？", ["我对花生过敏"]),
        ("If I'm allergic to nuts, what can I eat for lunch?", []),
        ("She says I'm allergic to milk, how can that be?", []),
        ("I can't eat nuts, can I?", []),
        ("I have a question: how do I sort a list?", []),
        ("It's 18:05 now, the ovens are newer.", ["It's 18:05 now, the ovens are newer."]),
    ],
)
def test_what_is_said_before_a_question_or_around_a_time_is_heard(said: str, known: list[str]) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        handle = memory.scoped(user="noa", session="s")
        handle.remember(Message(content=said, role=Role.USER, name="Noa"))
        assert [fact.text for fact in handle.facts()] == known
