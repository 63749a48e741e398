"""Language models for tests, which follow a script or fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Fault = Literal["raises", "hangs", "empty", "rubbish", "broken JSON", "other schema"]

_ANSWERS: dict[Fault, str] = {
    "empty": " \n",
    "rubbish": "As a large bird I cannot read. 我不知道。",
    "broken JSON": '"summary": ["one"], "facts": [}',
    "other schema": '{"weather": {"today": ["rain", 7]}, "facts": "none", "summary": 3}',
}


class ScriptedModel:
    """Returns the given answers, one per call; raises `IndexError` when none are left.

    Pass it wherever a language model is accepted.

    Args:
        answers: texts, or objects to return as JSON.

    Attributes:
        prompts: the messages of each call so far.
    """

    name = "scripted"

    def __init__(self, answers: Iterable[str | Mapping[str, Any]]) -> None:
        self.prompts: list[list[dict[str, str]]] = []
        self._answers = iter(answers)
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The next answer."""
        with self._lock:
            self.prompts.append(messages)
            answer = next(self._answers, None)
        if answer is None:
            raise IndexError(f"no answer is left for call {len(self.prompts)}")
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


class FaultyModel:
    """Fails at every call, always in the same way.

    Pass it wherever a language model is accepted. The answer of "other schema" is valid JSON.

    Args:
        fault: how it fails; a call that hangs returns after a minute, or when `release` is called.

    Attributes:
        calls: the number of calls so far.
    """

    name = "faulty"

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.calls = 0
        self._lock = threading.Lock()
        self._released = threading.Event()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """An answer that no caller can use, or an exception."""
        with self._lock:
            self.calls += 1
        if self.fault == "raises":
            raise ConnectionError("model host is offline")
        if self.fault == "hangs":
            self._released.wait(60)
            return "too late"
        return _ANSWERS[self.fault]

    def release(self) -> None:
        """Let hanging calls return; later calls do not hang."""
        self._released.set()
