"""Interrupts a working process at random: does another process, and the same one, write and read at once afterwards?

One half are SIGINTs to the main thread, the other half exceptions thrown into a thread. The interrupted keeps every
exception with its frames, as an interactive session does. Nothing acknowledged may be lost, and nothing stand twice.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Self

from hybrid_memory import HybridMemory, MemoryConfig, Message, open_memory
from hybrid_memory.config import CompactionConfig, LearningConfig
from hybrid_memory.engines.sqlite import driver

PATIENCE = 20.0
"""Seconds after which what should be done at once counts as wedged."""

KEPT = 40
"""Exceptions that the interrupted process keeps."""


class ThrownError(BaseException):
    """What is thrown into a thread."""


PASSING = "to be forgotten"
"""What is remembered and forgotten at once."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the campaign."""
    parser.add_argument("--count", type=int, default=3000, help="interrupts, over both sorts")
    parser.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Print the figures; 0 if nothing wedged, was lost or stood twice."""
    bad = 0
    for sort in ("signal", "thread"):
        with tempfile.TemporaryDirectory() as folder:
            figures = campaign(Path(folder), sort, max(1, args.count // 2), random.Random(args.seed))  # noqa: S311
        print(f"{sort}: " + ", ".join(f"{count:,} {name}" for name, count in figures.items()))
        bad += figures["wedged"] + figures["lost"] + figures["twice"]
    return int(bad > 0)


def opened(folder: Path) -> HybridMemory:
    """The memory of this process; its background work comes often."""
    config = MemoryConfig(
        url=f"sqlite:///{folder / 'memory.db'}",
        embedder="hashing",
        power_safe=False,
        learning=LearningConfig(delay=timedelta(milliseconds=20)),
        compaction=CompactionConfig(max_tokens=2000),
    )
    return open_memory(config)


def campaign(folder: Path, sort: str, count: int, chance: random.Random) -> Counter[str]:
    """Interrupt so many times, and count."""
    driver.BUSY_SECONDS = PATIENCE  # type: ignore[assignment]
    figures = Counter(interrupts=0, acknowledged=0, wedged=0, lost=0, twice=0)
    said: list[str] = []
    with opened(folder) as other:
        while figures["interrupts"] < count and not figures["wedged"]:
            with Victim(folder, sort, len(said)) as victim:
                for _ in range(min(200, count - figures["interrupts"])):
                    victim.interrupt(chance.uniform(0.001, 0.03))
                    figures["interrupts"] += 1
                    if not (writes(other, figures["interrupts"]) and victim.works()):
                        figures["wedged"] += 1
                        break
                said += victim.acknowledged
        found = Counter(message.text for message in other.scoped(user="alice").history())
    figures["acknowledged"] = len(said)
    figures["lost"] = sum(text not in found for text in said)
    # What an interrupt kept from being forgotten stands there as often as that happened.
    figures["twice"] = sum(times > 1 for text, times in found.items() if text != PASSING)
    return figures


def writes(memory: HybridMemory, number: int) -> bool:
    """Whether this process writes and reads at once."""
    began = time.monotonic()
    bob = memory.scoped(user="bob", session="b")
    try:
        bob.remember(f"the other process wrote {number}")
        found = bool(bob.recall("process", k=1))
    except Exception as error:  # noqa: BLE001 - whatever it is, it does not work
        print(f"the other process: {error!r}")
        return False
    return found and time.monotonic() - began < PATIENCE


class Victim:
    """A process that works until it is interrupted; then it waits to be told to go on."""

    def __init__(self, folder: Path, sort: str, first: int) -> None:
        code = "from benchmarks.faults import interrupts; interrupts.work()"
        command = [sys.executable, "-W", "ignore", "-c", code, str(folder), sort, str(first)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # noqa: S603
        self._sort = sort
        self._left = b""
        self.acknowledged: list[str] = []
        self._until("ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        while line := self._line(1):
            self._noted(line)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def interrupt(self, delay: float) -> None:
        """Let it work for so long, and interrupt it; again, where the exception was swallowed."""
        time.sleep(delay)
        for _ in range(20):
            if self._sort == "signal":
                self._process.send_signal(signal.SIGINT)
            else:
                self._tell("throw")
            if self._until("interrupted", 3):
                return

    def works(self) -> bool:
        """Whether it writes and reads at once."""
        self._tell("check")
        return self._until("works")

    def _tell(self, what: str) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"{what}\n".encode())

    def _until(self, wanted: str, seconds: float = PATIENCE) -> bool:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            line = self._line(left)
            if line == wanted:
                return True
            self._noted(line)
        return False

    def _noted(self, line: str) -> None:
        if line.startswith("+"):
            self.acknowledged.append(line[1:])

    def _line(self, seconds: float) -> str:
        stdout = self._process.stdout
        while b"\n" not in self._left:
            if stdout is None or not select.select([stdout], [], [], seconds)[0]:
                return ""
            got = stdout.read(65536)
            if not got:
                return ""
            self._left += got
        line, _, self._left = self._left.partition(b"\n")
        return line.decode()


def work() -> None:
    """The interrupted process."""
    folder, sort, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    memory = opened(folder)
    kept: list[BaseException] = []
    numbers = iter(range(first * 1000, sys.maxsize))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    show("ready")
    while True:
        if sort == "signal":
            kept.append(interrupted(memory, numbers))
        else:
            kept.append(thrown(memory, numbers))
        show("interrupted")
        while sys.stdin.readline() != "check\n":
            pass
        memory.scoped(user="carol", session="c").remember(f"after {len(kept)}")
        if memory.scoped(user="carol").recall("after", k=1):
            show("works")
        del kept[:-KEPT]


def interrupted(memory: HybridMemory, numbers: object) -> BaseException:
    """What ended the work."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while True:
            step(memory, numbers)
    except BaseException as error:  # noqa: BLE001 - what was raised in a destructor comes as something else
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return error


def thrown(memory: HybridMemory, numbers: object) -> BaseException:
    """The same on a thread of its own, into which an exception is thrown when the parent says so."""
    ended: list[BaseException] = []

    def work_on() -> None:
        try:
            while True:
                step(memory, numbers)
        except BaseException as error:  # noqa: BLE001 - thrown from outside
            ended.append(error)

    thread = threading.Thread(target=work_on, daemon=True)
    thread.start()
    while not ended:
        if sys.stdin.readline() == "throw\n":
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(ThrownError))
            thread.join(2)
    return ended[0]


def step(memory: HybridMemory, numbers: object) -> None:
    """What an application does; every remembered turn is acknowledged to the parent."""
    number = next(numbers)  # type: ignore[call-overload]
    alice = memory.scoped(user="alice", session=f"s{number // 50}")
    text = f"I like the number {number}."
    alice.remember(text if number % 2 else Message(content=text, id=f"id-{number}"))
    show(f"+{text}")
    if number % 3 == 0:
        alice.recall("Which number do I like?", k=3)
    if number % 10 == 0:
        alice.assemble("Which number do I like?")
    if number % 25 == 0:
        alice.forget(ids=[alice.remember(PASSING).ids[0]])


def show(line: str) -> None:
    """Tell the parent, by one call."""
    os.write(1, f"{line}\n".encode())
