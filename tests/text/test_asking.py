"""What a turn does: whether it says nothing, how much of it asks, and what only is small talk."""

from collections.abc import Callable

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

STORY = [
    "I went for a walk by the river today, and it was quiet there. Where are the garden keys?",
    "今天我去河边散步，那里很安静，风也不大。花园的钥匙在哪里？",
]
NOTHING = ["Alright.", "Got it, thanks!", "Good morning!", "好的，知道了。", "收到，谢谢！", "早上好", "Sounds good."]
ANSWERS = ["At half past nine.", "Blue.", "4471", "九点半。", "Dr Okafor.", "No, I moved."]
QUESTIONS = ["When shall we meet?", "会议几点开始？", "Where did you park the car?", "票多少钱？"]


def seems(text: str, *, empty: float, asks: float) -> bool:
    one = speech([text])
    return (one.empty.tolist(), one.asks.tolist()) == ([empty], [asks])


JUDGED: dict[str, tuple[list[str], Callable[[str], bool]]] = {
    "asks": (column("text/asking.tsv", "asks"), lambda text: asking_share(text) == 1),
    "tells": (column("text/asking.tsv", "tells"), lambda text: asking_share(text) == 0),
    "asks at its end": (STORY, lambda text: 0.2 < asking_share(text) < 0.7),
    "asks, without a mark too": (
        column("text/asking.tsv", "asks in other languages"),
        lambda text: asking_share(text) == questioning_share(text) == 1 and not is_memory(text),
    ),
    "tells in other languages": (
        column("text/asking.tsv", "tells in other languages"),
        lambda text: asking_share(text) == questioning_share(text) == 0 and is_memory(text),
    ),
    "says nothing": (NOTHING, lambda text: says_nothing(text) and speech([text]).empty.tolist() == [1]),
    "answers shortly": (ANSWERS, lambda text: seems(text, empty=0, asks=0)),
    "is a question": (QUESTIONS, lambda text: speech([text]).asks.tolist() == [1]),
    "is small talk": (column("text/small_talk.tsv", "small talk"), asks_nothing),
    "has content": (column("text/small_talk.tsv", "asks"), lambda text: not asks_nothing(text)),
    "is no memory": (column("text/small_talk.tsv", "no memory"), lambda text: not is_memory(text)),
    "is a memory": (column("text/small_talk.tsv", "memory"), is_memory),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, (said, _) in JUDGED.items() for text in said])
def test_a_turn_is_taken_for_what_it_does(kind: str, text: str) -> None:
    assert JUDGED[kind][1](text)


ABOUT = {"about now": about_now, "about before": about_before}


@pytest.mark.parametrize(
    ("kind", "query", "yes"), [(kind, *row) for kind in ABOUT for row in rows("text/asking.tsv", kind)]
)
def test_a_question_about_now_and_one_about_the_time_before_a_change(kind: str, query: str, yes: str) -> None:
    assert ABOUT[kind](query) is (yes == "yes")


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
