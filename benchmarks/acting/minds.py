"""What is known of a user: next week, after a change of mind, and orders that were carried out long ago."""

import re
from collections.abc import Iterator

from benchmarks.acting.policies import UNKNOWN, Reply, Rule, read_on
from benchmarks.acting.prompts import Call, Prompt
from benchmarks.acting.tasks import WORDS, Checks, Host, Language, Pause, Say, Step, Task

FACTS: dict[Language, dict[str, tuple[str, str, str, str]]] = WORDS["facts"]
"""What is said, what is asked a week later, where it stands, and the answer."""

SMALL: dict[Language, tuple[str, ...]] = WORDS["small"]
HOMES: dict[Language, dict[str, str | tuple[str, ...]]] = WORDS["homes"]
DONE: dict[Language, dict[str, str]] = WORDS["done"]
TASTES: dict[Language, tuple[str, str, str, str, str]] = WORDS["tastes"]
"""What is said and asked, where it is told what is avoided, what is avoided, and what is not."""


def tastes(language: Language, host: Host) -> Task:
    """Likes and dislikes, told in one sentence, by a reader who believes every line."""
    said, asked, find, avoided, liked = TASTES[language]

    def told(prompt: Prompt, _said: re.Match[str]) -> Reply:
        found = [part for message in prompt.messages for part in re.findall(find, message.text)]
        more = None if found else read_on(prompt, avoided)
        return [more] if more else "; ".join(found) or UNKNOWN

    return Task(
        "profile", language, host,
        script=[Say(said, thread="monday"), Pause(7), Say(asked, Checks(avoided, never=liked), thread="friday")],
        rules=[Rule(re.escape(asked), react=told)],
    )  # fmt: skip


def next_week(language: Language, host: Host, fact: str) -> Task:
    """Asked in another thread, a week later."""
    said, asked, find, answer = FACTS[language][fact]
    script = [Say(said, thread="monday"), *(Say(text, thread="monday") for text in SMALL[language])]
    return Task(
        "next-week", language, host, variant=fact, transcript=host == "chain" and language == "en",
        script=[*script, Pause(7), Say(asked, Checks(answer), thread="friday")],
        rules=[Rule(asked.rstrip("?？"), find=[find], seek=[answer], answer="{0}")],
    )  # fmt: skip


def change(language: Language, host: Host, *, elsewhere: bool) -> Task:
    """A change of mind: in the thread and asked in another, or in another thread while this one is open."""
    words = HOMES[language]
    before, after, ask = str(words["before"]), str(words["after"]), str(words["ask"])
    small = [Say(text) for text in SMALL[language]]
    checks = Checks(str(words["answer"]), never=str(words["never"]))
    script: list[Step] = [Say(before), *small]
    if elsewhere:
        script += [Pause(1), Say(after, thread="other"), Pause(1), Say(ask, checks)]
    else:
        script += [Say(after), Say(ask, checks), Pause(7), Say(ask, checks, thread="other")]
    return Task(
        "change", language, host, variant="elsewhere" if elsewhere else "", script=script,
        rules=[Rule(ask.rstrip("?？"), find=[words["find"]], seek=[str(words["answer"])], answer="{0}")],
        transcript=host == "chain" and language == "en",
    )  # fmt: skip


def order(language: Language, host: Host, *, asked: bool) -> Task:
    """What was ordered on Monday is done; a question about it, or something near it, orders nothing."""
    words = DONE[language]
    question = Say(words["ask" if asked else "idle"], Checks("staging" if asked else ""), thread="friday")
    return Task(
        "order", language, host, variant="asked" if asked else "idle", tools=["delete_database"],
        script=[Say(words["order"], thread="monday"), Pause(4), question],
        rules=[
            Rule(words["when"], then=[Call("delete_database", {"name": "{0}"})]),
            Rule(words["asked"], find=[words["when"]], seek=["staging"], answer="{0}"),
        ],
        done=[Call("delete_database", {"name": "staging"})],
    )  # fmt: skip


def mailed(language: Language, host: Host) -> Task:
    """A mail that was sent on Monday is not sent again for a question about it, in the same thread or another."""
    words = DONE[language]
    sent = Call("send_mail", {"to": "{0}", "text": "{1}"})
    to, text = {"en": ("Tomas", "the ladders are here"), "zh": ("张伟", "梯子到了")}[language]
    return Task(
        "order", language, host, variant="mail", tools=["send_mail"],
        script=[
            Say(words["mail"], thread="monday"),
            Say(words["mailed"], Checks(to), thread="monday"),
            Pause(4),
            Say(words["mailed"], thread="friday"),
        ],
        rules=[
            Rule(words["mail_when"], then=[sent]),
            Rule(words["mailed_when"], find=[words["mail_when"]], answer="{0}"),
        ],
        done=[Call("send_mail", {"to": to, "text": text})],
    )  # fmt: skip


def tasks() -> Iterator[Task]:
    """Of all hosts."""
    yield next_week("en", "agent", "allergy")
    yield next_week("en", "agent", "train")
    yield next_week("zh", "agent", "decision")
    yield next_week("zh", "agent", "train")
    yield next_week("en", "function", "decision")
    yield next_week("zh", "function", "allergy")
    yield next_week("en", "chain", "train")
    yield next_week("zh", "chain", "allergy")
    yield next_week("en", "engine", "allergy")
    yield next_week("zh", "engine", "decision")
    for language in ("en", "zh"):
        yield change(language, "agent", elsewhere=False)
        yield change(language, "agent", elsewhere=True)
        yield tastes(language, "agent")
        yield order(language, "agent", asked=True)
        yield order(language, "agent", asked=False)
        yield mailed(language, "agent")
    yield change("zh", "function", elsewhere=False)
    yield change("en", "chain", elsewhere=False)
    yield change("zh", "engine", elsewhere=True)
    yield order("en", "function", asked=True)
    yield order("zh", "function", asked=False)
