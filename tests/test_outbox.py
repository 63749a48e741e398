"""While the log cannot be reached, what is said waits on disk, and comes into the log in order."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from hybrid_memory import Event, EventKind, HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import IdConflictError, InvalidConfigError, StoreUnavailableError

if TYPE_CHECKING:
    from hybrid_memory.log.port import EventLog
    from tests.conftest import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
FAILURE = "no route to the log"


class Log:
    """A log behind a line that can be cut, also in the midst of a call.

    Attributes:
        down: nothing gets through.
        breaks: in how many calls of `append` the line breaks; after the log has written, if ``late``.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.down = False
        self.late = False
        self.breaks = -1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            broken = name == "append" and self.breaks == 0
            self.breaks -= name == "append"
            if (self.down or (broken and not self.late)) and name != "close":
                raise StoreUnavailableError(FAILURE)
            answer = method(*args, **kwargs)
            if broken:
                raise StoreUnavailableError(FAILURE)
            return answer

        return call


class Killed:
    """A log in front of which the process is killed before it changes for the n-th time, counted from 0."""

    def __init__(self, inner: Any, steps: int) -> None:
        self._inner = inner
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        if name not in {"close", "count", "get", "heads", "read", "size"}:
            if not self._steps:
                raise KeyboardInterrupt
            self._steps -= 1
        return getattr(self._inner, name)


def behind(memory: HybridMemory) -> Log:
    """The memory's log, from now on behind a line."""
    services = memory._runtime.services
    log = Log(services.log)
    services.log = cast("EventLog", log)
    return log


def alien(owner: ScopedMemory) -> list[Event]:
    """Events that nobody caused by what is done here."""
    ours = {EventKind.MESSAGE, EventKind.CLAIM, EventKind.LEARNED}
    return [event for event in owner._runtime.services.truth.read(owner.scope) if event.kind not in ours]


def said(owner: ScopedMemory) -> list[str]:
    return [message.text for message in owner.history()]


@pytest.fixture
def outbox(tmp_path: Path) -> str:
    return str(tmp_path / "outbox.db")


@pytest.fixture
def memory(opened: Open, outbox: str) -> HybridMemory:
    return opened(outbox=outbox, power_safe=False)


def test_without_an_outbox_the_write_fails_and_writes_nothing(face: Face, opened: Open) -> None:
    memory = opened()
    alice = memory.scoped(user="alice", session="s1")
    alice.remember("before")
    log = behind(memory)
    log.down = True
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(alice).remember(["one", "two"])
    log.down = False
    assert said(alice) == ["before"]
    assert memory.stats().waiting == 0


def test_what_is_said_waits_and_comes_in_order(face: Face, memory: HybridMemory) -> None:
    log = behind(memory)
    alice, bob = memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")
    face(alice).remember("one")
    log.down = True
    receipt = face(alice).remember(["two", "three"], at=NOW, metadata={"tag": 1})
    assert len(receipt.waiting) == 2
    assert receipt.waiting == receipt.ids
    assert receipt.positions == ()
    face(bob).remember("uno", id="b1")
    face(alice).remember({"role": "assistant", "content": "four"})
    log.down = False
    assert memory.stats().waiting == 4
    five = face(alice).remember("five")
    assert five.waiting == ()
    assert said(alice) == ["one", "two", "three", "four", "five"]
    assert said(bob) == ["uno"]
    assert memory.stats().waiting == 0
    two = alice.history()[1]
    assert (two.id, two.at, two.metadata) == (receipt.ids[0], NOW, {"tag": 1})
    assert alice.history()[3].role == "assistant"
    assert bob.history()[0].id == "b1"
    assert [message.text for message in memory.scoped(user="alice", session="s2").history()] == []


@pytest.mark.parametrize("whose", ["memory", "alice", "bob"])
def test_a_flush_drains_it(face: Face, memory: HybridMemory, whose: str) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    face(alice).remember("one")
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(memory).flush()
    log.down = False
    face(memory if whose == "memory" else memory.scoped(user=whose)).flush()
    assert said(alice) == ["one"]
    assert memory.stats().waiting == 0
    face(memory).flush()
    assert [hit.record.text for hit in face(alice).recall("one")] == ["one"]


def test_a_write_of_another_owner_drains_it(face: Face, memory: HybridMemory) -> None:
    log = behind(memory)
    log.down = True
    face(memory.scoped(user="alice")).remember("one")
    log.down = False
    face(memory.scoped(user="bob")).remember("uno")
    assert said(memory.scoped(user="alice")) == ["one"]


@pytest.mark.background
def test_it_drains_in_the_background(opened: Open, outbox: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.memory.runtime.OUTBOX_EVERY", timedelta(seconds=0.05))
    memory = opened(outbox=outbox, power_safe=False)
    alice = memory.scoped(user="alice")
    log = behind(memory)
    log.down = True
    alice.remember("one")
    time.sleep(0.2)
    log.down = False
    deadline = time.monotonic() + 20
    while said(alice) != ["one"] or memory.stats().waiting:
        assert time.monotonic() < deadline, "it was never drained"
        time.sleep(0.02)


def test_it_outlives_the_process(face: Face, opened: Open, outbox: str) -> None:
    first = opened(outbox=outbox, power_safe=False)
    behind(first).down = True
    face(first.scoped(user="alice", session="s1")).remember(["one", "two"])
    face(first).close()
    again = opened(outbox=outbox, power_safe=False)
    assert again.stats().waiting == 2
    alice = again.scoped(user="alice", session="s1")
    face(alice).remember("three")
    assert said(alice) == ["one", "two", "three"]


def test_what_waits_outlives_a_killed_process(opened: Open, store: str, outbox: str) -> None:
    script = (
        "import os, sys; from hybrid_memory import MemoryConfig, open_memory\n"
        "from hybrid_memory.errors import StoreUnavailableError\n"
        "memory = open_memory(MemoryConfig(url=sys.argv[1], outbox=sys.argv[2], embedder='none', power_safe=False))\n"
        "def down(*_, **__): raise StoreUnavailableError('down')\n"
        "memory._runtime.services.log.append = down\n"
        "print(len(memory.scoped(user='alice').remember(['one', 'two']).waiting), flush=True)\n"
        "os._exit(9)\n"
    )
    command = [sys.executable, "-c", script, store, outbox]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert (done.returncode, done.stdout) == (9, "2\n"), done.stderr
    memory = opened(outbox=outbox, power_safe=False)
    memory.flush()
    assert said(memory.scoped(user="alice")) == ["one", "two"]


@pytest.mark.parametrize("late", [False, True], ids=["before it wrote", "after it wrote"])
def test_a_line_that_breaks_while_draining_loses_and_repeats_nothing(
    face: Face, opened: Open, outbox: str, late: bool
) -> None:
    texts = [f"turn {number}" for number in range(4)]
    for broken in range(len(texts)):
        memory = opened(outbox=outbox, power_safe=False)
        log = behind(memory)
        alice = memory.scoped(user=f"alice {broken}")
        log.down = True
        face(alice).remember(texts)
        log.down, log.late, log.breaks = False, late, broken
        with pytest.raises(StoreUnavailableError):
            face(memory).flush()
        assert memory.stats().waiting > 0
        memory.close()
        memory = opened(outbox=outbox, power_safe=False)
        alice = memory.scoped(user=f"alice {broken}")
        face(memory).flush()
        assert said(alice) == texts
        assert memory.stats().waiting == 0
        memory.close()


def test_a_crash_while_the_outbox_is_emptied_repeats_nothing(opened: Open, outbox: str) -> None:
    crashes = 0
    for step in range(7):
        memory = opened(outbox=outbox, power_safe=False)
        log = behind(memory)
        alice = memory.scoped(user=f"alice {step}")
        log.down = True
        alice.remember(["one", "two"])
        log.down = False
        services = memory._runtime.services
        services.outbox = cast("EventLog", Killed(services.outbox, step))
        try:
            memory.flush()
        except KeyboardInterrupt:
            crashes += 1
        memory.close()
        memory = opened(outbox=outbox, power_safe=False)
        alice = memory.scoped(user=f"alice {step}")
        memory.flush()
        assert said(alice) == ["one", "two"]
        assert alien(alice) == []
        assert memory.stats().waiting == 0
        memory.close()
    assert 1 <= crashes < 7


def test_a_lost_reply_repeats_nothing(face: Face, memory: HybridMemory) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.late, log.breaks = True, 0
    receipt = face(alice).remember(["one", "two"])
    assert len(receipt.waiting) == 2
    face(alice).remember("three")
    assert said(alice) == ["one", "two", "three"]


def test_saying_it_again_while_the_log_is_down_counts_once(face: Face, memory: HybridMemory) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    for _ in range(2):
        face(alice).remember("one", id="m1")
    assert memory._runtime.services.outbox is not None
    with pytest.raises(IdConflictError, match="m1"):
        face(alice).remember("another", id="m1")
    log.down = False
    face(memory).flush()
    assert face(alice).remember("one", id="m1").duplicates == ("m1",)
    assert said(alice) == ["one"]


def test_words_under_an_id_that_was_taken_meanwhile_are_kept_under_another(
    face: Face, opened: Open, memory: HybridMemory
) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    face(alice).remember("mine", id="m1")
    face(alice).remember("after it")
    opened().scoped(user="alice").remember("theirs", id="m1")
    log.down = False
    face(memory).flush()
    assert said(alice) == ["theirs", "mine", "after it"]
    assert [message.id == "m1" for message in alice.history()] == [True, False, False]
    assert memory.stats().waiting == 0


def test_words_kept_under_another_id_are_not_repeated_after_a_crash(opened: Open, outbox: str) -> None:
    memory = opened(outbox=outbox, power_safe=False)
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    alice.remember("mine", id="m1")
    opened().scoped(user="alice").remember("theirs", id="m1")
    log.down, log.late, log.breaks = False, True, 1
    with pytest.raises(StoreUnavailableError):
        memory.flush()
    memory.flush()
    assert said(alice) == ["theirs", "mine"]


def test_what_was_forgotten_meanwhile_can_be_said_again(face: Face, memory: HybridMemory) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    face(alice).remember("one", id="m1")
    log.down = False
    face(memory).flush()
    alice.forget(ids="m1")
    log.down = True
    face(alice).remember("one", id="m1")
    log.down = False
    face(memory).flush()
    assert said(alice) == ["one"]


@pytest.mark.parametrize("whose", ["memory", "alice"])
def test_who_is_forgotten_leaves_nothing_that_waits(face: Face, memory: HybridMemory, outbox: str, whose: str) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    alice.remember("hello")
    log.down = True
    face(alice).remember("my name is Quinzel")
    log.down = False
    face(memory if whose == "memory" else alice).forget(user="alice")
    face(memory).flush()
    assert said(alice) == []
    memory.close()
    files = [path.read_bytes() for path in Path(outbox).parent.iterdir() if path.is_file()]
    assert files
    assert not any(b"Quinzel" in content for content in files)


def test_what_was_drained_leaves_no_word_in_the_outbox_once_forgotten(memory: HybridMemory, outbox: str) -> None:
    log = behind(memory)
    alice = memory.scoped(user="alice")
    log.down = True
    alice.remember("my name is Quinzel")
    log.down = False
    memory.flush()
    memory.forget(user="alice")
    memory.close()
    files = [path.read_bytes() for path in Path(outbox).parent.iterdir() if path.is_file()]
    assert not any(b"Quinzel" in content for content in files)


@pytest.mark.parametrize("seed", range(3))
def test_a_line_that_comes_and_goes_keeps_the_order(opened: Open, outbox: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - for tests
    memory = opened(outbox=outbox, embedder="none", power_safe=False)
    log = behind(memory)
    people = [memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")]
    for number in range(80):
        log.down = chance.random() < 0.4
        log.late, log.breaks = chance.random() < 0.5, chance.choice([-1, 0, 0, 1, 3])
        person = chance.choice(people)
        person.remember(f"turn {number}", id=f"m{number}")
    log.down, log.breaks = False, -1
    memory.flush()
    turns = [[int(text.split()[1]) for text in said(person)] for person in people]
    assert sorted(turns[0] + turns[1]) == list(range(80))
    assert turns == [sorted(mine) for mine in turns]


def test_threads_that_drain_at_once_repeat_nothing(memory: HybridMemory) -> None:
    log = behind(memory)
    people = [memory.scoped(user=f"user {number}") for number in range(4)]
    log.down = True
    for number in range(40):
        people[number % 4].remember(f"turn {number}")
    log.down = False
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda number: people[number % 4].remember(f"turn {number}"), range(40, 60)))
    for number, person in enumerate(people):
        expected = [f"turn {turn}" for turn in range(number, 60, 4)]
        assert said(person)[:10] == expected[:10]
        assert sorted(said(person)) == sorted(expected)
        assert alien(person) == []
    assert memory.stats().waiting == 0


def test_only_messages_wait(memory: HybridMemory) -> None:
    """What asks the log before it writes cannot go on without it."""
    alice = memory.scoped(user="alice", session="s1")
    place = alice.remember("one").positions[0]
    behind(memory).down = True
    for verb, arguments in (("reset", ()), ("rollback", (place,)), ("learn", ()), ("compact", ()), ("history", ())):
        with pytest.raises(StoreUnavailableError, match=FAILURE):
            getattr(alice, verb)(*arguments)
    outbox = memory._runtime.services.outbox
    assert outbox is not None
    assert outbox.heads() == {}


def test_a_crowd_of_owners_drains_one_by_one(memory: HybridMemory) -> None:
    log = behind(memory)
    log.down = True
    for number in range(30):
        memory.scoped(user=f"user {number}", tenant="北 :{}").remember(["one", "two"])
    log.down = False
    memory.flush()
    truth = memory._runtime.services.truth
    assert len(truth.heads()) == 30
    assert all(len(truth.read(owner, kinds=(EventKind.MESSAGE,))) == 2 for owner in truth.heads())


@pytest.mark.parametrize("key", [None, bytes(range(32))])
def test_what_waits_is_as_secret_as_the_store(store: str, outbox: str, key: bytes | None) -> None:
    pytest.importorskip("sqlcipher3")
    with open_memory(MemoryConfig(url=store, outbox=outbox, embedder="none"), key=key) as memory:
        behind(memory).down = True
        memory.scoped(user="alice").remember("my name is Quinzel")
        files = [path.read_bytes() for path in Path(outbox).parent.iterdir() if path.name.startswith("outbox")]
        assert any(b"Quinzel" in content for content in files) is (key is None)
    with open_memory(MemoryConfig(url=store, outbox=outbox, embedder="none"), key=key) as memory:
        memory.flush()
        assert said(memory.scoped(user="alice")) == ["my name is Quinzel"]


@pytest.mark.parametrize("way", ["memory.db", "x/../memory.db"])
def test_the_logs_own_file_is_no_outbox(opened: Open, tmp_path: Path, way: str) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(InvalidConfigError, match="outbox"):
        opened(url=f"sqlite:///{tmp_path / 'memory.db'}", outbox=str(tmp_path / way))
