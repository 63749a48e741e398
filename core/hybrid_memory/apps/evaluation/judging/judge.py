"""A language model as a judge of answers, blind to what they came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hybrid_memory.apps.evaluation.judging.asking import BETTER, again, comparing, grade_schema, grading, verdict_schema
from hybrid_memory.apps.evaluation.judging.grade import Grade, Verdict, Winner
from hybrid_memory.apps.evaluation.judging.rubric import BEST, Criterion, criteria
from hybrid_memory.apps.evaluation.probing.probe import Probe
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.log.message import Message
from hybrid_memory.models.port import LanguageModel

T = TypeVar("T")

MAX_PROBLEMS = 3
"""What was wrong with an answer is told with so many examples."""

_NUMBER = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*", re.ASCII)


class Judge:
    """Grades and compares answers by a language model that sees the question, the gold answer, evidence and the answer.

    Args:
        model: what judges.
        retries: how often it is asked again after an answer that cannot be used, or a `ModelError`.

    Raises:
        InvalidInputError: retries is negative.
    """

    def __init__(self, model: LanguageModel, *, retries: int = 2) -> None:
        if retries < 0:
            raise InvalidInputError(f"retries must be 0 or more, got {retries}")
        self.name = model.name
        self._model = model
        self._retries = retries

    def grade(self, probe: Probe, evidence: str, answer: str) -> Grade:
        """The scores by the criteria for this kind of probe; an empty answer gets 0 in all without being asked for.

        A score is never made up: where the last try is malformed too, there are none.
        """
        asked = criteria(probe.kind)
        if not any(char.isprintable() and not char.isspace() for char in answer):
            names = [criterion.name for criterion in asked]
            return Grade(dict.fromkeys(names, 0.0), dict.fromkeys(names, "The answer is empty."))
        question = grading(probe, evidence, answer, asked)
        found, malformed = self._ask(question, grade_schema(asked), lambda value: _scores(value, asked))
        if found is None:
            return Grade(malformed=malformed, failed=True)
        scores, reasons = found
        return Grade(scores, reasons, malformed)

    def compare(self, probe: Probe, evidence: str, one: str, other: str) -> Verdict:
        """Which answer is better: asked in both orders, and a tie where these disagree."""
        named: dict[str, Winner] = {"first": "one", "second": "other", "tie": "tie"}
        named_back: dict[str, Winner] = {"first": "other", "second": "one", "tie": "tie"}
        schema = verdict_schema()
        there, malformed = self._ask(comparing(probe, evidence, one, other), schema, _better)
        if there is None:
            return Verdict("tie", consistent=False, malformed=malformed, failed=True)
        back, more = self._ask(comparing(probe, evidence, other, one), schema, _better)
        if back is None:
            return Verdict("tie", consistent=False, malformed=malformed + more, failed=True)
        consistent = named[there] == named_back[back]
        return Verdict(named[there] if consistent else "tie", consistent, malformed + more)

    def _ask(
        self, question: Sequence[Message], schema: Mapping[str, Any], read: Callable[[Any], T]
    ) -> tuple[T | None, int]:
        """What was read from the first answer that can be used, if there is one, and how many could not."""
        messages = list(question)
        for malformed in range(self._retries + 1):
            try:
                return read(self._model.structured(messages, schema)), malformed
            except ModelError:
                messages = again(question, "there was no JSON object")
            except _MalformedError as error:
                messages = again(question, str(error))
        return None, self._retries + 1


class _MalformedError(ValueError):
    """An answer that cannot be used; says why in words of our own, since those of the answer may repeat its data."""


def _scores(value: Any, asked: Sequence[Criterion]) -> tuple[dict[str, float], dict[str, str]]:
    if not isinstance(value, Mapping):
        raise _MalformedError("it must be a JSON object")
    scores, reasons, problems = {}, {}, []
    for criterion in asked:
        name, entry = criterion.name, value.get(criterion.name)
        entry = entry if isinstance(entry, Mapping) else {}
        score, reason = _number(entry.get("score")), entry.get("reasoning")
        if score is None:
            problems.append(f"the score of {name} must be a number from 0 to {BEST}")
        elif not isinstance(reason, str) or not reason.strip():
            problems.append(f"{name} has no reasoning")
        else:
            scores[name], reasons[name] = score, reason.strip()
    if problems:
        raise _MalformedError("; ".join(problems[:MAX_PROBLEMS]))
    return scores, reasons


def _number(value: Any) -> float | None:
    """The score, if it is one; a string that is a number counts as one."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= BEST else None  # NaN is in no range


def _better(value: Any) -> str:
    better = value.get("better") if isinstance(value, Mapping) else None
    word = better.strip().lower() if isinstance(better, str) else ""
    if word not in BETTER:
        raise _MalformedError('better must be "first", "second" or "tie"')
    return word
