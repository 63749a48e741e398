"""A memory of a few days: what its first questions get, with the local embedder and every default."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, open_memory
from tests.doubles import Clock, texts
from tests.world import rows

TABLE = "scoring/young_stores.tsv"


@pytest.fixture(scope="module")
def memories() -> Iterator[dict[str, HybridMemory]]:
    made = {}
    for language in ("en", "zh"):
        clock = Clock(datetime(2026, 2, 2, 9, tzinfo=UTC))
        made[language] = memory = open_memory("memory://", clock=clock)
        for row, (day, text) in enumerate(rows(TABLE, language)):
            clock.now = datetime(2026, 2, 2, 9, tzinfo=UTC) + timedelta(days=20 * int(day), minutes=3 * row)
            memory.scoped(user="me", session=f"day {day}").remember(text)
        memory.flush(progress=False)
    yield made
    for memory in made.values():
        memory.close()


def new_chat(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="me", session="new")


@pytest.mark.parametrize(("language", "question", "answer"), rows(TABLE, "asked"))
def test_the_first_hit_is_the_answer_and_the_prompt_has_it(
    memories: dict[str, HybridMemory], language: str, question: str, answer: str
) -> None:
    chat = new_chat(memories[language])
    assert answer in texts(chat.recall(question))[0]
    assert answer in chat.assemble(question, max_tokens=1500).text


def test_a_sentence_that_shares_no_word_with_the_question_is_in_the_prompt(memories: dict[str, HybridMemory]) -> None:
    assert "New flat in Indiranagar" in new_chat(memories["en"]).assemble("where do I live?", max_tokens=1500).text


def test_what_was_said_last_comes_first(memories: dict[str, HybridMemory]) -> None:
    english, chinese = (new_chat(memories[language]).profile() for language in ("en", "zh"))
    assert english.text.index("not vegetarian any more") < english.text.index("I'm vegetarian but")
    assert "product designer" in english.text
    assert "大疆" in chinese.text
    assert chinese.text.index("只有花生") < chinese.text.index("花生和芒果")
