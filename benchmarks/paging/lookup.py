"""Nested key-value lookup: 140 pairs of UUIDs, the value of one being the key of another, up to four times.

The pairs are archival notes, or messages of which most have left the window; each question is to be answered with the
value at the end of its chain, exactly. As in section 3.2.2 of the paper, but in a smaller window.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.compression.sets import Table
from benchmarks.paging.options import Options
from benchmarks.paging.policies import Follower
from benchmarks.paging.retrieval import remembered
from benchmarks.paging.runs import AGENT, COLUMNS, NOTE, USER, Tally, opened, paged, windowed
from hybrid_memory import HybridMemory, Message
from hybrid_memory_paging import functions_named

PAIRS = 140
DEPTHS = range(5)
ORDERS = 8
"""Sets of pairs, in another order each."""

SEED = 20231012


@dataclass(frozen=True, slots=True)
class Pairs:
    """Texts ``key: value`` in a random order, and for each depth a key with the end of its chain."""

    texts: Sequence[str]
    questions: Sequence[tuple[str, str]]


def pairs(seed: int) -> Pairs:
    """Pairs with one chain for each depth; all other values are no keys."""
    # Not for secrets: the same pairs every time.
    chance = random.Random(seed)  # noqa: S311
    names = iter([str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(2 * PAIRS)])
    questions, texts = [], []
    for depth in DEPTHS:
        chain = [next(names) for _ in range(depth + 2)]
        texts += [f"{key}: {value}" for key, value in pairwise(chain)]
        questions.append((chain[0], chain[-1]))
    texts += [f"{next(names)}: {next(names)}" for _ in range(PAIRS - len(texts))]
    chance.shuffle(texts)
    return Pairs(texts, questions)


def noted(memory: HybridMemory, texts: Sequence[str]) -> None:
    """Keep the texts as archival notes of the agent."""
    (insert,) = functions_named(["archival_memory_insert"])
    owner = memory.scoped(agent=AGENT, user=USER, session="main")
    for text in texts:
        insert.run(owner, {"content": text})


def run(options: Options) -> Iterator[Table]:
    """The share of questions that were answered exactly, by depth."""
    right: dict[int, list[tuple[bool, bool, bool]]] = {depth: [] for depth in DEPTHS}
    tallies = {"archival notes": Tally(), "messages": Tally()}
    for order in range(ORDERS):
        made = pairs(SEED + order)
        for depth in DEPTHS:
            right[depth].append(_asked(made, depth, tallies, options.max_tokens))
    answers = Table(
        f"nested key-value lookup: exact answers, {PAIRS} pairs, {ORDERS} orders",
        ("depth", "paged, notes", "paged, messages", "window"),
        [{"depth": str(depth)} | _shares(rows) for depth, rows in right.items()],
    )
    costs = Table("nested key-value lookup: what it took", ("pairs are", *COLUMNS), note=NOTE)
    costs.rows = [{"pairs are": name} | tally.row() for name, tally in tallies.items()]
    yield from (answers, costs)


def _shares(rows: Sequence[tuple[bool, bool, bool]]) -> dict[str, Any]:
    names = ("paged, notes", "paged, messages", "window")
    return {name: sum(row[place] for row in rows) / len(rows) for place, name in enumerate(names)}


def _asked(made: Pairs, depth: int, tallies: dict[str, Tally], max_tokens: int) -> tuple[bool, bool, bool]:
    """Whether the answer is right: from notes, from messages, in the plain window."""
    key, value = made.questions[depth]
    question = f"What is the value of {key}, and if that is a key, the value of that one, and so on to the last?"
    with opened() as memory:
        noted(memory, made.texts)
        tally = tallies["archival notes"]
        notes = paged(memory, Follower("archival_memory_search"), question, tally, max_tokens=max_tokens)
    history = [Message(content=text, id=f"pair-{row}") for row, text in enumerate(made.texts)]
    policy = Follower("conversation_search")
    with opened() as memory:
        remembered(memory, [history])
        said = paged(memory, policy, question, tallies["messages"], max_tokens=max_tokens)
    plain = windowed(history, policy, question, max_tokens=max_tokens)
    return notes.text == value, said.text == value, plain.text == value
