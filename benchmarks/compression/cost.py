"""What a prompt costs along a long chat: tokens and time, without a model and with hashed vectors, in SQLite.

The LoCoMo conversations behind each other, again and again, as alternating messages; the prompt for a turn of the user
is asked for before the turn is remembered. The figures are those of the last 50 turns of the user before each mark.
A compaction is `compact(keep=1)` on a session of 100 turns that was never folded; the median of 10.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.compression.sets import IDENTITY, MAX_TOKENS, Table, dialogue, load
from hybrid_memory import MemoryConfig, Message, open_memory
from hybrid_memory.models.embedders import HashingEmbedder

MARKS = (200, 500, 1000, 2000)
LAST = 50
FOLDED = 100
TIMES = 10


def long_chat(data: Path, count: int) -> list[Message]:
    """So many messages; their ids are new in each repetition."""
    turns = [turn for one in load(data, "locomo") for turn in one["turns"]]
    return dialogue(list(islice(cycle(turns), count)))


def along(messages: list[Message], marks: tuple[int, ...]) -> list[dict[str, Any]]:
    """A row for each mark."""
    rows: list[dict[str, Any]] = []
    spent: list[float] = []
    folding: list[float] = []
    tokens: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        config = MemoryConfig(url=f"sqlite:///{folder}/memory.db")
        with open_memory(config, embedder=HashingEmbedder()) as memory:
            chat = memory.scoped(user="u", session="s")
            for at in range(0, len(messages) - 1, 2):
                started = time.perf_counter()
                context = chat.assemble(messages[at].text, max_tokens=MAX_TOKENS, identity=IDENTITY)
                took = (time.perf_counter() - started) * 1e3
                (folding if context.compacted else spent).append(took)
                tokens.append(context.tokens)
                chat.remember(messages[at : at + 2])
                if at + 2 in marks:
                    rows.append(_row(at + 2, tokens[-LAST:], spent, folding))
                    spent, folding = [], []
    return rows


def _row(mark: int, tokens: list[int], spent: list[float], folding: list[float]) -> dict[str, Any]:
    recent = sorted(spent[-LAST:])
    return {
        "turn": mark,
        "tokens mean": round(statistics.fmean(tokens)),
        "tokens max": max(tokens),
        "ms p50": round(statistics.median(recent), 1),
        "ms p95": round(recent[int(0.95 * (len(recent) - 1))], 1),
        "ms folding": round(statistics.median(folding), 1) if folding else None,
        "folds": len(folding),
    }


def fold_once(messages: list[Message]) -> list[float]:
    """Milliseconds of `compact` on sessions of these messages."""
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        config = MemoryConfig(url=f"sqlite:///{folder}/memory.db")
        with open_memory(config, embedder=HashingEmbedder()) as memory:
            for number in range(TIMES):
                chat = memory.scoped(user="u", session=f"s{number}")
                chat.remember(messages)
                started = time.perf_counter()
                receipt = chat.compact(keep=1)
                spent.append((time.perf_counter() - started) * 1e3)
                assert receipt.compacted >= len(messages) - 2  # noqa: S101 - else it is not this that was measured
    return spent


def run(data: Path, _embedder: Any, limit: int | None) -> Iterator[Table]:
    """Tokens and time along the chat, and the time of one compaction."""
    marks = MARKS[:limit]
    rows = along(long_chat(data, marks[-1]), marks)
    yield Table(f"Cost along a chat at {MAX_TOKENS} tokens", list(rows[0]), rows)
    folds = Table("One compaction, ms", ["turns", "median", "max"])
    for name, messages in (("100 of LoCoMo", long_chat(data, FOLDED)), ("100 of a coding run", _coding(data))):
        spent = fold_once(messages)
        folds.rows.append({"turns": name, "median": round(statistics.median(spent), 1), "max": round(max(spent), 1)})
    yield folds


def _coding(data: Path) -> list[Message]:
    longest = max(load(data, "miniswe"), key=lambda one: len(one["turns"]))
    turns = [turn for turn in longest["turns"] if turn["text"].strip() and turn["speaker"] != "system"][:FOLDED]
    return [Message(role=turn["speaker"], content=turn["text"]) for turn in turns]
