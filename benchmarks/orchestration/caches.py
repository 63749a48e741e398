"""Real conversations with repeated and rephrased questions, with and without caches."""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.orchestration.models import Counted, conversations, first_words, spread
from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, OrchestrationConfig, RecallConfig, open_memory

SEED = 7
TURNS = 120
QUESTIONS = 20
STEPS = 6
REPEATS = 3
SYNONYMS = {"need": "require", "buy": "purchase", "trip": "journey", "job": "work", "help": "assist", "big": "large"}
CACHES = {"none": (0, 0), "embeddings": (10_000, 0), "answers": (0, 300), "both": (10_000, 300)}
"""How many embeddings are kept, and for how many seconds answers are."""


def rephrased(question: str) -> list[str]:
    """The same question in other words, by rules: case, punctuation, order of clauses, politeness, synonyms."""
    clauses = question.rstrip("?.! ").split(", ", 1)
    swapped = {word: other for pair in SYNONYMS.items() for word, other in (pair, pair[::-1])}
    synonyms = re.sub(r"\w+", lambda found: swapped.get(found[0].lower(), found[0]), question)
    forms = [
        question.lower(),
        re.sub(r"[^\w\s]", "", question),
        ", ".join(reversed(clauses)),
        f"Please, {question}",
        synonyms,
    ]
    return list(dict.fromkeys(form for form in forms if form.strip() and form != question))


def questions_of(conversation: dict[str, Any]) -> list[str]:
    """Those that are asked about it, then those that are asked in it."""
    said = (turn["text"] for turn in conversation["turns"] if turn["speaker"].lower() == "user" and "?" in turn["text"])
    texts = [question["question"] for question in conversation["questions"]]
    return list(dict.fromkeys(map(first_words, [*texts, *said])))[:QUESTIONS]


@dataclass(frozen=True)
class Play:
    """What happens in a conversation: turns are written, and questions asked between."""

    turns: Sequence[str]
    asks: Sequence[tuple[str, str]]
    steps: int

    def step(self, number: int) -> tuple[list[str], Sequence[tuple[str, str]]]:
        """The turns written in a step, and then the questions, each with its sort."""
        return (
            list(self.turns[number * len(self.turns) // self.steps : (number + 1) * len(self.turns) // self.steps]),
            self.asks[number * len(self.asks) // self.steps : (number + 1) * len(self.asks) // self.steps],
        )


def play(conversation: dict[str, Any], steps: int) -> Play:
    """Each question three times and once in each other wording, in an order that is always the same."""
    asks = []
    for question in questions_of(conversation):
        asks += [("repeated", question)] * REPEATS + [("rephrased", form) for form in rephrased(question)]
    random.Random(SEED).shuffle(asks)  # noqa: S311 - repeatable, not secret
    turns = [first_words(turn["text"]) for turn in conversation["turns"] if turn["text"].strip()]
    return Play(turns[:TURNS], asks, steps)


@dataclass
class Asked:
    """What was asked of one memory.

    Attributes:
        known_seconds, other_seconds: of each recall, without the model, and with it.
        by_sort: how many of a sort; known: those that did not reach the model.
    """

    known_seconds: list[float] = field(default_factory=list)
    other_seconds: list[float] = field(default_factory=list)
    by_sort: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)

    def ask(self, memory: HybridMemory, model: Counted, sort: str, question: str) -> list[tuple[Any, ...]]:
        """What came back, to be compared."""
        before, began = model.queries, time.perf_counter()
        hits = memory.scoped(user="alice").recall(question)
        seconds, known = time.perf_counter() - began, model.queries == before
        (self.known_seconds if known else self.other_seconds).append(seconds)
        self.by_sort[sort] += 1
        self.known[sort] += known
        return [(hit.record.id, hit.record.text, hit.score, hit.signals) for hit in hits]

    def figures(self) -> dict[str, Any]:
        """Milliseconds, and the share of each sort that was known."""
        seconds = [*self.known_seconds, *self.other_seconds]
        return {
            **spread(seconds),
            "mean": statistics.fmean(seconds) * 1e3,
            "known_p50": statistics.median(self.known_seconds) * 1e3 if self.known_seconds else None,
            "other_p50": statistics.median(self.other_seconds) * 1e3,
            "known": self.known.total() / self.by_sort.total(),
            "by_sort": {sort: self.known[sort] / count for sort, count in self.by_sort.items()},
        }


def opened(model: Counted, embeddings: int, seconds: int, clock: Callable[[], datetime]) -> HybridMemory:
    """An empty memory with these caches, which does nothing by itself."""
    config = MemoryConfig(
        url="memory://",
        orchestration=OrchestrationConfig(background=False, cache=embeddings),
        learning=LearningConfig(background=False),
        recall=RecallConfig(cache_ttl=timedelta(seconds=seconds)),
    )
    return open_memory(config, embedder=model, clock=clock)


def replay(acts: Play, model: Counted, asked_of: dict[str, Asked]) -> int:
    """Play one conversation to a memory with each of the caches, question by question; how many answers are the same.

    Raises:
        AssertionError: an answer from the caches differs from the one without.
    """
    now, same = datetime(2026, 1, 1, tzinfo=UTC), 0
    with ExitStack() as stack:
        memories = {
            name: stack.enter_context(opened(model, embeddings, seconds, lambda: now))
            for name, (embeddings, seconds) in CACHES.items()
        }
        names = list(memories)
        for step in range(acts.steps):
            turns, asks = acts.step(step)
            for memory in memories.values():
                memory.scoped(user="alice", session=f"s{step}").remember(turns)
                memory.flush(progress=False)
            for sort, question in asks:
                names = names[1:] + names[:1]  # whoever comes later finds warmer processor caches
                found = {name: asked_of[name].ask(memories[name], model, sort, question) for name in names}
                wrong = [name for name in names if found[name] != found["none"]]
                assert not wrong, f"{question!r}: another answer with {wrong}"  # noqa: S101 - that is what it is for
                same += 1
            now += timedelta(seconds=20)
    return same


def caches(options: argparse.Namespace, model: Counted) -> dict[str, Any]:
    """Real conversations, with questions that are repeated and rephrased between writes, and after all of them.

    Equal work: the same turns and questions in the same order in four memories, without caches, with that of
    embeddings, with that of answers, and with both; each question goes to all of them before the next. Every answer is
    compared with the one without caches. Turns are embedded before the questions are asked, and not counted. A question
    is known if the model was not asked; another wording is another text to both caches.
    """
    result: dict[str, Any] = {}
    model.kept = {}
    print(f"\n{model.name}; milliseconds: median of what was known, of what was not, mean of all, and that to none")
    print(f"{'':<36}{'known':>7}{'repeated':>10}{'rephrased':>11}{'known':>8}{'not':>8}{'mean':>8}{'to none':>9}")
    for name in options.sets:
        for steps in (STEPS, 1):
            asked_of, same = {caching: Asked() for caching in CACHES}, 0
            for conversation in conversations(options.data / f"{name}.jsonl.gz", options.limit):
                same += replay(play(conversation, steps), model, asked_of)
            title = f"{name}, {steps} write{'s' if steps > 1 else ''}"
            result[title] = {"same_answers": same} | shown(title, asked_of)
            print(f"  {same} questions, the same hits with each of the caches as without", flush=True)
    model.kept = None
    return result


def shown(title: str, asked_of: dict[str, Asked]) -> dict[str, Any]:
    """The figures of each of the caches, which are printed too."""
    rows = {caching: asked.figures() for caching, asked in asked_of.items()}
    for caching, row in rows.items():
        row["mean_ratio"] = row["mean"] / rows["none"]["mean"]
        known = f"{row['known_p50']:.1f}" if row["known_p50"] else ""
        print(
            f"{f'{title}, {caching}':<36}{row['known']:>7.0%}{row['by_sort']['repeated']:>10.0%}"
            f"{row['by_sort']['rephrased']:>11.0%}{known:>8}{row['other_p50']:>8.1f}{row['mean']:>8.1f}"
            f"{row['mean_ratio']:>9.2f}"
        )
    return rows
