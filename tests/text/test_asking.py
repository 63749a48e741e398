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
    says_nothing,
    speech,
    speech_act,
    tells,
)
from tests.doubles import assert_linear
from tests.world import rows

JUDGED: dict[str, Callable[[str], bool]] = {
    "asks": lambda text: asking_share(text) == 1,
    "tells": lambda text: asking_share(text) == 0,
    "asks at its end": lambda text: 0.2 < asking_share(text) < 0.7,
    "asks in other languages": lambda text: asking_share(text) == speech_act(text)[1] == 1 and not is_memory(text),
    "tells in other languages": lambda text: asking_share(text) == speech_act(text)[1] == 0 and is_memory(text),
    "says nothing": lambda text: says_nothing(text) and speech([text]).empty.tolist() == [1],
    "answers shortly": lambda text: not speech([text]).empty.any() and not speech([text]).asks.any(),
    "is a question": lambda text: speech([text]).asks.tolist() == [1],
    "small talk": asks_nothing,
    "has content": lambda text: not asks_nothing(text),
    "no memory": lambda text: not is_memory(text),
    "memory": is_memory,
}
TURNS = [row for table in ("asking", "small_talk") for row in rows(f"text/{table}.tsv") if row[0] in JUDGED]


@pytest.mark.parametrize(("kind", "text"), TURNS)
def test_a_turn_is_taken_for_what_it_does(kind: str, text: str) -> None:
    assert JUDGED[kind](text)


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
