"""What a recall found that may stand in a prompt as memories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from hybrid_memory import Hit, Message, Record, Scope, Signals, Weights
from hybrid_memory.context.memories import FLOOR, LEAST, common_words, fitting, recollect

if TYPE_CHECKING:
    from tests.faces import Open

BIOPSY = ["I had a biopsy last week, the result comes on Friday.", "Delete the staging database tonight."]
CHECKUP = ["我上周做了活检，周五出结果。", "今晚删除测试数据库。"]


def hit(text: str, closeness: float | None = None, signals: Signals | None = None) -> Hit:
    record = Record(1, Scope(user="ada"), text=text, at=datetime.now(UTC), sources=("e",), segment=1, ordinal=0)
    return Hit(record, 0.5, signals or Signals(), Weights(), closeness=closeness)


def texts(hits: list[Hit]) -> list[str]:
    return [found.record.text for found in hits]


@pytest.mark.parametrize("closeness", [0.0, None])
@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("Write me a haiku about autumn.", BIOPSY), ("What is 17 times 23?", BIOPSY),
        ("写一首关于秋天的诗。", CHECKUP), ("十七乘以二十三等于多少？", CHECKUP), ("hi", BIOPSY),
    ],
)  # fmt: skip
def test_nothing_is_kept_where_nothing_fits(query: str, there: list[str], closeness: float | None) -> None:
    assert fitting(query, [hit(text, closeness) for text in there]) == []


@pytest.mark.parametrize("closeness", [0.1, None])
@pytest.mark.parametrize(("query", "there"), [("When was my biopsy?", BIOPSY), ("我什么时候做的活检？", CHECKUP)])
def test_common_words_keep_a_hit(query: str, there: list[str], closeness: float | None) -> None:
    assert there[0] in texts(fitting(query, [hit(text, closeness) for text in there]))


def test_nearness_alone_keeps_a_hit_and_what_is_not_far_beside_it() -> None:
    hits = [hit("I walk along the canal.", FLOOR), hit("It was foggy.", LEAST + 0.01), hit("Tom snores.", LEAST)]
    assert fitting("Do I like strolling?", hits) == hits[:2]
    assert fitting("Do I like strolling?", hits[1:]) == []


def test_what_the_query_quotes_keeps_a_hit() -> None:
    hits = [hit("It lies in etc.", 0.0, Signals(exact=1.0)), hit("It rains.", 0.0)]
    assert fitting("Who changed `app.yaml`?", hits) == hits[:1]


@pytest.mark.parametrize(
    ("query", "kept"), [("What did I do last week?", 1), ("上周我做了什么？", 1), ("Last week!", 0)]
)
def test_a_question_about_a_time_keeps_what_lies_in_it(query: str, kept: int) -> None:
    assert len(fitting(query, [hit("I was in Rome.", 0.0, Signals(temporal=1.0))])) == kept


@pytest.mark.parametrize("empty", ["What did the biopsy show?", "Thanks!", "活检结果怎么样？", "好的，记住了。"])
def test_what_tells_nothing_is_no_memory_however_near(empty: str) -> None:
    near = hit(BIOPSY[0], 0.5)
    assert recollect([], [hit(empty, 0.9), near], "What did the biopsy show?", limit=0, k=9).hits == [near]
    assert recollect([], [hit(empty, 0.9)], "What did the biopsy show?", limit=0, k=9).hits == []


def test_common_words_weigh_more_the_rarer_they_are() -> None:
    rare, common = common_words("boat harbour", ["my boat", "the harbour", "a harbour", "one harbour"])[:2]
    assert rare > common > 0
    assert common_words("the and of", ["the boat"]) == [0.0]
    assert common_words("boat", []) == []


def test_without_nearness_what_stands_next_to_common_words_is_kept() -> None:
    said, beside, far = hit("My boat leaks."), hit("Since May.", None, Signals(neighbours=0.3)), hit("Tom snores.")
    assert fitting("What about my boat?", [said, beside, far]) == [said, beside]


@pytest.mark.parametrize("embedder", ["hashing", "none"])
@pytest.mark.parametrize("lines", [BIOPSY, CHECKUP])
def test_a_recall_finds_what_fits_beside_the_question_itself(opened: Open, embedder: str, lines: list[str]) -> None:
    memory = opened(url="memory://", embedder=embedder)
    for row, line in enumerate(lines):
        memory.scoped(user="ada", session=f"old {row}").remember(line)
    questions = ("When was my biopsy?", "Write me a haiku.") if lines is BIOPSY else ("活检是什么时候？", "写一首诗。")
    found = []
    for question in questions:
        memory.scoped(user="ada", session="new").remember(question)
        hits = [one for one in memory.scoped(user="ada").recall(question, k=8) if one.record.scope.session != "new"]
        found.append(texts(fitting(question, hits)))
    assert found == [[lines[0]], []]


def test_closeness_is_of_each_record_by_itself_and_the_question_counts_for_no_average(opened: Open) -> None:
    lines = [*BIOPSY, "My sister's boat lies in the harbour.", "Rex chased a cat."]
    before = opened(url="memory://", embedder="hashing").scoped(user="ada")
    before.remember([Message(content=text) for text in lines])
    question = "Where is the boat of my sister?"
    near = {one.record.text: one.closeness for one in before.recall(question, k=9)}
    assert max(lines, key=lambda line: near[line] or 0.0) == lines[2]
    before.remember(question)
    again = {one.record.text: one.closeness for one in before.recall(question, k=9)}
    assert [again[line] for line in lines] == pytest.approx([near[line] for line in lines], abs=0.05)


def test_without_a_vector_or_another_record_nothing_tells_how_close_a_hit_is(opened: Open) -> None:
    alone = opened(url="memory://", embedder="hashing").scoped(user="ada")
    alone.remember("I sail.")
    assert [one.closeness for one in alone.recall("sail")] == [None]
