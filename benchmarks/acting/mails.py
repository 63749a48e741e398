"""A long mail in the user's message: answer from it, or act on it."""

from collections.abc import Iterator

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call
from benchmarks.acting.tasks import Checks, Host, Language, Say, Task
from benchmarks.acting.texts import report

MAIL_TOKENS = 9_000

MAILS: dict[Language, dict[str, str]] = {
    "en": {
        "act": "Here is the mail of the landlord. Send the sum that he asks for to Priya in a mail.\n\n{mail}",
        "act_when": r"Send the sum that he asks for to (\w+) in a mail",
        "ask": "Here is the mail of the landlord. What sum does he ask for?\n\n{mail}",
        "ask_when": "What sum does he ask for",
        "fact": "For the new roof I ask each tenant for 1,372 EUR by the end of March.",
        "find": r"ask each tenant for ([\d,]+) EUR",
        "seek": "each tenant",
        "text": "The landlord asks for {1} EUR.",
        "later": "By when does he want the money?",
        "later_when": "By when does he want",
        "later_find": "EUR by (the end of March)",
    },
    "zh": {
        "act": "这是房东的邮件。请把他要的金额用邮件发给李娜。\n\n{mail}", "act_when": "请把他要的金额用邮件发给(李娜)",
        "ask": "这是房东的邮件。他要多少钱？\n\n{mail}", "ask_when": "他要多少钱",
        "fact": "为了修新屋顶，我请每位租户在三月底之前付1,372欧元。",
        "find": "我请每位租户在三月底之前付([\\d,]+)欧元", "seek": "每位租户", "text": "房东要{1}欧元。",
        "later": "他要我们什么时候付？", "later_when": "什么时候付", "later_find": "(三月底之前)付",
    },
}  # fmt: skip


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
