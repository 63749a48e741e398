"""Whether a fact stands before what only follows or asks for it: acknowledgements, questions asked before, exchanges.

For each language 14 facts, each with an acknowledgement behind it, in one session; each is asked for in another one.
A Chinese store of 60 facts, every second one asked for before it was told and acknowledged afterwards; 30 questions.
Exchanges: a question in one turn, and an answer in the next that has no word of it. They are asked in
`tests/long/test_exchanges.py`.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from hybrid_memory import open_memory

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ENGLISH, CHINESE, EXCHANGES = ([tuple(row) for row in DATA[name]] for name in ("English", "Chinese", "exchanges"))
MEETINGS = [
    (f"{name}的{what}{verb}？", f"{name}的{answer}。", f"{name}的{what}{verb}")
    for name, what, verb, answer in DATA["meetings"]
]
OTHERS = [f"{who}{what}。" for who in DATA["others"][0] for what in DATA["others"][1]]
[ACKNOWLEDGED] = DATA["acknowledged"]

Said: TypeAlias = list[tuple[str, str]]
Case: TypeAlias = tuple[Said, dict[str, str]]
"""Roles and texts of a conversation, and for each question the text that answers it."""


def pairs(language: Sequence[tuple[str, str, str]]) -> Case:
    """Facts and acknowledgements."""
    said = [one for fact, answer, _ in language for one in (("user", fact), ("assistant", answer))]
    return said, {question: fact for fact, _, question in language}


def meetings() -> Case:
    """60 facts, half of them asked for before; all acknowledged."""
    said: Said = []
    for row, ((asked, fact, _), other) in enumerate(zip(MEETINGS, OTHERS, strict=True)):
        said += [("user", asked), ("assistant", "我还不知道。"), ("user", other), ("assistant", ACKNOWLEDGED[row % 5])]
        said += [("user", fact), ("assistant", ACKNOWLEDGED[(row + 2) % 5])]
    return said, {question: fact for _, fact, question in MEETINGS}


def exchanges() -> Case:
    """Questions of the assistant, and short answers."""
    said = [one for asked, answer, _ in EXCHANGES for one in (("assistant", asked), ("user", answer))]
    return said, {question: answer for _, answer, question in EXCHANGES}


CASES = {
    "English pairs": pairs(ENGLISH),
    "Chinese pairs": pairs(CHINESE),
    "Chinese meetings": meetings(),
    "exchanges": exchanges(),
}


def first_hits(case: Case, embedder: Any = None) -> dict[str, str]:
    """The words of the first hit, by question, where it is not what answers, nor a fact that was read from that."""
    said, answers = case
    ids = {text: f"m{row}" for row, (_, text) in enumerate(said)}
    messages = [
        {"role": role, "content": text, "id": f"m{row}", "at": START + timedelta(minutes=row)}
        for row, (role, text) in enumerate(said)
    ]
    end = START + timedelta(days=2)
    with open_memory("memory://", embedder=embedder, clock=lambda: end) as memory:
        memory.scoped(user="ann", session="before").remember(messages)
        now = memory.scoped(user="ann", session="now")
        now.flush(progress=False)
        found = {question: now.recall(question, k=3) for question in answers}
    right = {
        question: bool(hits) and ids[answers[question]] in hits[0].record.sources for question, hits in found.items()
    }
    return {question: hits[0].record.text if hits else "" for question, hits in found.items() if not right[question]}
