"""Nested key-value lookup: 140 pairs of UUIDs, the value of one being the key of another, up to four times.

The pairs are archival notes; each question is to be answered with the value at the end of its chain, exactly. As in
section 3.2.2 of the paper, but in a smaller window.
"""

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.paging.policies import Follower
from benchmarks.paging.runs import AGENT, USER, opened, paged, windowed
from benchmarks.tables import Table
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


def run() -> Table:
    """The share of questions that were answered exactly, by depth."""
    right: dict[int, list[tuple[bool, bool]]] = {depth: [] for depth in DEPTHS}
    for order in range(ORDERS):
        lists = pairs(SEED + order)
        for depth in DEPTHS:
            right[depth].append(_asked(lists, depth))
    table = Table(
        f"nested key-value lookup: exact answers, {PAIRS} pairs, {ORDERS} orders", ("depth", "paged, notes", "window")
    )
    for depth, rows in right.items():
        notes, window = (sum(column) / len(rows) for column in zip(*rows, strict=True))
        table.rows.append({"depth": str(depth), "paged, notes": notes, "window": window})
    return table


def _asked(lists: Pairs, depth: int) -> tuple[bool, bool]:
    """Whether the answer is right: from notes, and in the plain window."""
    key, value = lists.questions[depth]
    question = f"What is the value of {key}, and if that is a key, the value of that one, and so on to the last?"
    policy = Follower("archival_memory_search")
    with opened() as memory:
        noted(memory, lists.texts)
        notes = paged(memory, policy, question)
    history = [Message(content=text, id=f"pair-{row}") for row, text in enumerate(lists.texts)]
    plain = windowed(history, policy, question)
    return notes == value, plain == value
