from __future__ import annotations

import pytest

from hybrid_memory.text.asking import about_before, about_now, asking_share, is_memory, questioning_share
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
