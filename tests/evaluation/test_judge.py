from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import ModelError
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.scores import Dimension, Grade, criteria
from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind

PROBE = Probe("p1", ProbeKind.RECALL, "Which city?", "Porto, 里斯本 before", ("Porto",), ("m1",))
NAMES = [criterion.name for criterion in criteria(PROBE.kind)]


class Scripted:
    """A `LanguageModel` that answers by a function of the data it is shown, or what comes next in a list."""

    name = "scripted"

    def __init__(self, answers: Callable[[dict[str, str]], Any] | Sequence[Any]) -> None:
        self._answers = answers
        self.asked: list[Sequence[Message]] = []

    def complete(self, messages: Sequence[Message]) -> str:
        raise AssertionError("a judge asks for objects")

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> Any:
        self.asked.append(messages)
        if callable(self._answers):
            return self._answers(json.loads(messages[-1].text.splitlines()[1]))
        answer = self._answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def filled(score: Any = 4, **other: Any) -> dict[str, Any]:
    """An answer that gives every criterion this score, and some another entry."""
    return {**{name: {"reasoning": "It agrees.", "score": score} for name in NAMES}, **other}


def test_a_grade_holds_the_scores_the_reasons_and_what_they_come_to() -> None:
    scores = dict(zip(NAMES, [5, 2.5, 3, 4, 4, 1, 2], strict=True))
    answer = {name: {"reasoning": f" about {name} ", "score": score} for name, score in scores.items()}
    grade = Judge(Scripted([answer])).grade(PROBE, "evidence", "Porto")
    assert grade.scores == scores
    assert grade.reasons == {name: f"about {name}" for name in NAMES}
    assert (grade.malformed, grade.failed) == (0, False)
    assert grade.dimensions == pytest.approx(
        {Dimension.ACCURACY: 4, Dimension.CONTEXT: 3, Dimension.COMPLETENESS: 4, Dimension.INSTRUCTION: 1.5}
    )
    assert grade.overall == pytest.approx(3.125)


@pytest.mark.parametrize("kind", list(ProbeKind))
def test_exactly_the_criteria_of_the_kind_are_asked_for_reasoning_first(kind: ProbeKind) -> None:
    seen: list[Mapping[str, Any]] = []

    class Reader(Scripted):
        def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> Any:
            seen.append(schema)
            assert all(f"- {name}: " in messages[0].text for name in schema["required"])
            return {name: {"reasoning": "so", "score": 1} for name in schema["required"]}

    probe = Probe("p", kind, "What?", "That", ("That",), ())
    grade = Judge(Reader([])).grade(probe, "", "This")
    names = [criterion.name for criterion in criteria(kind)]
    assert list(grade.scores) == names == list(seen[0]["properties"])
    assert all(list(entry["properties"]) == ["reasoning", "score"] for entry in seen[0]["properties"].values())


MALFORMED = {
    "too high": filled(5.01),
    "negative": filled(-0.5),
    "not a number": filled(math.nan),
    "infinite": filled(math.inf),
    "boolean": filled(True),
    "word": filled("four"),
    "fraction": filled("4/5"),
    "NaN as text": filled("nan"),
    "text too high": filled("40"),
    "underscored": filled("0_4"),
    "nothing": filled(None),
    "list": filled([4]),
    "huge": filled(10**400),
    "one criterion is missing": {name: entry for name, entry in filled().items() if name != NAMES[3]},
    "one is a bare number": filled(**{NAMES[0]: 4}),
    "no reasoning": filled(**{NAMES[0]: {"score": 4}}),
    "blank reasoning": filled(**{NAMES[0]: {"score": 4, "reasoning": " \n"}}),
    "reasoning is no text": filled(**{NAMES[0]: {"score": 4, "reasoning": 7}}),
    "empty": {},
    "another object": {"weather": "rain"},
    "no object": ["4"],
    "model error": ModelError("offline"),
}


@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_cannot_be_used_is_counted_and_asked_for_again(bad: Any) -> None:
    model = Scripted([bad, bad, filled(3)])
    grade = Judge(model).grade(PROBE, "evidence", "Porto")
    assert grade.scores == dict.fromkeys(NAMES, 3.0)
    assert (grade.malformed, grade.failed, len(model.asked)) == (2, False, 3)


@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_score_is_never_made_up(bad: Any) -> None:
    model = Scripted([bad] * 4)
    grade = Judge(model).grade(PROBE, "evidence", "Porto")
    assert grade == Grade(malformed=3, failed=True)
    assert grade.overall is None
    assert len(model.asked) == 3


@pytest.mark.parametrize("answer", ["", " \n\t", "\x00", "\u200b\u202e\ufeff", "　"])
def test_an_empty_answer_gets_zero_without_a_call(answer: str) -> None:
    model = Scripted([])
    grade = Judge(model).grade(PROBE, "evidence", answer)
    assert grade.scores == dict.fromkeys(NAMES, 0.0)
    assert set(grade.reasons.values()) == {"The answer is empty."}
    assert grade.overall == 0
    assert not grade.failed
    assert model.asked == []
