from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory_evaluation import Evaluation, Probe, ProbeKind, Report, Setting, Transcript
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.scores import Grade

ASKED = ("sliding-window", "anchored-alone", "none")
Options = dict[str, Any]


class Broken:
    """A method that fails while it replays."""

    name = "broken"

    def replay(self, setting: Setting) -> AbstractContextManager[Any]:
        raise RuntimeError("out of order")


@pytest.fixture(scope="module")
def options(chat: Transcript, probes: Sequence[Probe]) -> Options:
    return {"transcripts": [chat], "methods": ASKED, "max_tokens": 400, "probes": {"chat": probes}}


@pytest.fixture(scope="module")
def report(options: Options) -> Report:
    return Evaluation(**options).run()


def test_a_window_forgets_what_a_summary_keeps(report: Report) -> None:
    window, anchored, whole = report.methods
    assert window.survival == pytest.approx(1 / 3)
    assert anchored.survival == whole.survival == 1
    assert whole.ratio == pytest.approx(1, abs=0.05)
    assert anchored.ratio > 2
    assert whole.over > 0
    assert window.over == anchored.over == 0
    assert whole.prompts == window.prompts == 31


def test_the_same_run_gives_the_same_figures(options: Options, report: Report) -> None:
    again = Evaluation(**options).run()
    assert again.outcomes == report.outcomes


def test_a_method_that_fails_is_reported_and_the_others_go_on(options: Options) -> None:
    made = Evaluation(**{**options, "methods": [Broken(), "none"]}).run()
    assert [one.method for one in made.methods] == ["none"]
    assert made.failures == ("broken on chat: RuntimeError: out of order",)
    with pytest.raises(InvalidInputError, match="out of order"):
        Evaluation(**{**options, "methods": [Broken()]}).run()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"transcripts": []}, "no transcripts"), ({"max_tokens": 100_000}, "chat fits into 100000 tokens"),
        ({"max_tokens": 0}, "max_tokens=0"), ({"repeats": 0}, "repeats=0"), ({"written": 3}, "give model="),
        ({"judge": print}, "give model="), ({"methods": ["nothing"]}, "'nothing'"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "", (), ("turn-1",))]}}, "no keys"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "a", ("a",), ("turn-99",))]}}, "unknown sources"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "a", ("a",), ("turn-1",))] * 2}}, "the same id"),
        ({"probes": {"chat": []}}, "has nothing to ask about"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_at_once(changed: Options, told: str, options: Options, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=told):
        Evaluation(**{**options, **changed, "folder": tmp_path / "kept"})
    assert not (tmp_path / "kept").exists()


class Answers:
    """Answers from what it is shown, grades by the length of what it reads, and fails when it is told to."""

    def __init__(self, scripted: Any, fails: int = 0) -> None:
        self.answers = self.grades = self.failed = 0
        self._fails = fails
        self.model = scripted(self.complete, self.structured)

    def complete(self, sent: str) -> str:
        self.answers += 1
        if self._fails:
            self._fails -= 1
            self.failed += 1
            raise ModelError("overloaded")
        return "It is QX4471." if "QX4471" in sent else "I don't know."

    def structured(self, sent: str, schema: Any) -> dict[str, Any]:
        if "accuracy_factual" not in schema["properties"]:
            raise ModelError("no summaries")
        self.grades += 1
        score = 5 if '"answer": "It is QX4471."' in sent else 1
        return {name: {"reasoning": "so it is", "score": score} for name in schema["properties"]}


def test_a_model_answers_and_a_judge_grades(options: Options, scripted: Any) -> None:
    script = Answers(scripted)
    evaluation = Evaluation(**options, model=scripted(script.complete), judge=script.model)
    estimate = evaluation.estimate()
    made = evaluation.run()
    assert (script.answers, script.grades) == (9, 18)
    assert (estimate.answers, estimate.grades) == (9, 18)
    window, anchored, whole = made.methods
    assert window.in_answer == 0
    assert anchored.in_answer == whole.in_answer == pytest.approx(1 / 3)
    assert window.scores is not None
    assert window.scores.overall is not None
    assert window.scores.overall.mean == 1
    assert anchored.scores is not None
    assert anchored.scores.overall is not None
    assert anchored.scores.overall.mean == 5
    judging = made.judging
    assert judging is not None
    assert (judging.agreement, judging.noise) == (1, 0)
    assert judging.agreed_on == 2 * 2 * 2
    assert all(len(outcome.scores) == 2 for outcome in made.outcomes)


def test_a_run_is_continued(options: Options, scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Evaluation(**options, model=Answers(scripted).model).run()

    first = Answers(scripted)
    grade = Judge.grade

    def interrupted(judge: Judge, probe: Probe, evidence: str, answer: str) -> Grade:
        if first.grades == 7:
            raise KeyboardInterrupt
        return grade(judge, probe, evidence, answer)

    evaluation = Evaluation(**options, model=first.model, folder=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Judge, "grade", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluation.run()
    second = Answers(scripted)
    made = Evaluation(**options, model=second.model, folder=tmp_path).run()
    assert (second.answers, second.grades) == (0, 18 - 7)
    assert [(one.method, one.survival, one.in_answer, one.scores) for one in made.methods] == [
        (one.method, one.survival, one.in_answer, one.scores) for one in whole.methods
    ]
    third = Answers(scripted)
    Evaluation(**options, model=third.model, folder=tmp_path).run()
    assert (third.answers, third.grades) == (0, 0)


def test_missing_answers_are_reported_and_asked_for_again(options: Options, scripted: Any, tmp_path: Path) -> None:
    script = Answers(scripted, fails=2)
    made = Evaluation(**options, model=script.model, folder=tmp_path).run()
    assert len([failure for failure in made.failures if "overloaded" in failure]) == 2
    assert sum(outcome.answer is None for outcome in made.outcomes) == 2
    again = Answers(scripted)
    whole = Evaluation(**options, model=again.model, folder=tmp_path).run()
    assert again.answers == 2
    assert whole.failures == ()
