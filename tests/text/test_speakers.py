from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.speakers import named, voice
from tests.world import column, rows


@pytest.mark.parametrize(("text", "name", "words"), rows("text/speakers.tsv", "speaker"))
def test_a_name_before_a_colon_is_the_speaker(text: str, name: str, words: str) -> None:
    assert voice(text) == (name, words)


@pytest.mark.parametrize("text", column("text/speakers.tsv", "heading"))
def test_a_heading_is_no_speaker(text: str) -> None:
    assert voice(text) == ("", text)


def test_named_takes_what_is_short_enough_before_a_colon() -> None:
    assert named("my plan: buy milk") == ("my plan", "buy milk")
    assert named("this is what I said: buy milk") == ("", "this is what I said: buy milk")


@given(st.text(max_size=60))
def test_the_words_are_the_end_of_the_text(text: str) -> None:
    for read in (named, voice):
        name, words = read(text)
        assert text.endswith(words)
        assert text.startswith(name)
        assert bool(name) == (words != text)
