"""Long texts of any length in both languages, the same in every run."""

import random
from collections.abc import Sequence

from benchmarks.acting.prompts import count_tokens
from benchmarks.acting.tasks import Language

_NAMES = {
    "en": "Ines Tomas Priya Henrik Yusuf Clara Bruno Nadia".split(),
    "zh": "王磊 李娜 张伟 刘洋 赵敏 孙倩".split(),
}
_THINGS = {
    "en": "ladders, lamps, oak panels, paint buckets, cable drums, door frames, carpets, cabinets".split(", "),
    "zh": "梯子 灯具 橡木板 油漆桶 电缆盘 门框 地毯 柜子".split(),
}
_LINES = {
    "en": (
        "On {day} {name} moved {number} {thing} from hall {one} to hall {two} and signed the sheet.",
        "{name} counted {number} {thing} in hall {one}; {two} of them are to be repaired.",
        "The supplier of the {thing} called {name} about the delivery of {number} pieces to gate {one}.",
        "Hall {one} was swept by {name}, and the {thing} at gate {two} got new labels.",
    ),
    "zh": (
        "{day}日，{name}把{number}件{thing}从{one}号厅搬到{two}号厅，并在单子上签了字。",
        "{name}在{one}号厅清点了{number}件{thing}，其中{two}件要修理。",
        "{thing}的供应商就{number}件货送到{one}号门一事给{name}打了电话。",
        "{name}打扫了{one}号厅，{two}号门旁的{thing}换了新标签。",
    ),
}


def lines(language: Language, tokens: int, seed: int = 0) -> list[str]:
    """Lines of a stock book, together of about so many tokens."""
    source = random.Random(f"{language} {seed}")  # noqa: S311 - a text, no secret
    made: list[str] = []
    left = tokens
    while left > 0:
        line = source.choice(_LINES[language]).format(
            day=source.randint(1, 28), name=source.choice(_NAMES[language]), thing=source.choice(_THINGS[language]),
            number=source.randint(20, 990), one=source.randint(1, 9), two=source.randint(10, 19),
        )  # fmt: skip
        made.append(line)
        left -= count_tokens(line) + 1
    return made


def report(language: Language, tokens: int, facts: Sequence[str], seed: int = 0) -> str:
    """A text of about so many tokens, with the facts spread over it, each in a line of its own."""
    made = lines(language, tokens, seed)
    for number, fact in enumerate(facts, 1):
        made.insert(len(made) * number // (len(facts) + 1), fact)
    return "\n".join(made)


def chatter(language: Language, turns: int, seed: int = 0) -> list[str]:
    """What a user says about their day, a sentence or two for each turn."""
    made = lines(language, turns * 120, seed)
    return [f"{made[2 * row]} {made[2 * row + 1]}" for row in range(turns)]
