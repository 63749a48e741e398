"""What is known of a user: next week, after a change of mind, and orders that were carried out long ago."""

import re
from collections.abc import Iterator

from benchmarks.acting.policies import UNKNOWN, Reply, Rule, read_on
from benchmarks.acting.prompts import Call, Prompt
from benchmarks.acting.tasks import Checks, Host, Language, Pause, Say, Step, Task

FACTS: dict[tuple[Language, str], tuple[str, str, str, str]] = {
    ("en", "allergy"): (
        "I am allergic to hazelnuts, by the way.", "Which nuts am I allergic to?",
        r"allergic to:? (hazelnuts)", "hazelnuts",
    ),
    ("en", "train"): (
        "On June 12 I take the night train to Porto.", "Where does my night train go in June?",
        r"night train to (\w+)", "Porto",
    ),
    ("en", "decision"): (
        "For the poster we decided on the Heron typeface.", "Which typeface did we decide on for the poster?",
        r"the (\w+) typeface", "Heron",
    ),
    ("zh", "allergy"): ("对了，我对榛子过敏。", "我对什么坚果过敏？", "(?:对|过敏：)(榛子)", "榛子"),
    ("zh", "train"): ("六月十二号我坐夜车去波尔图。", "六月我的夜车去哪里？", "夜车去(波尔图)", "波尔图"),
    ("zh", "decision"): ("海报我们决定用苍鹭字体。", "海报我们决定用什么字体？", "决定用(苍鹭)字体", "苍鹭"),
}  # fmt: skip
"""What is said, what is asked a week later, where it stands, and the answer."""

SMALL: dict[Language, tuple[str, ...]] = {
    "en": ("It rains again today.", "I painted the fence green."),
    "zh": ("今天又下雨了。", "我把栅栏漆成了绿色。"),
}

HOMES: dict[Language, dict[str, str | tuple[str, ...]]] = {
    "en": {
        "before": "I live in Ghent.",
        "after": "I moved to Leuven last month.",
        "ask": "Which city do I live in now?",
        "find": (
            "moved to (Ghent|Leuven)",
            r"(?:[Hh]ome|[Ll]ives in|[Cc]ity)\W+(Ghent|Leuven)",
            "live in (Ghent|Leuven)",
        ),
        "answer": "Leuven",
        "never": "Ghent",
    },
    "zh": {
        "before": "我住在南京。", "after": "我上个月搬到了杭州。", "ask": "我现在住在哪个城市？",
        "find": ("搬到了?(杭州|南京)", "(?:家|住址|居住地|现居|住在|城市)[：:] ?(杭州|南京)", "住在(杭州|南京)"),
        "answer": "杭州", "never": "南京",
    },
}  # fmt: skip

DONE: dict[Language, dict[str, str]] = {
    "en": {
        "order": "Delete the staging database.", "when": r"[Dd]elete the (\w+) database",
        "ask": "Which database did I want to delete on Monday?", "asked": "Which database did I want",
        "idle": "Is the staging database in your list of databases?",
        "mail": "Send a mail to Tomas: the ladders are here.", "mail_when": r"[Ss]end a mail to (\w+): ([\w ]+)",
        "mailed": "Did the mail to Tomas about the ladders go out?", "mailed_when": "Did the mail to (Tomas)",
    },
    "zh": {
        "order": "请删除 staging 数据库。", "when": r"请删除 (\w+) 数据库", "ask": "星期一我想删除哪个数据库？",
        "asked": "我想删除哪个数据库", "idle": "数据库列表里有 staging 数据库吗？", "mail": "请给张伟发邮件：梯子到了",
        "mail_when": "请给(张伟)发邮件：(梯子到了)", "mailed": "给张伟的那封关于梯子的邮件发出去了吗？",
        "mailed_when": "给(张伟)的那封",
    },
}  # fmt: skip


TASTES: dict[Language, tuple[str, str, str, str, str]] = {
    "en": ("I love sushi and avoid pork.", "Which food do I avoid?", r"avoids?:? ([^\n.]+)", "pork", "sushi"),
    "zh": (
        "我爱吃寿司，不吃猪肉。", "我不吃什么？", "(?:不吃|忌口|避免|回避)[：:]?((?!什么)[^\\n。？]+)", "猪肉",
        "寿司",
    ),
}  # fmt: skip
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
    said, asked, find, answer = FACTS[language, fact]
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
