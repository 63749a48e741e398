"""How sure a recall is of what it found, and what of it may stand in a prompt as memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid_memory import Hit, MemoryConfig, Message, Record, Scope, Signals, Weights
from hybrid_memory.context.memories import fitting
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.recall.confidence import EVEN, LEARNED_FROM, SMALLER, answered, confidence
from hybrid_memory.recall.curves import Curve

if TYPE_CHECKING:
    from tests.faces import Face, Open

BIOPSY = ["I had a biopsy last week, the result comes on Friday.", "Delete the staging database tonight."]
CHECKUP = ["我上周做了活检，周五出结果。", "今晚删除测试数据库。"]
EVEN_ODDS = 0.5
BY_DEFAULT = MemoryConfig().prompt.min_confidence
"""What prompts ask for."""


def hit(text: str, sure: float | None, signals: Signals | None = None) -> Hit:
    record = Record(1, Scope(user="ada"), text=text, at=datetime.now(UTC), sources=("e",), segment=1, ordinal=0)
    return Hit(record, 0.5, signals or Signals(), Weights(), confidence=sure)


def texts(hits: list[Hit]) -> list[str]:
    return [found.record.text for found in hits]


def test_one_hit_must_be_sure_and_a_quarter_of_it_is_enough_beside() -> None:
    hits = [hit("I walk along the canal.", 0.5), hit("It was foggy.", 0.13), hit("Tom snores.", 0.12)]
    assert fitting(hits, EVEN_ODDS) == hits[:2]
    assert fitting(hits[1:], EVEN_ODDS) == []
    assert fitting(hits, 0.0) == hits


def test_where_nothing_tells_how_sure_a_hit_is_common_words_keep_it() -> None:
    hits = [hit("My boat leaks.", None, Signals(text=0.4)), hit("Tom snores.", None)]
    assert fitting(hits, EVEN_ODDS) == hits[:1]


def test_the_best_has_the_confidence_of_the_question_and_others_less_by_how_far_they_are_behind() -> None:
    scores, asked_for = np.array([0.8, 0.4, 0.2, 0.2]), np.array([False, False, True, False])
    assert confidence(0.6, scores, asked_for).tolist() == pytest.approx([0.6, 0.2, EVEN, 0.0])
    assert confidence(0.6, np.ones(2), asked_for[:2]).tolist() == [0.6, 0.6]
    assert confidence(0.6, scores[:0], asked_for[:0]).shape == (0,)


def test_the_same_evidence_tells_more_in_a_smaller_store() -> None:
    told, curves = {"closest": 0.5}, {"closest": Curve(np.array([0.0, 1.0]), np.array([0.0, 2.0]))}
    odds = [share / (1 - share) for share in (answered(told, curves, -1.0, count) for count in (24, 240, 2400))]
    assert odds == pytest.approx([(LEARNED_FROM / 24) ** SMALLER, 1.0, 1.0])
    assert answered(told, curves, -1.0) == 0.5


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
        found.append(texts(fitting(hits, BY_DEFAULT)))
    assert found == [[lines[0]], []]


def test_similarity_is_of_each_record_by_itself_and_the_question_counts_for_no_average(opened: Open) -> None:
    lines = [*BIOPSY, "My sister's boat lies in the harbour.", "Rex chased a cat."]
    before = opened(url="memory://", embedder="hashing").scoped(user="ada")
    before.remember([Message(content=text) for text in lines])
    question = "Where is the boat of my sister?"
    near = {one.record.text: one.similarity for one in before.recall(question, k=9)}
    assert max(lines, key=lambda line: near[line] or 0.0) == lines[2]
    before.remember(question)
    again = {one.record.text: one.similarity for one in before.recall(question, k=9)}
    assert [again[line] for line in lines] == pytest.approx([near[line] for line in lines], abs=0.05)


def test_without_a_vector_or_another_record_nothing_tells_how_close_a_hit_is(opened: Open) -> None:
    alone = opened(url="memory://", embedder="hashing").scoped(user="ada")
    alone.remember("I sail.")
    assert [one.similarity for one in alone.recall("sail")] == [None]


FOREIGN = "What is the capital of Mongolia?"
SAID = [
    "My boat lies in the harbour of Porto.",
    "I had a biopsy last week, the result comes on Friday.",
    "Our nightly import fails with two loggers.",
    "My sister paints birds in her garden.",
    "We bought a red bicycle for the children.",
    "The dentist moved my appointment to noon.",
]


def test_a_foreign_question_brings_nothing_that_is_sure(face: Face, opened: Open) -> None:
    ada = face(opened(url="memory://", embedder="hashing").scoped(user="ada", session="s"))
    ada.remember(SAID)
    assert len(ada.recall(FOREIGN)) == len(SAID)
    none = ada.recall(FOREIGN, min_confidence=0.5)
    assert (list(none), none.unsure > 0) == ([], True)
    assert "nothing certain" in none._repr_html_()
    found = ada.recall("Where does my boat lie?", min_confidence=0.5)
    assert texts(found)[0] == SAID[0]
    assert all(one.confidence is not None and 0.5 <= one.confidence <= 1 for one in found)


def test_confidence_does_not_depend_on_how_many_are_asked_for(opened: Open) -> None:
    ada = opened(url="memory://", embedder="hashing").scoped(user="ada")
    ada.remember(SAID)
    one, many = (ada.recall("Where does my boat lie?", k=k)[0].confidence for k in (1, 6))
    assert one == pytest.approx(many)


def test_a_hit_tells_its_confidence_everywhere(opened: Open) -> None:
    ada = opened(url="memory://", embedder="hashing").scoped(user="ada")
    ada.remember(SAID)
    (found,) = ada.recall("Where does my boat lie?", k=1)
    told = f"confidence {found.confidence:.2f}"
    assert found.as_metadata()["confidence"] == found.confidence
    assert f"; {told}; from " in found.why()
    assert told in found._repr_html_()
    unknown = replace(found, confidence=None)
    assert "confidence" not in unknown.why() + unknown._repr_html_()


def test_a_memory_can_be_set_to_leave_out_what_is_not_sure(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", embedder="hashing", recall={"min_confidence": 0.5})
    ada = face(memory.scoped(user="ada"))
    ada.remember(SAID)
    assert list(ada.recall(FOREIGN)) == []
    assert len(ada.recall(FOREIGN, min_confidence=0.0)) == len(SAID)
    assert "confidence" in str(ada.why_not(FOREIGN, "#1"))
    assert "does come back" in str(ada.why_not(FOREIGN, "#1", min_confidence=0.0))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "much"])
def test_a_confidence_out_of_range_is_refused(face: Face, opened: Open, wrong: Any) -> None:
    ada = face(opened(url="memory://", embedder="none").scoped(user="ada"))
    with pytest.raises(InvalidInputError, match="min_confidence"):
        ada.recall("boat", min_confidence=wrong)
    with pytest.raises(InvalidConfigError, match="min_confidence"):
        MemoryConfig.of({"recall": {"min_confidence": wrong}})


def test_an_answer_that_is_kept_serves_every_confidence(opened: Open) -> None:
    ada = opened(url="memory://", embedder="hashing").scoped(user="ada")
    ada.remember(SAID)
    assert [len(ada.recall(FOREIGN, min_confidence=least)) for least in (0.5, 0.0, 0.5)] == [0, len(SAID), 0]


def test_prompts_ask_for_a_confidence_of_their_own(opened: Open) -> None:
    shown = []
    for least in (0.0, 0.5):
        memory = opened(url="memory://", embedder="hashing", prompt={"min_confidence": least})
        memory.scoped(user="ada", session="old").remember(SAID)
        shown.append(len(memory.scoped(user="ada", session="new").assemble(FOREIGN).hits))
    assert shown == [len(SAID), 0]


def test_the_question_itself_is_no_answer_to_it(opened: Open) -> None:
    lines = [
        f"I planted {what} in bed {row}, next to the fence." for row, what in enumerate("peas leek dill kale".split())
    ]
    lines += [
        f"The {what} needs new paint before winter." for what in "gate shed bench trellis door window hall roof".split()
    ]
    memory = opened(url="memory://", embedder="hashing")
    memory.scoped(user="ada", session="old").remember(lines)
    unknown, known = "What is the capital of Mongolia?", "Which bed did I plant the dill in?"
    before = {text: memory.scoped(user="ada").recall(text, k=1)[0].confidence or 0.0 for text in (unknown, known)}
    memory.scoped(user="ada", session="new").remember([unknown, known])
    after = [hit.confidence or 0.0 for hit in memory.scoped(user="ada").recall(unknown, k=4)]
    assert max(after) < BY_DEFAULT
    assert max(after) <= before[unknown] + 0.1
    assert max(hit.confidence or 0.0 for hit in memory.scoped(user="ada").recall(known, k=4)) > max(after)


def test_the_question_itself_is_not_what_others_are_measured_by(opened: Open) -> None:
    lines = [f"The {what} needs new paint before winter." for what in "gate shed bench trellis roof".split()]
    memory = opened(url="memory://", embedder="hashing").scoped(user="ada")
    memory.remember([*lines, "In June I painted the bench blue."])
    question = "When did the bench get its colour, in June or later?"
    (before,) = memory.recall(question, k=1)
    memory.remember(question)
    (after,) = [hit for hit in memory.recall(question, k=5) if hit.record.id == before.record.id]
    assert (before.signals.vector, before.signals.text) == (1.0, 1.0)
    assert (after.signals.vector, after.signals.text) == (1.0, 1.0)
