"""Two processes of eight threads write to the same two owners and learn at once: every turn is learned from, once.

Every turn makes one claim by the rules. *unlearned* are turns without a claim, *twice* claims beyond one for a turn,
*facts missing* values that `facts()` does not know in the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.compression.sets import Table
from benchmarks.learning import learner
from benchmarks.learning.sets import Options
from hybrid_memory import EventKind, MemoryConfig, Scope, open_memory
from hybrid_memory.engines.sqlite import Database, SqliteLog

PROCESSES = 2
TURNS = 60
SECONDS = 900


def run(_options: Options) -> Iterator[Table]:
    """One table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        command = [sys.executable, learner.__file__, f"sqlite:///{file}"]
        children = [subprocess.Popen([*command, f"p{number}", str(TURNS)]) for number in range(PROCESSES)]  # noqa: S603
        failed = sum(child.wait(SECONDS) != 0 for child in children)
        with open_memory(MemoryConfig(url=f"sqlite:///{file}", embedder="hashing")) as memory:
            facts = sum(len(memory.scoped(user=owner).facts(attribute="allergy")) for owner in learner.OWNERS)
        claims = claims_by_turn(file)
    turns = PROCESSES * learner.THREADS * TURNS
    yield Table(
        f"Concurrent learning: {PROCESSES} processes of {learner.THREADS} threads, {len(learner.OWNERS)} owners",
        ["what", "turns", "unlearned", "twice", "facts missing", "processes failed", "required"],
        [
            {
                "what": "turns of one claim each",
                "turns": turns,
                "unlearned": turns - len(claims),
                "twice": sum(count - 1 for count in claims.values()),
                "facts missing": turns - facts,
                "processes failed": failed,
                "required": 0,
            }
        ],
    )


def claims_by_turn(file: Path) -> Counter[tuple[str, int]]:
    """How many claims each turn made."""
    log = SqliteLog(Database(file))
    try:
        return Counter(
            (owner, event.payload["source"])
            for owner in learner.OWNERS
            for event in log.read(Scope(user=owner), kinds=[EventKind.CLAIM])
        )
    finally:
        log.close()
