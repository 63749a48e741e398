"""What a turn does: whether it says nothing, how much of it asks, and what only is small talk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.text.asking import (
    MAX_CHARS,
    MAX_TALK_CHARS,
    SURE,
    about_before,
    about_now,
    asking_share,
    asks_nothing,
    emptiness,
    is_memory,
    questioning_share,
    says_nothing,
    speech,
    tells,
)
from tests.doubles import assert_linear
from tests.world import column, rows


@pytest.mark.parametrize("text", column("text/asking.tsv", "asks"))
def test_a_turn_that_asks_for_something_asks_with_all_of_it(text: str) -> None:
    assert asking_share(text) == 1


@pytest.mark.parametrize("text", column("text/asking.tsv", "tells"))
def test_a_turn_that_asks_nothing_has_no_share(text: str) -> None:
    assert asking_share(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "I went for a walk by the river today, and it was quiet there. Where are the garden keys?",
        "今天我去河边散步，那里很安静，风也不大。花园的钥匙在哪里？",
    ],
)
def test_a_question_behind_a_story_counts_by_its_length(text: str) -> None:
    assert 0.2 < asking_share(text) < 0.7


@pytest.mark.parametrize(("query", "now"), rows("text/asking.tsv", "about now"))
def test_a_question_about_now_is_told_from_one_about_the_past(query: str, now: str) -> None:
    assert about_now(query) is (now == "yes")


@pytest.mark.parametrize(("query", "before"), rows("text/asking.tsv", "about before"))
def test_a_question_about_the_time_before_a_change(query: str, before: str) -> None:
    assert about_before(query) is (before == "yes")


@pytest.mark.parametrize("text", column("text/asking.tsv", "asks in other languages"))
def test_questions_of_other_languages_ask_without_a_mark_too(text: str) -> None:
    assert asking_share(text) == questioning_share(text) == 1
    assert not is_memory(text)


@pytest.mark.parametrize("text", column("text/asking.tsv", "tells in other languages"))
def test_statements_of_other_languages_tell(text: str) -> None:
    assert asking_share(text) == questioning_share(text) == 0
    assert is_memory(text)


@pytest.mark.parametrize(
    "text", ["Alright.", "Got it, thanks!", "Good morning!", "好的，知道了。", "收到，谢谢！", "早上好", "Sounds good."]
)
def test_acknowledgements_and_greetings_say_nothing(text: str) -> None:
    assert says_nothing(text)
    assert speech([text]).empty.tolist() == [1.0]


@pytest.mark.parametrize("text", ["At half past nine.", "Blue.", "4471", "九点半。", "Dr Okafor.", "No, I moved."])
def test_a_short_answer_says_something(text: str) -> None:
    said = speech([text])
    assert (said.empty.tolist(), said.asks.tolist()) == ([0.0], [0.0])


@pytest.mark.parametrize("text", ["When shall we meet?", "会议几点开始？", "Where did you park the car?", "票多少钱？"])
def test_a_question_asks(text: str) -> None:
    assert speech([text]).asks.tolist() == [1.0]


def test_vectors_tell_of_short_turns_in_languages_that_no_rule_knows() -> None:
    embedder = LocalEmbedder()
    empty = ["Selvä juttu.", "Okej, tack så mycket!", "Dobře, rozumím.", "Rendben, köszönöm!"]
    full = ["Koodi on 4471.", "Klockan halv tio.", "Moje sestra žije v Turíně.", "A macska csak lazacot eszik."]
    vectors = embedder.embed_documents([f"<message role='user'>user: {text}</message>" for text in empty + full])
    assert tells(embedder.name)
    assert (emptiness(vectors) > SURE).tolist() == [True] * 4 + [False] * 4
    said = speech(empty + full, vectors, embedder.name)
    assert (said.empty > SURE).tolist() == [True] * 4 + [False] * 4
    assert not speech(empty, vectors[:4], "another model").empty.any()
    assert not speech([text * 9 for text in empty], vectors[:4], embedder.name).empty.any(), "what is long says much"
    assert not speech(empty, np.zeros_like(vectors[:4]), embedder.name).empty.any(), "without a vector nothing is told"


@pytest.mark.parametrize("text", column("text/small_talk.tsv", "small talk"))
def test_small_talk_asks_nothing(text: str) -> None:
    assert asks_nothing(text)


@pytest.mark.parametrize("text", column("text/small_talk.tsv", "asks"))
def test_what_has_content_asks(text: str) -> None:
    assert not asks_nothing(text)


@pytest.mark.parametrize("text", column("text/small_talk.tsv", "no memory"))
def test_questions_greetings_acknowledgements_and_bare_requests_are_no_memories(text: str) -> None:
    assert not is_memory(text)


@pytest.mark.parametrize("text", column("text/small_talk.tsv", "memory"))
def test_what_tells_something_is_a_memory(text: str) -> None:
    assert is_memory(text)


@given(st.text(max_size=400))
def test_any_text_can_be_judged(text: str) -> None:
    assert isinstance(asks_nothing(text), bool)
    assert not (asks_nothing(text) and is_memory(text))


@pytest.mark.parametrize(
    "unit", ["ok ", "好", "thank you very ", "what's ", "how are you ", "真的很", "hi, ", "我也很", "?"]
)
def test_a_long_text_takes_no_time(unit: str) -> None:
    assert_linear(asks_nothing, lambda size: (unit * size)[:size], MAX_TALK_CHARS)
    assert_linear(is_memory, lambda size: (unit * size)[:size], MAX_CHARS)
