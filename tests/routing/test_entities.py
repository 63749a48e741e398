"""What a query names: words in quotes, paths, ids, and names of both scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.recall.plan import MAX_ENTITIES, MAX_QUOTED_CHARS, EntityKind, entities, folded
from tests.world import column, rows

MARKS = "\"'“”「」『』《》`«»‘’ \n\t.,/\\#-_@:。，"
WORDS = "Ann of Dr. 王 小 明 欧阳 src/a.py E-17 I A The x 's".split()
PIECES = st.sampled_from([*MARKS, *WORDS])


def named(query: str, kind: EntityKind) -> list[str]:
    return [entity.text for entity in entities(query) if entity.kind is kind]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "quoted"))
def test_each_kind_of_quotes_holds_words(query: str) -> None:
    assert named(query, EntityKind.QUOTED) == ["red door"]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "not quoted"))
def test_apostrophes_and_empty_quotes_hold_none(query: str) -> None:
    assert named(query, EntityKind.QUOTED) == []


def test_quotes_around_a_whole_page_are_no_phrase() -> None:
    assert named(f'"{"a" * MAX_QUOTED_CHARS}"', EntityKind.QUOTED)
    assert not named(f'"{"a" * (MAX_QUOTED_CHARS + 1)}"', EntityKind.QUOTED)


@pytest.mark.parametrize("path", column("routing/entities.tsv", "path"))
@pytest.mark.parametrize("around", ["open {} now", "打开{}看看", "({})"])
def test_paths_addresses_and_files_are_found_whole(path: str, around: str) -> None:
    assert named(around.format(path), EntityKind.PATH) == [path]


@pytest.mark.parametrize("name", ["E-1234", "#4521", "8f3a2b91", "JIRA-7", "v2.3.1", "8812345"])
@pytest.mark.parametrize("around", ["what about {} again", "关于{}的进展"])
def test_ids_are_found_whole(name: str, around: str) -> None:
    assert named(around.format(name), EntityKind.ID) == [name]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "no id"))
def test_dates_ordinals_and_sizes_are_no_ids(query: str) -> None:
    assert entities(query) == ()


@pytest.mark.parametrize("row", rows("routing/entities.tsv", "english names"), ids="|".join)
def test_english_names_are_capitalised_words_that_open_no_sentence(row: tuple[str, ...]) -> None:
    query, *names = row
    assert named(query, EntityKind.NAME) == names


@pytest.mark.parametrize("row", rows("routing/entities.tsv", "chinese names"), ids="|".join)
def test_chinese_names_begin_with_a_surname(row: tuple[str, ...]) -> None:
    query, *names = row
    assert named(query, EntityKind.NAME) == names


def test_what_stands_in_quotes_is_not_named_once_more() -> None:
    assert [
        (entity.text, entity.kind) for entity in entities('did "Alice Miller at src/a.py" ask Bob about #17a?')
    ] == [("Alice Miller at src/a.py", EntityKind.QUOTED), ("Bob", EntityKind.NAME), ("#17a", EntityKind.ID)]


def test_the_same_words_in_another_case_or_width_count_once() -> None:
    assert [entity.text for entity in entities('"Red Door", "ＲＥＤ  door" or `red door`')] == ["Red Door"]


def test_the_first_eight_are_kept() -> None:
    assert [entity.text for entity in entities(" ".join(f'"w{number}"' for number in range(20)))] == [
        f"w{number}" for number in range(MAX_ENTITIES)
    ]


@given(st.text() | st.lists(PIECES, max_size=40).map("".join))
def test_any_text_gives_words_of_its_own_in_order_and_each_once(query: str) -> None:
    found = entities(query)
    assert len(found) <= MAX_ENTITIES
    assert all(entity.text.strip() for entity in found)
    start = 0
    for entity in found:
        start = query.index(entity.text, start) + len(entity.text)
    assert len({folded(entity.text) for entity in found}) == len(found)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)
