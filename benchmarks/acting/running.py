"""One task with one system: whether it is finished, and if not why."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from benchmarks.acting.langchain_agent import AgentConversations
from benchmarks.acting.langchain_chain import ChainConversations
from benchmarks.acting.llamaindex_hosts import EngineConversations, FunctionConversations
from benchmarks.acting.models import WINDOW, Watched
from benchmarks.acting.policies import Obedient, Rule
from benchmarks.acting.prompts import Call, Prompt
from benchmarks.acting.surroundings import Conversations, Stateful, Surroundings, System
from benchmarks.acting.tasks import Checks, Edit, Host, Pause, Regenerate, Remove, Return, Say, Step, Task
from benchmarks.acting.world import World

CONVERSATIONS: dict[Host, Any] = {
    "agent": AgentConversations,
    "function": FunctionConversations,
    "chain": ChainConversations,
    "engine": EngineConversations,
}
OFFERED: dict[System, Sequence[Host]] = {
    "ours": ("agent", "function", "chain", "engine"), "bare": ("agent", "function", "chain", "engine"),
    "summarization": ("agent",), "stock": ("function", "chain", "engine"), "langmem": ("agent",),
}  # fmt: skip
"""The hosts that a system is made for."""


class UnfinishedError(Exception):
    """What was to be seen was not."""


@dataclass(slots=True)
class Outcome:
    """What came of a task.

    Attributes:
        reason: why it is not finished; empty if it is.
        turns: what was said in each step, the prompts for it, and the answer.
    """

    task: Task
    system: System
    reason: str = ""
    turns: list[tuple[str, Sequence[Prompt], str]] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether all was seen that was to be."""
        return not self.reason

    @property
    def tokens(self) -> list[int]:
        """Of the prompts."""
        return [prompt.tokens for _, prompts, _ in self.turns for prompt in prompts]


def run(task: Task, system: System, embedder: Any) -> Outcome:
    """What comes of the task with this system; an error of the host's is a reason too."""
    subagent = None if task.subagent is None else _watched(task, task.subagent.rules)
    world, watched = World(task.texts), _watched(task, task.rules)
    around = Surroundings(task, system, embedder, world, watched, subagent)
    outcome = Outcome(task, system)
    try:
        _run(around, outcome)
    except UnfinishedError as reason:
        outcome.reason = str(reason)
    except Exception as error:  # noqa: BLE001 - whatever ends the run is why the task is not finished
        outcome.reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
    finally:
        around.close()
    return outcome


def _watched(task: Task, rules: Sequence[Rule]) -> Watched:
    return Watched(Obedient(rules, task.acknowledgement), task.window or WINDOW, transcript=task.transcript)


def _run(around: Surroundings, outcome: Outcome) -> None:
    conversations: Conversations = CONVERSATIONS[around.task.host](around)
    try:
        for step in around.task.script:
            seen = len(around.watched.prompts)
            answer = ""
            try:
                answer = _take(conversations, step, around)
            finally:
                prompts = around.watched.prompts[seen:]
                if isinstance(step, Say | Regenerate):
                    outcome.turns.append((step.text if isinstance(step, Say) else "(regenerate)", prompts, answer))
            if isinstance(step, Say | Regenerate):
                _check(step.checks, answer, prompts)
                around.passed()
        _check_done(around.task.done, around.world.done)
    finally:
        conversations.close()


def _take(conversations: Conversations, step: Step, around: Surroundings) -> str:
    stateful = cast("Stateful", conversations)
    match step:
        case Say():
            return conversations.say(step)
        case Regenerate():
            return stateful.regenerate()
        case Pause():
            around.passed(timedelta(days=step.days))
        case Remove():
            stateful.remove(step.words)
        case Edit():
            stateful.edit(step.words, step.now)
        case Return():
            stateful.back(step.turn)
    return ""


def _check(checks: Checks, answer: str, prompts: Sequence[Prompt]) -> None:
    if not prompts:
        raise UnfinishedError("the model was not asked")
    if checks.answer and not re.search(checks.answer, answer):
        raise UnfinishedError(f"answered {_short(answer)!r}, not {checks.answer!r}")
    if checks.never and (found := re.search(checks.never, answer)):
        raise UnfinishedError(f"said {found[0]!r}")
    for prompt in prompts:
        texts = [text for message in prompt.messages for text in (message.text, *message.media)]
        if checks.hidden and (found := re.search(checks.hidden, "\n".join(texts))):
            raise UnfinishedError(f"was shown {found[0]!r}")
        for speaker, pattern in (("user", checks.not_user), ("system", checks.not_system)):
            words = "\n".join(message.words for message in prompt.messages if message.speaker == speaker)
            if pattern and (found := re.search(pattern, words)):
                raise UnfinishedError(f"was shown {found[0]!r} as words of the {speaker}")
        if checks.shown and not re.search(checks.shown, "\n".join(texts)):
            raise UnfinishedError(f"was not shown {checks.shown!r}")


def _check_done(wanted: Sequence[Call], done: Sequence[Call]) -> None:
    missing, more = list(wanted), []
    for call in done:
        if call in missing:
            missing.remove(call)
        else:
            more.append(call)
    if missing or more:
        parts = [f"did not {_told(call)}" for call in missing] + [
            f"did {_told(call)} unasked or again" for call in more
        ]
        raise UnfinishedError("; ".join(parts))


def _told(call: Call) -> str:
    return f"{call.name}({', '.join(_short(str(value)) for value in call.arguments.values())})"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def quiet() -> None:
    """Without what hosts and memories log of failures: those are counted."""
    logging.disable(logging.ERROR)
