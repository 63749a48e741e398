"""Multi-document question answering: more documents than fit the window, one of which has the wanted fact.

Documents are entries of a fair's daybook, in English and Chinese, written with a fixed seed. Many share persons, places
and deeds; person, place and deed together stand in one alone. The answer is right if it holds the thing.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.paging.lookup import SEED, noted
from benchmarks.paging.policies import Reader
from benchmarks.paging.runs import MAX_TOKENS, count, opened, paged, windowed
from benchmarks.tables import Table
from benchmarks.vectors import KeptVectors
from hybrid_memory import Message

SIZES = (20, 100, 400)
QUESTIONS = 10
"""Of each language and number of documents."""


Language: TypeAlias = Mapping[str, Any]
"""The words of documents and questions; things are given away once each."""

LANGUAGES: Mapping[str, Language] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A document, a question that it alone answers, and the answer."""

    text: str
    question: str
    answer: str


def entries(language: Language, number: int, seed: int = SEED) -> list[Entry]:
    """So many documents, no two of which have person, place and deed in common."""
    # Not for secrets: the same documents every time.
    chance = random.Random(seed)  # noqa: S311
    facts = list(itertools.product(language["people"], language["places"], language["deeds"]))
    chance.shuffle(facts)
    made = []
    for person, place, deed in facts[:number]:
        thing = language["thing"].format(
            material=chance.choice(language["materials"]), thing=chance.choice(language["things"])
        )
        words = {
            "person": person,
            "place": place,
            "deed": deed,
            "thing": thing,
            "other": chance.choice([name for name in language["people"] if name != person]),
            "elsewhere": chance.choice([name for name in language["places"] if name != place]),
            "undone": chance.choice([name for name in language["deeds"] if name != deed]),
        }
        sentences = [frame.format(**words) for frame in (language["fact"], *language["frames"])]
        chance.shuffle(sentences)
        made.append(Entry(" ".join(sentences), language["question"].format(**words), thing))
    return made


def run() -> Table:
    """The share of right answers, by the number of documents."""
    table = Table(
        "multi-document question answering: right answers",
        ("documents", "in", "questions", "paged", "window", "tokens"),
        note=f"tokens: of all documents together; the window has {MAX_TOKENS}",
    )
    embedder = KeptVectors()
    for number in SIZES:
        for name, language in LANGUAGES.items():
            row = _asked(language, number, embedder)
            table.rows.append({"documents": str(number), "in": name} | row)
    return table


def _asked(language: Language, number: int, embedder: KeptVectors) -> dict[str, Any]:
    documents = entries(language, number)
    history = [Message(content=entry.text, id=f"document-{row}") for row, entry in enumerate(documents)]
    policy = Reader("archival_memory_search")
    asked = documents[:: max(1, number // QUESTIONS)][:QUESTIONS]
    right: Counter[str] = Counter()
    with opened(embedder) as memory:
        noted(memory, [entry.text for entry in documents])
        memory.flush(progress=False)  # on a busy machine a question would not wait for all vectors
        for row, entry in enumerate(asked):
            answered = paged(memory, policy, entry.question, session=f"question {row}")
            right["paged"] += entry.answer in answered
            window = windowed(history, policy, entry.question)
            right["window"] += entry.answer in window
    return {
        "questions": len(asked),
        "paged": right["paged"] / len(asked),
        "window": right["window"] / len(asked),
        "tokens": sum(count(entry.text) for entry in documents),
    }
