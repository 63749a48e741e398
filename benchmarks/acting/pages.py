"""A page of prompts as they were sent: what was said before, each prompt word for word, and what the model did."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.acting.prompts import Call, Prompt
from benchmarks.acting.running import Outcome
from benchmarks.acting.tasks import HOSTS, MAIN, Edit, Pause, Regenerate, Remove, Return, Say, Step, Task

CHOSEN = {
    "next-week-allergy-zh-chain": "A chain is asked next week, in another thread, about something said in passing.",
    "profile-en-agent": "What is known of the user, and what they said, stand in front of their question.",
}
"""Tasks, and what is to be seen in each."""

HEAD = """# Real prompts

Prompts of two tasks of the [acting benchmark](benchmarks.md#tasks-that-an-agent-must-finish), exactly as the host sent
them to the model, with every default. [What the model sees](prompts.md) explains them. `── user` names who speaks.
This page is generated:

```bash
python benchmarks/acting --pages docs/real-prompts.md
```
"""

SAID_BEFORE = 6
"""Steps before the last one that are told; of more of them the first and the last ones."""


def page(ran: Callable[[Task], Outcome], tasks: dict[str, Task]) -> str:
    """The page, of the last turn of each chosen task."""
    return "\n".join([HEAD, *("\n".join(section(ran(tasks[name]))) for name in CHOSEN)])


def section(outcome: Outcome) -> Iterator[str]:
    """Lines and paragraphs about one task."""
    task = outcome.task
    yield f"## {task.name}\n\n{CHOSEN[task.name]} The host is `{HOSTS[task.host]}`.\n"
    yield "\n".join(_before(task)) + "\n"
    said, prompts, answer = outcome.turns[-1]
    for number, prompt in enumerate(prompts, 1):
        which = f"prompt {number} of {len(prompts)}" if len(prompts) > 1 else "the prompt"
        tools = ", ".join(f"`{name}`" for name in prompt.tools) or "none"
        yield f"**{said}**: {which}, {prompt.tokens:,} tokens with the tools; tools bound: {tools}\n"
        yield f"````text\n{_written(prompt)}\n````\n"
        done = _calls(prompts[number]) if number < len(prompts) else f"answered:\n\n````text\n{answer.strip()}\n````"
        yield f"The model {done}\n"


def _before(task: Task) -> Iterator[str]:
    *steps, _ = task.script
    told = [f"- {_told(step)}" for step in steps]
    if len(told) > SAID_BEFORE:
        half = SAID_BEFORE // 2
        told[half:-half] = [f"- … {len(told) - SAID_BEFORE} more turns"]
    yield from ["What happened before:\n", *told] if told else []


def _told(step: Step) -> str:
    match step:
        case Say():
            where = "" if step.thread == MAIN else f" in the thread `{step.thread}`"
            return f"the user says “{step.text}”{where}"
        case Pause():
            return f"{step.days} {'day passes' if step.days == 1 else 'days pass'}"
        case Regenerate():
            return "the user asks for the last answer again"
        case Remove():
            return f"“{step.words}” and the answer to it are removed from the state"
        case Edit():
            return f"“{step.words}” is edited to “{step.now}”"
        case Return():
            return f"the conversation goes back to turn {step.turn}"


def _written(prompt: Prompt) -> str:
    texts = (str(said).removeprefix(f"{said.speaker}: ").strip("\n") for said in prompt.messages)
    return "\n\n".join(f"── {said.speaker}\n{text}" for said, text in zip(prompt.messages, texts, strict=True))


def _calls(after: Prompt) -> str:
    """What was called between this prompt and the one before."""
    calls = [said.calls for said in after.messages if said.calls][-1]
    return f"called {', '.join(_call(call) for call in calls)}."


def _call(call: Call) -> str:
    return f"`{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})`"
