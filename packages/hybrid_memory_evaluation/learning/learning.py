"""Learn from labelled sentences and dialogues, each as the memory of a separate user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import count
from typing import Any

from hybrid_memory import Fact, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.analysis import Example
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError
from hybrid_memory_evaluation.learning.figures import (
    Report,
    calibration,
    described,
    dialogue_figures,
    judged,
    line_figures,
)
from hybrid_memory_evaluation.learning.labelled import Dialogue

MODEL_TIMEOUT = timedelta(minutes=5)
"""The time limit of one answer; no user waits for it."""

MAX_FAILURES = 5
"""The number of consecutive failures after which the model is no longer called."""


class Learner(AbstractContextManager["Learner"]):
    """A context manager that learns from labelled data, in the memory of this process.

    Args:
        reader: the extractor, named as in the setting ``learning.extractor``.
        embedder, model: as for `open_memory`; a model extracts in addition to the extractor.

    Attributes:
        name: the name of the extractor, and of the model.
        embedder: the name of the embedder; None if there is none.
        failures: why the model failed to read something.
    """

    def __init__(self, reader: str, *, embedder: Any = None, model: Any = None) -> None:
        config = MemoryConfig(url="memory://")
        quiet = {
            "learning": config.learning.model_copy(update={"background": False, "extractor": reader}),
            "orchestration": config.orchestration.model_copy(update={"background": False}),
            "compaction": config.compaction.model_copy(update={"model_timeout": MODEL_TIMEOUT}),
        }
        self._memory: HybridMemory = open_memory(
            config.model_copy(update=quiet), embedder=embedder, language_model=model
        )
        self.name = reader if model is None else f"{reader} + model"
        self.embedder = embedder if isinstance(embedder, str | None) else getattr(embedder, "name", None)
        self.failures: list[str] = []
        self._failed = 0
        self._users = count(1)

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def report(
        self, examples: Sequence[Example], dialogues: Sequence[Dialogue], advance: Progress = lambda *_: None
    ) -> Report:
        """The report on how well it learns, from each sentence and each dialogue.

        Raises:
            ModelError: the model failed repeatedly.
        """
        total = len(examples) + len(dialogues)
        learned = []
        for number, turns in enumerate([*map(_said, examples), *(dialogue.turns for dialogue in dialogues)], 1):
            learned.append(self._learned(turns))
            advance(number, total)
        lines = [judged(one, facts) for one, facts in zip(examples, learned, strict=False)]
        return Report(
            reader=self.name,
            embedder=self.embedder,
            figures=line_figures(lines) if lines else (),
            calibration=calibration(lines),
            dialogues=dialogue_figures(dialogues, learned[len(examples) :]),
            lines=[described(line) for line in lines],
            failures=tuple(self.failures),
        )

    def _learned(self, turns: Iterable[tuple[str, str]]) -> list[Fact]:
        """The facts after these turns, including former ones."""
        memory = self._memory.scoped(user=f"labelled-{next(self._users)}", session="labelled")
        memory.remember([{"role": role, "content": text} for role, text in turns])
        try:
            memory.learn(progress=False)
            self._failed = 0
        except ModelError as error:
            self.failures.append(str(error))
            self._failed += 1
            if self._failed == MAX_FAILURES:
                raise
        return list(memory.facts(history=True))


def _said(example: Example) -> list[tuple[str, str]]:
    before = [("assistant", example.before)] if example.before else []
    return [*before, ("user", example.text)]
