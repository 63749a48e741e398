"""While the log cannot be reached, what is said waits on disk, and comes into the log in order."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import IdConflictError, StoreUnavailableError
from tests.doubles import events_of, texts
from tests.faces import Child, Face, Open
from tests.world import stored

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
    services.log = cast("Any", log)
    return log


def said(owner: ScopedMemory) -> list[str]:
    """What the log holds, and nothing beside it that nobody caused."""
    ours = {EventKind.MESSAGE, EventKind.CLAIM, EventKind.LEARNED, EventKind.ERASED}
    assert {event.kind for event in events_of(owner)} <= ours
    return texts(owner.history())


@pytest.fixture
def outbox(tmp_path: Path) -> str:
    return str(tmp_path / "outbox.db")


@pytest.fixture
def reopened(opened: Open, outbox: str) -> Callable[[], HybridMemory]:
    """Opens the same store and outbox again, as a new process would."""
    return lambda: opened(outbox=outbox)


@pytest.fixture
def memory(reopened: Callable[[], HybridMemory]) -> HybridMemory:
    return reopened()


@pytest.fixture
def log(memory: HybridMemory) -> Log:
    """The memory's log, which is down."""
    log = behind(memory)
    log.down = True
    return log


@pytest.fixture
def alice(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="alice")


def test_without_an_outbox_the_write_fails_and_writes_nothing(face: Face, opened: Open) -> None:
    memory = opened()
    alice = memory.scoped(user="alice", session="s1")
    alice.remember("before")
    log = behind(memory)
    log.down = True
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(alice).remember(["one", "two"])
    log.down = False
    assert (said(alice), memory.stats().waiting) == (["before"], 0)


def test_what_is_said_waits_and_comes_in_order(face: Face, memory: HybridMemory, log: Log) -> None:
    alice, bob = memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")
    log.down = False
    face(alice).remember("one")
    log.down = True
    receipt = face(alice).remember(["two", "three"], at=NOW, metadata={"tag": 1})
    assert len(receipt.waiting) == 2
    assert (receipt.waiting, receipt.positions) == (receipt.ids, ())
    face(bob).remember("uno", id="b1")
    face(alice).remember({"role": "assistant", "content": "four"})
    log.down = False
    assert memory.stats().waiting == 4
    assert face(alice).remember("five").waiting == ()
    assert said(alice) == ["one", "two", "three", "four", "five"]
    assert said(bob) == ["uno"]
    assert memory.stats().waiting == 0
    two = alice.history()[1]
    assert (two.id, two.at, two.metadata) == (receipt.ids[0], NOW, {"tag": 1})
    assert (alice.history()[3].role, bob.history()[0].id) == ("assistant", "b1")
    assert memory.scoped(user="alice", session="s2").history() == []


@pytest.mark.parametrize(
    "drain",
    [lambda memory, face: face(memory).flush(), lambda memory, face: face(memory.scoped(user="bob")).flush(),
     lambda memory, face: face(memory.scoped(user="bob")).remember("uno")],
    ids=["flush", "flush of another owner", "write of another owner"],
)  # fmt: skip
def test_it_drains_when_anybody_writes(
    face: Face, memory: HybridMemory, alice: ScopedMemory, log: Log, drain: Callable[..., object]
) -> None:
    face(alice).remember("one")
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(memory).flush()
    log.down = False
    drain(memory, face)
    assert (said(alice), memory.stats().waiting) == (["one"], 0)
    assert texts(face(alice).recall("one")) == ["one"]


def test_it_outlives_a_kill(reopened: Callable[[], HybridMemory], child: Child, store: str, outbox: str) -> None:
    done = child("waiter.py", store, outbox)
    assert (done.returncode, done.stdout) == (9, "2\n"), done.stderr
    memory = reopened()
    assert memory.stats().waiting == 2
    alice = memory.scoped(user="alice")
    alice.remember("three")
    assert said(alice) == ["one", "two", "three"]


@pytest.mark.parametrize("late", [False, True], ids=["before it wrote", "after it wrote"])
def test_a_break_while_draining_loses_nothing(face: Face, reopened: Callable[[], HybridMemory], late: bool) -> None:
    turns = [f"turn {number}" for number in range(4)]
    for broken in range(len(turns)):
        memory = reopened()
        log = behind(memory)
        log.down = True
        face(memory.scoped(user=f"alice {broken}")).remember(turns)
        log.down, log.late, log.breaks = False, late, broken
        with pytest.raises(StoreUnavailableError):
            face(memory).flush()
        assert memory.stats().waiting > 0
        memory.close()
        with reopened() as memory:
            face(memory).flush()
            assert said(memory.scoped(user=f"alice {broken}")) == turns
            assert memory.stats().waiting == 0


def test_a_crash_while_the_outbox_is_emptied_repeats_nothing(reopened: Callable[[], HybridMemory]) -> None:
    crashes = 0
    for step in range(7):
        memory = reopened()
        log = behind(memory)
        log.down = True
        memory.scoped(user=f"alice {step}").remember(["one", "two"])
        log.down = False
        services = memory._runtime.services
        services.outbox = cast("Any", Killed(services.outbox, step))
        try:
            memory.flush()
        except KeyboardInterrupt:
            crashes += 1
        memory.close()
        with reopened() as memory:
            memory.flush()
            assert said(memory.scoped(user=f"alice {step}")) == ["one", "two"]
            assert memory.stats().waiting == 0
    assert 1 <= crashes < 7


def test_saying_it_again_while_the_log_is_down_counts_once(face: Face, alice: ScopedMemory, log: Log) -> None:
    for _ in range(2):
        face(alice).remember("one", id="m1")
    with pytest.raises(IdConflictError, match="m1"):
        face(alice).remember("another", id="m1")
    log.down = False
    face(alice).flush()
    assert face(alice).remember("one", id="m1").duplicates == ("m1",)
    assert said(alice) == ["one"]
    alice.forget(ids="m1")
    log.down = True
    face(alice).remember("one", id="m1")
    log.down = False
    face(alice).flush()
    assert said(alice) == [], "what was forgotten stays so under its id, whichever way it comes"


@pytest.mark.parametrize("crash", [False, True])
def test_words_under_a_taken_id(opened: Open, memory: HybridMemory, alice: ScopedMemory, log: Log, crash: bool) -> None:
    alice.remember("mine", id="m1")
    alice.remember("after it")
    opened().scoped(user="alice").remember("theirs", id="m1")
    log.down, log.late, log.breaks = False, True, 1 if crash else -1
    if crash:
        with pytest.raises(StoreUnavailableError):
            memory.flush()
    memory.flush()
    assert said(alice) == ["theirs", "mine", "after it"]
    assert [message.id == "m1" for message in alice.history()] == [True, False, False]
    assert memory.stats().waiting == 0


@pytest.mark.parametrize("drained", [False, True])
def test_forgetting_reaches_it(face: Face, memory: HybridMemory, log: Log, tmp_path: Path, drained: bool) -> None:
    people = [memory.scoped(user="alice"), memory.scoped(user="bob")]
    for person in people:
        face(person).remember("my name is Quinzel")
    log.down = False
    if drained:
        face(memory).flush()
    assert b"Quinzel" in stored(tmp_path)
    face(memory).forget(user="alice")
    face(people[1]).forget(user="bob")
    face(memory).flush()
    assert [said(person) for person in people] == [[], []]
    memory.close()
    assert b"Quinzel" not in stored(tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_a_line_that_comes_and_goes_keeps_the_order(memory: HybridMemory, log: Log, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - for tests
    people = [memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")]
    for number in range(80):
        log.down = chance.random() < 0.4
        log.late, log.breaks = chance.random() < 0.5, chance.choice([-1, 0, 0, 1, 3])
        chance.choice(people).remember(f"turn {number}", id=f"m{number}")
    log.down, log.breaks = False, -1
    memory.flush()
    turns = [[int(text.split()[1]) for text in said(person)] for person in people]
    assert sorted(turns[0] + turns[1]) == list(range(80))
    assert turns == [sorted(mine) for mine in turns]


def test_threads_that_drain_at_once_repeat_nothing(memory: HybridMemory, log: Log) -> None:
    people = [memory.scoped(tenant="北 :{}", user=f"user {number}") for number in range(4)]
    for number in range(40):
        people[number % 4].remember(f"turn {number}")
    log.down = False
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda number: people[number % 4].remember(f"turn {number}"), range(40, 60)))
    for number, person in enumerate(people):
        expected = [f"turn {turn}" for turn in range(number, 60, 4)]
        assert said(person)[:10] == expected[:10]
        assert sorted(said(person)) == sorted(expected)
    assert memory.stats().waiting == 0


@pytest.mark.parametrize("key", [None, bytes(range(32))])
def test_what_waits_is_as_secret_as_the_store(store: str, outbox: str, key: bytes | None) -> None:
    pytest.importorskip("sqlcipher3")
    with open_memory(MemoryConfig(url=store, outbox=outbox, embedder="none"), key=key) as memory:
        behind(memory).down = True
        memory.scoped(user="alice").remember("my name is Quinzel")
        waiting = b"".join(path.read_bytes() for path in Path(outbox).parent.glob("outbox*"))
        assert (b"Quinzel" in waiting) is (key is None)
    with open_memory(MemoryConfig(url=store, outbox=outbox, embedder="none"), key=key) as memory:
        memory.flush()
        assert said(memory.scoped(user="alice")) == ["my name is Quinzel"]
