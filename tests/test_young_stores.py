"""A memory of a few days: what its first questions get, with the local embedder and every default."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, open_memory
from hybrid_memory.config import MemoryConfig, PromptConfig
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


@pytest.mark.parametrize(
    ("earlier", "later", "now", "before"),
    [
        ("I live in Lyon.", "I moved to Oslo last week.", "Where do I live?", "Where did I live originally?"),
        (
            "Ich wohne in Berlin.",
            "Letzte Woche bin ich nach Hamburg gezogen.",
            "Wo wohne ich?",
            "Wo wohnte ich früher?",
        ),
        ("我住在上海。", "上周我搬到了杭州。", "我住在哪里？", "我以前住在哪里？"),
    ],
)
def test_the_newer_of_two_values_comes_first_without_a_word_in_common(
    earlier: str, later: str, now: str, before: str
) -> None:
    with open_memory("memory://") as memory:
        memory.scoped(user="me", session="s").remember([earlier, "I like coffee.", later, "Nora plays the cello."])
        hits = new_chat(memory).recall(now)
        assert [hit.text for hit in hits[:2]] == [later, earlier]
        assert hits[0].confidence == hits[1].confidence
        assert "as the newest" in hits[0].why()
        assert texts(new_chat(memory).recall(before))[0] == earlier


def test_a_letter_of_somebody_else_stands_behind_what_the_user_says() -> None:
    letter = (
        "Can you summarise this for me?\n\nDear customer, your bank account with Northern Bank was opened on Monday."
    )
    with open_memory(MemoryConfig(url="memory://", prompt=PromptConfig(memory_tokens=120))) as memory:
        user = memory.scoped(user="me", session="s")
        for text in (letter, "My money is with a small credit union in Leeds.", *rows(TABLE, "en")[:5]):
            user.remember(text if isinstance(text, str) else text[1])
        chat = new_chat(memory)
        assert "Northern Bank" in texts(chat.recall("Which account gets my salary?"))[0]
        note = chat.assemble("Which account gets my salary?").note
        assert "credit union" in note
        assert "Northern Bank" not in note
        assert "Northern Bank" in chat.assemble("What does Northern Bank say in the letter?").note


def test_what_was_said_last_comes_first(memories: dict[str, HybridMemory]) -> None:
    english, chinese = (new_chat(memories[language]).profile() for language in ("en", "zh"))
    assert english.text.index("not vegetarian any more") < english.text.index("I'm vegetarian but")
    assert "product designer" in english.text
    assert "大疆" in chinese.text
    assert chinese.text.index("只有花生") < chinese.text.index("花生和芒果")


@pytest.mark.parametrize(
    ("plan", "later", "question"),
    [
        (
            "In August Lea and I fly to Lisbon.",
            ["I quit my job.", "The bike is mended."],
            "Where did we fly in August?",
        ),
        (
            "Im August fliegen wir hin.",
            ["Wir sind umgezogen.", "Lea isst Fisch."],
            "Wohin sind wir im August geflogen?",
        ),
        ("八月我们飞里斯本。", ["我们搬家了。", "自行车修好了。"], "我们八月飞去了哪里？"),
    ],
)
def test_what_names_the_month_that_is_asked_about_comes_first(plan: str, later: list[str], question: str) -> None:
    with open_memory("memory://", clock=Clock(datetime(2026, 11, 2, tzinfo=UTC))) as memory:
        user = memory.scoped(user="me", session="s")
        user.remember(plan, at=datetime(2026, 5, 10, tzinfo=UTC))
        for text in later:
            user.remember(text, at=datetime(2026, 8, 10, tzinfo=UTC))
        assert texts(new_chat(memory).recall(question))[0] == plan
