from __future__ import annotations

from hybrid_memory.ports import LanguageModel
from hybrid_memory_evaluation import Probe, ProbeKind
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.replaying import answered

LOCKER = Probe("locker", ProbeKind.RECALL, "Which number has my locker?", "QX4471", ("QX4471",), ("turn-1",))


def test_a_small_model_answers_from_the_prompt(local_model: LanguageModel) -> None:
    prompt = [
        {"role": "user", "content": "My locker at the station has the number QX4471."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": LOCKER.question},
    ]
    assert LOCKER.share(answered(local_model, prompt, LOCKER.question)) == 1


def test_the_grade_of_a_small_judge_can_be_read(local_model: LanguageModel) -> None:
    evidence = "user: My locker at the station has the number QX4471."
    grade = Judge(local_model).grade(LOCKER, evidence, "It has the number QX4471.")
    # What so small a model's scores are worth is not asserted.
    assert not grade.failed
    assert all(0 <= score <= 5 for score in grade.scores.values())
