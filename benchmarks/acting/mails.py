"""A long mail in the user's message: answer from it, or act on it."""

from collections.abc import Iterator

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call
from benchmarks.acting.tasks import WORDS, Checks, Host, Language, Say, Task
from benchmarks.acting.texts import report

MAIL_TOKENS = 9_000

MAILS: dict[Language, dict[str, str]] = WORDS["mails"]


def pasted(language: Language, host: Host, max_tokens: int | None = None) -> Task:
    """A pasted mail: act on it where there are tools, else answer; and a question about it in the next turn."""
    words = MAILS[language]
    mail = report(language, MAIL_TOKENS, [words["fact"]], seed=7)
    acts = host in {"agent", "function"}
    what = "act" if acts else "ask"
    sent = Call("send_mail", {"to": "{0}", "text": words["text"]})
    to = {"en": "Priya", "zh": "李娜"}[language]
    done = [Call("send_mail", {"to": to, "text": words["text"].replace("{1}", "1,372")})]
    return Task(
        "mail", language, host, variant=f"in-{max_tokens}" if max_tokens else "",
        script=[
            Say(words[what].format(mail=mail), Checks("1,372")),
            Say(words["later"], Checks("March|三月底")),
        ],
        rules=[
            Rule(
                words[f"{what}_when"], find=[words["find"]], seek=[words["seek"]],
                then=[sent] if acts else [], answer="{1}" if acts else "{0}",
            ),
            Rule(words["later_when"], find=[words["later_find"]], seek=[words["seek"]], answer="{0}"),
        ],
        tools=["send_mail"] if acts else [], done=done if acts else [], max_tokens=max_tokens,
    )  # fmt: skip


def tasks() -> Iterator[Task]:
    """Of all hosts."""
    for language in ("en", "zh"):
        yield pasted(language, "agent")
    yield pasted("zh", "agent", max_tokens=4_000)
    yield pasted("en", "function")
    yield pasted("zh", "chain")
    yield pasted("en", "engine")
