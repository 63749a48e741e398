"""Whether anybody is shown what is not theirs: users, agents and shared spaces, revocations among them, at random.

The driver of the tests: every hit, history and audit is compared with what plain dictionaries say. It stops at the
first answer that is wrong in itself; *crossed* counts hits from a place that the asker may not read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from benchmarks.compression.sets import Table
from benchmarks.learning.sets import Options
from hybrid_memory import MemoryConfig, open_memory
from tests.test_isolation import AGENTS, USERS, Town

OPERATIONS = 20_000
SEED = 11


def run(options: Options) -> Iterator[Table]:
    """One table, a row for each engine."""
    operations = OPERATIONS if options.limit is None else min(OPERATIONS, 1_000 * options.limit)
    table = Table(
        f"Isolation: {USERS} users, {AGENTS} agents, {operations} operations",
        ["engine", "handles", "hits", "refused", "crossed"],
    )
    table.rows = [live("memory://", 1, operations)]
    with tempfile.TemporaryDirectory() as folder:
        table.rows.append(live(f"sqlite:///{folder}/memory.db", 2, operations))
    yield table


def live(url: str, processes: int, operations: int) -> dict[str, Any]:
    """What happened in one store, opened so many times."""
    config = MemoryConfig(url=url, embedder="none", power_safe=False)
    with ExitStack() as stack:
        town = Town([stack.enter_context(open_memory(config)) for _ in range(processes)], seed=SEED)
        town.run(operations)
    return {
        "engine": url.partition(":")[0],
        "handles": processes,
        "hits": town.done["hits"],
        "refused": town.done["refused"],
        "crossed": len(town.crossed),
        "operations": dict(town.done),
    }
