"""What every verb costs in histories of very different length, with facts, folds and edits in proportion.

A history is made in batches, each with a fold, an edit and a block's change. Of each verb the median of several calls
is told, each behind a new turn, and how many times the shortest history's it takes in the longest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.documents.items import FindItems, GetItem, ItemOperation, PutItem

BATCH = 100
REPEATS = 7
LINEAR = frozenset(("facts", "profile", "newest items", "forget"))
"""What these return, or look at, is as long as what is known, or bounded far beyond these histories."""

NOISE = 5.0
"""Milliseconds that a median may grow by, whatever the ratio."""

SAID = (
    "I like {kind} tea{turn}.",
    "I live in City{turn}.",
    "Remind me to buy item{turn}.",
    "The train was late again.",
)
KINDS = ("green", "black", "white", "cold", "sweet", "bitter", "strong", "weak", "old", "young")


def batch(memory: HybridMemory, *operations: ItemOperation) -> object:
    """Do these to the items."""
    return memory.items("tool").batch(operations)


VERBS: dict[str, Callable[[HybridMemory, ScopedMemory, int], object]] = {
    "remember": lambda _, me, turn: me.remember(f"One more thing: {turn}."),
    "recall": lambda _, me, turn: me.recall(f"What about tea{turn}?"),
    "recall of turns": lambda _, me, turn: me.recall(f"What about tea{turn}?", kinds=["turn"], scope="session"),
    "assemble": lambda _, me, turn: me.assemble(f"What about sweet tea{turn}?"),
    "facts of an attribute": lambda _, me, _turn: me.facts(attribute="home"),
    "facts": lambda _, me, _turn: me.facts(),
    "profile": lambda _, me, _turn: me.profile(),
    "summary": lambda _, me, _turn: me.summary(),
    "blocks": lambda _, me, _turn: me.blocks(),
    "history": lambda _, me, _turn: me.history(limit=10),
    "conversation": lambda _, me, _turn: me.history(current=True, limit=10),
    "events": lambda _, me, _turn: me.events(limit=10),
    "expand": lambda _, me, _turn: me.expand("#1"),
    "mirror": lambda _, me, turn: me.mirror([Message(content="Well?", id=f"f{turn}")]),
    "stats": lambda memory, _, _turn: memory.stats(),
    "put an item": lambda memory, _, turn: batch(memory, PutItem(("users", f"v{turn}"), "tea", {"a": 1}, ("Tea.",))),
    "get an item": lambda memory, _, turn: batch(memory, GetItem(("users", f"u{turn % 50}"), f"k{turn}")),
    "search items": lambda memory, _, turn: batch(memory, FindItems(("users", f"u{turn % 50}"), "green tea")),
    "newest items": lambda memory, _, _turn: batch(memory, FindItems(("users",))),
    "forget": lambda _, me, turn: me.forget(ids=[f"u{turn}"]),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long the histories are."""
    parser.add_argument("--turns", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument(
        "--most", type=float, default=3.0, help="times the shortest history's cost that a verb may take"
    )
    parser.add_argument("--json", type=Path)


def fill(memory: HybridMemory, turns: int) -> None:
    """A history of so many turns."""
    me = memory.scoped(user="u", session="s")
    for first in tqdm(range(0, turns, BATCH), desc=f"{turns:,} turns", disable=None):
        messages = []
        for turn in range(first, min(first + BATCH, turns), 2):
            said = SAID[turn // 2 % len(SAID)].format(kind=KINDS[turn // 20 % len(KINDS)], turn=turn)
            messages += [
                Message(content=said, id=f"u{turn}"),
                Message(content=f"Noted: {turn}.", role=Role.ASSISTANT, id=f"a{turn}"),
            ]
        me.remember(messages)
        me.mirror([messages[-2], messages[-1].model_copy(update={"content": f"Anew: {first}."})])
        me.block("human").put(f"turn {first}")
        me.compact(keep=2)
        puts = [
            PutItem(("users", f"u{turn % 50}"), f"k{turn}", {"turn": turn}, (f"{KINDS[turn % len(KINDS)]} tea",))
            for turn in range(first, min(first + BATCH, turns), 2)
        ]
        batch(memory, *puts)
        memory.flush()


def measured(turns: int) -> dict[str, float]:
    """Milliseconds of each verb in a history of so many turns."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/memory.db"
        config = MemoryConfig(url=url, embedder="hashing", compaction=CompactionConfig(max_tokens=4_000))
        with open_memory(config) as memory:
            fill(memory, turns)
            me = memory.scoped(user="u", session="s")
            found = {}
            for name, verb in VERBS.items():
                taken = []
                for turn in range(0, 2 * REPEATS, 2):
                    me.remember(f"I like new tea{turn}.")
                    started = time.perf_counter()
                    verb(memory, me, turn)
                    taken.append(1000 * (time.perf_counter() - started))
                found[name] = round(statistics.median(taken[1:]), 2)
    return found


def run(args: argparse.Namespace) -> int:
    """Print a row for each verb; 0 if none took more than it may."""
    rows: dict[int, dict[str, float]] = {turns: measured(turns) for turns in sorted(args.turns)}
    first, *_, last = [*rows.values(), *list(rows.values())[-1:]]
    print(f"{'ms':<24}" + "".join(f"{turns:>12,}" for turns in rows) + f"{'ratio':>8}")
    grew = []
    for name in VERBS:
        ratio = last[name] / max(first[name], 0.01)
        held = name in LINEAR or ratio <= args.most or last[name] - first[name] <= NOISE
        grew += [] if held else [name]
        print(f"{name:<24}" + "".join(f"{row[name]:>12.2f}" for row in rows.values()) + f"{ratio:>8.1f}")
    if args.json:
        told: dict[str, Any] = {f"{turns}": row for turns, row in rows.items()}
        args.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(f"grew: {', '.join(grew) or 'none'}")
    return 1 if grew else 0
