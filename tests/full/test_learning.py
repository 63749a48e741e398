from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hybrid_memory.models.extractor import ModelExtractor
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Claim, Event, EventKind, Message, Scope

MONDAY = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)
ENGLISH = (
    "Good morning! I'm Maya, and I write firmware for a robotics company in Lisbon.",
    "I am allergic to peanuts, so please keep that in mind.",
    "Do you know a good film for tonight?",
    "My brother Tomas gave me a cello. I love playing it.",
)
CHINESE = (
    "早上好！我叫梅雅，住在里斯本，是一名固件工程师。",
    "我对花生过敏，请记住。",
    "今晚有什么好看的电影吗？",
    "我哥哥送了我一把大提琴，我很喜欢拉琴。",
)
EXPECTED: dict[tuple[str, ...], set[str]] = {
    ENGLISH: {"Maya", "Lisbon", "firmware", "peanuts", "Tomas", "cello"},
    CHINESE: {"梅雅", "里斯本", "固件工程师", "花生", "大提琴", "拉琴"},
}


class NoRules:
    """Leaves everything to the model."""

    name = "no rules"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        return []


def event(position: int, text: str) -> Event:
    payload = Message(content=text).model_dump(mode="json", exclude_none=True)
    return Event(position, f"e{position}", Scope(user="maya"), EventKind.MESSAGE, MONDAY, payload)


@pytest.mark.parametrize("said", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_a_small_model_finds_facts_that_the_turns_state(local_model: LanguageModel, said: tuple[str, ...]) -> None:
    extractor = ModelExtractor(local_model, NoRules())
    claims = extractor.extract([event(number, text) for number, text in enumerate(said, 1)], [])
    for claim in claims:
        print(f"[{claim.source}] {claim.subject} · {claim.attribute}: {claim.value}")  # noqa: T201 - read with pytest -s
        assert claim.by == extractor.name
        assert set(terms(claim.value)) & set(terms(said[claim.source - 1]))
    found = {word for word in EXPECTED[said] for claim in claims if word in claim.value}
    assert found, f"a model of half a billion parameters should find one of {EXPECTED[said]}"
    assert not any(claim.source == 3 for claim in claims), "nothing was stated, only asked"
