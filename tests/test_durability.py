import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from hybrid_memory import EventKind, HybridMemory
from tests.doubles import PATIENCE
from tests.faces import Child, Open

CYCLES, LOOKING = 36, 5
WRITER = Path(__file__).with_name("children") / "writer.py"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")


@pytest.fixture
def writer(store: str) -> Iterator[subprocess.Popen[str]]:
    """A process that forks writers on demand."""
    command = [sys.executable, str(WRITER), store]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield process
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            process.kill()  # or it would be waited for without an end


def pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def kill_one(process: subprocess.Popen[str], cycle: int, writes: int) -> list[str]:
    """The ids that a writer had acknowledged when it was killed, which is after so many writes, amid the next."""
    orders, answers = pipes(process)
    orders.write(f"{cycle}\n")
    orders.flush()
    pid = int(answers.readline())
    acknowledged: list[str] = []
    for _ in range(writes):
        acknowledged += (line := answers.readline()).split()
        assert line not in {"", "dead\n"}, "it died by itself"
    os.kill(pid, signal.SIGKILL)
    while (line := answers.readline()) != "dead\n":
        assert line, "the process that forks writers died"
        # The kill may cut the last line: what was not printed whole does not count as acknowledged.
        acknowledged += line.split() if line.endswith("\n") else []
    return acknowledged


def assert_index_agrees_with_log(memory: HybridMemory) -> None:
    """Every message has exactly one record, found by its words and by its vector."""
    memory.flush()
    stats = memory.stats()
    log = memory._runtime.services.log
    messages = sum(len(log.read(owner, kinds=(EventKind.MESSAGE,))) for owner in log.heads())
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (messages, messages, 0, 0)


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(opened: Open, writer: subprocess.Popen[str]) -> None:
    chance = random.Random(7)  # noqa: S311 - for tests
    assert pipes(writer)[1].readline() == "ready\n"
    acknowledged: list[str] = []
    for cycle in range(CYCLES):
        acknowledged += kill_one(writer, cycle, writes=chance.choice([0, 0, 1, 1, 2, 3, 4]))
        if cycle % LOOKING:
            continue  # what is lost or doubled stays so
        with opened() as memory:
            said = Counter(message.id for message in memory.scoped(user="alice").history())
            assert not set(acknowledged) - set(said), f"lost after kill {cycle}"
            assert max(said.values(), default=1) == 1
            assert_index_agrees_with_log(memory)
    assert len(acknowledged) > CYCLES
    with opened() as memory:
        alice = memory.scoped(user="alice")
        by_session = Counter(name.split("-")[0] for name in acknowledged)
        for name in chance.sample(acknowledged, 20):
            writing = name.split("-")[0]
            session = memory.scoped(user="alice", session=f"s{writing[1:]}")
            found = session.recall(f"cat number {name}", k=by_session[writing] + 10, scope="session")
            assert name in {hit.record.sources[0] for hit in found}
        assert len(alice.history()) >= len(acknowledged)


def test_batches_of_a_killed_writer_are_whole_or_absent(opened: Open, writer: subprocess.Popen[str]) -> None:
    assert pipes(writer)[1].readline() == "ready\n"
    for cycle in range(10):
        kill_one(writer, cycle, writes=cycle)
    with opened() as memory:
        parts = Counter(str(message.id).rsplit("-", 1)[0] for message in memory.scoped(user="alice").history())
        assert parts
        for batch, count in parts.items():
            assert count == 1 + int(batch.split("-b")[1]) % 3, batch


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
        assert_index_agrees_with_log(memory)
        everybody = [message.id for message in memory.scoped(user="everybody").history()]
        assert sorted(map(str, everybody)) == sorted(name for name in written if name.startswith("everybody/"))
        numbers = [str(message.id).rsplit("/", 1)[1] for message in memory.scoped(user="user-one-3").history()]
        assert numbers == [str(number) for number in range(len(numbers))]
