from __future__ import annotations

from datetime import UTC, datetime

from hybrid_memory import Event, EventKind, Message, Scope
from hybrid_memory.facts.reader import ModelExtractor
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import terms

MONDAY = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)
SAID = (
    "Good morning! I'm Maya, and I write firmware for a robotics company in Lisbon.",
    "我对花生过敏，请记住。",
    "Do you know a good film for tonight?",
)
EXPECTED = {"Maya", "Lisbon", "firmware", "花生"}


def event(position: int, text: str) -> Event:
    payload = Message(content=text).model_dump(mode="json", exclude_none=True)
    return Event(position, f"e{position}", Scope(user="maya"), EventKind.MESSAGE, MONDAY, payload)


def test_a_small_model_finds_facts_that_the_turns_state(local_model: LanguageModel) -> None:
    extractor = ModelExtractor(local_model)
    claims = extractor.extract([event(number, text) for number, text in enumerate(SAID, 1)], [])
    for claim in claims:
        print(f"[{claim.source}] {claim.subject} · {claim.attribute}: {claim.value}")  # noqa: T201 - read with pytest -s
        assert claim.by == extractor.name
        assert set(terms(claim.value)) & set(terms(SAID[claim.source - 1]))
    found = {word for word in EXPECTED for claim in claims if word in claim.value}
    assert found, f"even a small model should find one of {EXPECTED}"
    assert not any(claim.source == 3 for claim in claims), "nothing was stated, only asked"
