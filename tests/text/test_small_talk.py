"""What neither asks memory for something nor tells it anything, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.asking import MAX_CHARS, MAX_TALK_CHARS, asks_nothing, is_memory
from tests.doubles import assert_linear
from tests.world import column


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
