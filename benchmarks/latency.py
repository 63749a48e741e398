"""Latency of recall and of acknowledged writes over stores of growing size, in one run.

    python benchmarks/latency.py --sizes 10000 100000 --data PATH --json out.json

Turns are those of the conversation sets under PATH, repeated with a fifth of their words exchanged until there are
enough; the queries are real questions of the same sets. Vectors are random unit vectors around the direction of their
turn's topic, so that a store of 100,000 turns is filled in minutes; the query embedding is measured apart, with the
local embedder.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hybrid_memory import HybridMemory, MemoryConfig, RecallConfig, open_memory
from hybrid_memory.ports import Floats

SEED = 7
SETS = ("locomo", "realtalk", "realmem", "beam_100K", "memdaily")
TOPICS = 2_000


class TopicEmbedder:
    """Random unit vectors that cluster by the first two words of a text; deterministic."""

    name = "benchmark-topics"
    dim = 384

    def __init__(self) -> None:
        self._centres = np.random.default_rng(SEED).standard_normal((TOPICS, self.dim)).astype(np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, 384)."""
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (384,)."""
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        noise = np.random.default_rng(int.from_bytes(digest, "little")).standard_normal(self.dim).astype(np.float32)
        centre = self._centres[hashlib.blake2b(" ".join(text.split()[:2]).encode()).digest()[0] * 7 % TOPICS]
        vector: Floats = centre + noise
        return vector / np.linalg.norm(vector)


def conversations(folder: Path) -> Iterator[dict[str, Any]]:
    """The conversations of the sets, one by one."""
    for name in SETS:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)


def corpus(folder: Path, count: int) -> tuple[list[str], list[str]]:
    """So many turns, and real questions about some of them."""
    turns, questions = [], []
    for conversation in conversations(folder):
        turns += [f"{turn['speaker']}: {turn['text']}" for turn in conversation["turns"]]
        questions += [question["question"] for question in conversation["questions"][:40]]
    chance = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    vocabulary = [word for turn in turns for word in turn.split()]
    texts = list(turns[:count])
    while len(texts) < count:
        words = chance.choice(turns).split()
        texts.append(" ".join(chance.choice(vocabulary) if chance.random() < 0.2 else word for word in words))
    chance.shuffle(questions)
    return texts, questions


def timed(calls: Sequence[Callable[[], Any]]) -> dict[str, float]:
    """Milliseconds per call: median, 95th percentile."""
    spent = []
    for call in calls:
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1e3)
    return {"p50_ms": statistics.median(spent), "p95_ms": float(np.percentile(spent, 95)), "calls": len(spent)}


def measure(memory: HybridMemory, texts: list[str], questions: list[str]) -> dict[str, Any]:
    """Figures of one size: bulk load, single writes, recall with the query embedding cached."""
    alice = memory.scoped(user="alice", session="s")
    started = time.perf_counter()
    for first in tqdm(range(0, len(texts), 1000), desc=f"{len(texts):,} turns", disable=None):
        memory.scoped(user="alice", session=f"s{first // 20}").remember(texts[first : first + 1000])
    loaded = time.perf_counter() - started
    started = time.perf_counter()
    alice.flush()
    indexed = time.perf_counter() - started
    for question in questions:  # fills the cache of embeddings, and brings vectors and pages into memory
        alice.recall(question, k=10)
    recall = timed([lambda q=question: alice.recall(q, k=10) for question in questions])  # type: ignore[misc]
    write = timed([lambda n=n: alice.remember(f"a new turn, number {n}") for n in range(300)])  # type: ignore[misc]
    return {"turns": len(texts), "load_s": loaded, "index_s": indexed, "recall": recall, "write": write}


def embedder_share(questions: list[str]) -> dict[str, float] | None:
    """Milliseconds of embedding one question with the local embedder; None where it is not installed."""
    try:
        from hybrid_memory.models.embedders import LocalEmbedder  # noqa: PLC0415 - optional

        model = LocalEmbedder()
    except ImportError:
        return None
    return timed([lambda q=question: model.embed_query(q) for question in questions[:100]])  # type: ignore[misc]


def main() -> None:
    """Print the table, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    embedding = None
    print(f"{'turns':>9} {'recall p50':>11} {'p95':>8} {'write p50':>10} {'p95':>8} {'load':>8} {'index':>8}")
    for size in options.sizes:
        texts, questions = corpus(options.data, size)
        embedding = embedding or embedder_share(questions)
        with tempfile.TemporaryDirectory() as folder:
            config = MemoryConfig(url=f"sqlite:///{folder}/memory.db", recall=RecallConfig(cache_ttl=timedelta(0)))
            with open_memory(config, embedder=TopicEmbedder()) as memory:
                row = measure(memory, texts, questions[:200])
        results.append(row)
        recall, write = row["recall"], row["write"]
        print(
            f"{size:>9,} {recall['p50_ms']:>8.2f} ms {recall['p95_ms']:>5.1f} ms {write['p50_ms']:>7.3f} ms "
            f"{write['p95_ms']:>5.2f} ms {row['load_s']:>6.1f} s {row['index_s']:>6.1f} s",
            flush=True,
        )
    if embedding is not None:
        print(f"query embedding, local embedder, not cached: p50 {embedding['p50_ms']:.1f} ms")
        for row in results:
            share = embedding["p50_ms"] / (embedding["p50_ms"] + row["recall"]["p50_ms"])
            print(f"  share of an uncached recall over {row['turns']:,} turns: {share:.0%}")
    if options.json:
        versions = {name: version(name) for name in ("hybrid-agent-memory", "numpy", "faiss-cpu")}
        versions |= {"python": sys.version.split()[0], "sqlite": sqlite3.sqlite_version, "machine": platform.machine()}
        report = {"seed": SEED, "versions": versions, "sizes": results, "query_embedding": embedding}
        options.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
