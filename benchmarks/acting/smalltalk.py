"""Small talk beside private notes, by a policy that repeats all that it sees; and words that must stay as said."""

from collections.abc import Iterator

from benchmarks.acting.policies import Rule, gossip
from benchmarks.acting.tasks import WORDS, Checks, Host, Language, Pause, Say, Task

PRIVATE: dict[Language, tuple[str, ...]] = WORDS["private"]
SECRETS: dict[Language, str] = {"en": "biopsy|sister|Bruno", "zh": "活检|姐姐|刘洋"}

EXACT: dict[Language, tuple[tuple[str, str, str, str], ...]] = WORDS["exact"]
"""What is said, where its words stand, what is asked later, and the words."""


def small_talk(language: Language, host: Host, said: str) -> Task:
    """A greeting in a new thread, a week after private things were told in another."""
    notes = [Say(text, thread="monday") for text in PRIVATE[language]]
    secrets = SECRETS[language]
    return Task(
        "small-talk", language, host, variant=said.replace(" ", "_"),
        script=[*notes, Pause(7), Say(said, Checks("Hello|您好", never=secrets, hidden=secrets), thread="friday")],
        rules=[Rule(f"{said}[!.。！]?$", react=gossip({"en": "Hello!", "zh": "您好！"}[language]))],
        transcript=host == "chain" and language == "en",
    )  # fmt: skip


def exact(language: Language, host: Host) -> Task:
    """Words whose blanks and hesitations are meant, at once and two turns later."""
    script, rules = [], []
    for said, find, asked, answer in EXACT[language]:
        pattern = answer.replace(" ", "[ ]")
        script += [Say(said, Checks(pattern))]
        rules += [Rule(find, answer="{0}"), Rule(asked, find=[find], answer="{0}")]
    for _, _, asked, answer in EXACT[language]:
        script += [Say(asked, Checks(answer.replace(" ", "[ ]")))]
    return Task(
        "exact-words", language, host, script=script, rules=rules, transcript=host == "chain" and language == "en"
    )


def tasks() -> Iterator[Task]:
    """Of all hosts."""
    for said in ("hi", "thanks", "good morning"):
        yield small_talk("en", "agent", said)
    for said in ("你好", "谢谢"):
        yield small_talk("zh", "agent", said)
    yield small_talk("zh", "function", "早上好")
    yield small_talk("en", "chain", "hi")
    yield small_talk("en", "engine", "hello")
    yield exact("en", "agent")
    yield exact("zh", "agent")
    yield exact("en", "function")
    yield exact("zh", "chain")
    yield exact("zh", "engine")
