"""The host's state is the truth about a conversation: regenerated, removed, edited, gone back to; and sub-agents."""

import re
from collections.abc import Iterator

from benchmarks.acting.policies import Reply, Rule, gossip
from benchmarks.acting.prompts import Call, Prompt
from benchmarks.acting.tasks import (
    WORDS,
    Checks,
    Edit,
    Language,
    Pause,
    Regenerate,
    Remove,
    Return,
    Say,
    Subagent,
    Task,
)

BOATS: dict[Language, tuple[str, str, str, str]] = WORDS["boats"]
PINS: dict[Language, tuple[str, str, str, str]] = WORDS["pins"]
BUDGETS: dict[Language, tuple[str, str, str, str]] = WORDS["budgets"]
MEETINGS: dict[Language, tuple[str, str, str, str]] = WORDS["meetings"]
CITIES: dict[Language, tuple[str, str]] = {"en": ("Lisbon", "Oslo"), "zh": ("里斯本", "奥斯陆")}

RESEARCH: dict[Language, dict[str, str]] = WORDS["research"]


def regeneration(language: Language, *, checkpointer: bool) -> Task:
    """The last answer again: it must not stand in the prompt, and what was asked stands there once."""
    boat, suggest, count, name = BOATS[language]

    def counted(prompt: Prompt, _said: re.Match[str]) -> Reply:
        asked = sum(message.text.count(suggest) for message in prompt.messages if message.speaker == "user")
        given = sum(name in message.text for message in prompt.messages if message.speaker == "assistant")
        return f"{asked} / {given}"

    return Task(
        "regenerate", language, "agent", variant="" if checkpointer else "without-checkpointer",
        checkpointer=checkpointer,
        script=[
            Say(boat), Say(suggest, Checks(name)), Regenerate(Checks(name, hidden=name)), Say(count, Checks("1 / 1")),
        ],
        rules=[Rule(re.escape(count), react=counted), Rule(re.escape(suggest), answer=name)],
    )  # fmt: skip


def removal(language: Language) -> Task:
    """What was taken out of the state is shown to nobody."""
    pin, tea, ask, answer = PINS[language]
    return Task(
        "remove", language, "agent",
        script=[Say(pin), Say(tea), Remove("4821"), Say(ask, Checks(answer, never="4821", hidden="4821"))],
        rules=[Rule(re.escape(ask), react=gossip(""))],
    )  # fmt: skip


def edition(language: Language) -> Task:
    """An older message edited under its id shows its new words only."""
    budget, place, ask, find = BUDGETS[language]
    return Task(
        "edit", language, "agent",
        script=[
            Say(budget.format(500)), Say(place), Edit("500", budget.format(900)),
            Say(ask, Checks("900", hidden="500")),
        ],
        rules=[Rule(re.escape(ask), find=[find], answer="{0}")],
    )  # fmt: skip


def travel(language: Language) -> Task:
    """Back to an earlier checkpoint, then on in either branch; each knows its own words only."""
    first, second, ask, find = MEETINGS[language]
    one, two = CITIES[language]
    early = Checks(one, hidden=two)
    return Task(
        "time-travel", language, "agent",
        script=[
            Say(first), Say(second), Return(1), Say(ask, early), Pause(1),
            Return(2), Say(ask, Checks(two)), Return(3), Say(ask, early),
        ],
        rules=[Rule(re.escape(ask), find=[find], answer="{0}")],
    )  # fmt: skip


def research(language: Language, *, checkpointer: bool) -> Task:
    """An agent inside a tool of another: it finishes, and its question is no turn of the user's."""
    words = RESEARCH[language]
    foreign = words["question"].partition("{0}")[0]
    checks = Checks(not_user=foreign)
    return Task(
        "sub-agent", language, "agent", variant="" if checkpointer else "without-checkpointer",
        checkpointer=checkpointer, texts={words["sub"].split("(")[1].partition(")")[0]: words["text"]},
        script=[
            Say(words["ask"], Checks("17", not_user=foreign)), Say(words["then"], checks),
            Say(words["ask"], Checks("17", not_user=foreign)),
        ],
        rules=[
            Rule(
                words["when"], first=[Call("ask_researcher", {"question": words["question"]})], find=[words["find"]],
                answer="{1}",
            )
        ],
        subagent=Subagent(
            [Rule(words["sub"], first=[Call("look_up", {"topic": "{0}"})], find=[f"({words['text']})"], answer="{1}")],
            ["look_up"],
        ),
    )  # fmt: skip


def tasks() -> Iterator[Task]:
    """Of `create_agent`, which keeps a state."""
    for language in ("en", "zh"):
        yield regeneration(language, checkpointer=True)
        yield regeneration(language, checkpointer=False)
        yield removal(language)
        yield edition(language)
        yield travel(language)
        yield research(language, checkpointer=True)
        yield research(language, checkpointer=False)
