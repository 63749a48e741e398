"""Long conversations, small windows, and media of some turns ago."""

import re
from collections.abc import Iterator
from itertools import chain

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call
from benchmarks.acting.reading import DEPOSITS, LOCKERS
from benchmarks.acting.tasks import WORDS, Checks, Host, Language, Say, Task
from benchmarks.acting.texts import chatter, report

CHOICES: dict[Language, tuple[str, str, str, str, str, str]] = WORDS["choices"]
CHARTS: dict[Language, tuple[str, str, str, str]] = WORDS["charts"]


def long_chat(language: Language, host: Host, turns: int, max_tokens: int | None) -> Task:
    """A decision and a date at the beginning of a long conversation, asked for at its end."""
    *said, ask, typeface, date = CHOICES[language]
    talk = chatter(language, turns - len(said), seed=11)
    poster = {"en": "poster", "zh": "海报"}[language]
    answer = {"en": "Heron.*October 9", "zh": "苍鹭.*十月九号"}[language]
    return Task(
        "long-chat", language, host, variant=f"{turns}" + (f"-in-{max_tokens}" if max_tokens else ""),
        script=[*(Say(text) for text in [*said, *talk]), Say(ask, Checks(answer))],
        rules=[Rule(re.escape(ask), find=[typeface, date], seek=[poster] * 2, answer="{0}, {1}")],
        max_tokens=max_tokens, transcript=host == "chain" and language == "en",
    )  # fmt: skip


def small_window(language: Language, host: Host) -> Task:
    """A model of 8,000 tokens that refuses more: one file that is larger, or several that are so together."""
    words, texts, script, rules = LOCKERS[language], {}, list[Say](), list[Rule]()
    sizes = [10_000] if host == "agent" else [2_500] * 4
    numbers = list(DEPOSITS) if len(sizes) > 1 else ["318"]
    for row, (size, number) in enumerate(zip(sizes, numbers, strict=True)):
        path, amount = f"stock{row}.txt", DEPOSITS[number]
        texts[path] = report(language, size, [words["fact"].format(number=number, amount=amount)], seed=20 + row)
        ask = words["ask"].replace("stock.txt", path).replace("318", number)
        script.append(Say(ask, Checks(amount)))
        rules.append(
            Rule(
                words["when"].replace("318", number), first=[Call("read_file", {"path": path})],
                find=[words["find"].replace("318", number)], seek=[words["seek"].replace("318", number)], answer="{0}",
            )
        )  # fmt: skip
    return Task(
        "small-window", language, host, script=script, rules=rules, tools=["read_file"], texts=texts, window=8_000,
        max_tokens=None if host == "agent" else 4_000,
    )  # fmt: skip


def media(language: Language, host: Host, *, document: bool) -> Task:
    """A picture or a document of three turns ago is still there."""
    shown, seen, ask, find = CHARTS[language]
    talk = [Say(text) for text in chatter(language, 2, seed=4)]
    return Task(
        "media", language, host, variant="document" if document else "picture",
        script=[Say(shown, Checks(shown="412"), media=seen, document=document), *talk, Say(ask, Checks("412"))],
        rules=[Rule(ask.rstrip("?？"), find=[find], seek=["March" if language == "en" else "三月"], answer="{0}")],
    )  # fmt: skip


def tasks() -> Iterator[Task]:
    """Of all hosts."""
    return chain(
        [
            long_chat("en", "agent", 60, 4_000), long_chat("zh", "agent", 60, 4_000),
            long_chat("en", "agent", 120, None), long_chat("en", "function", 60, 4_000),
            long_chat("en", "chain", 30, None), long_chat("zh", "engine", 60, 4_000), small_window("en", "agent"),
            small_window("zh", "agent"), small_window("zh", "function"),
        ],
        (media(language, "agent", document=document) for language in ("en", "zh") for document in (False, True)),
        [media("en", "function", document=False), media("zh", "function", document=True)],
    )  # fmt: skip
