import os
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.faults import kills
from benchmarks.faults._killed import EXTRAS
from hybrid_memory import EventKind, MemoryConfig, open_memory
from tests.faces import Child, Open

KILLS = 30
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    """Nor is it doubled, or not found; and a batch is whole or absent."""
    figures = kills.Figures()
    kills.campaign("sqlite", KILLS, random.Random(7), tmp_path, figures)  # noqa: S311 - for tests
    assert figures.wrong == []
    assert figures.acknowledged["sqlite"] > KILLS
    batches: Counter[tuple[int, str]] = Counter()
    for number, file in enumerate(tmp_path.glob("store*.db")):
        with open_memory(MemoryConfig(url=f"sqlite:///{file}", embedder="hashing")) as memory:
            history = memory.scoped(user="alice").history()
        batches.update((number, str(message.id).rpartition("-")[0]) for message in history if str(message.id)[0] == "c")
    assert batches
    for (_, batch), count in batches.items():
        place = int(batch.split("-b")[1])
        forgotten = count < 1 + place % 3 and place % EXTRAS == 2  # the first one
        assert count + forgotten == 1 + place % 3, batch


def test_two_processes_of_eight_threads_lose_nothing(child: Child, opened: Open, store: str) -> None:
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(child, "at_once.py", "write", store, name, "12") for name in ("one", "two")]
        done = [job.result() for job in running]
    for process in done:
        assert process.returncode == 0, process.stderr
        assert process.stderr == ""
    written = [name for process in done for name in process.stdout.split()]
    assert len(written) == len(set(written)) == 2 * 8 * 12 * 2
    with opened() as memory:
        truth = memory._runtime.services.truth
        told = [event for owner in truth.heads() for event in truth.read(owner)]
        assert sum(event.kind is EventKind.MESSAGE for event in told) == len(written)
        assert {event.kind for event in told} == {EventKind.MESSAGE, EventKind.USED}
        memory.flush()
        stats = memory.stats()
        assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (len(written), len(written), 0, 0)
        everybody = [message.id for message in memory.scoped(user="everybody").history()]
        assert sorted(map(str, everybody)) == sorted(name for name in written if name.startswith("everybody/"))
        numbers = [str(message.id).rsplit("/", 1)[1] for message in memory.scoped(user="user-one-3").history()]
        assert numbers == [str(number) for number in range(len(numbers))]
