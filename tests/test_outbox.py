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
from tests.doubles import Line, events_of, line_to, texts
from tests.faces import Child, Face, Open
from tests.world import stored

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
FAILURE = "no route to the log"


AWAY = StoreUnavailableError(FAILURE)


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


def down(memory: HybridMemory) -> Line:
    """The memory's log, which is away."""
    log = line_to(memory, "log")
    log.error = AWAY
    return log


def broken(log: Line, calls: int, when: str) -> None:
    """The log is there again, and away once it was written to so often, and once more."""
    log.error, log.breaks, log.spared["append"] = None, {"append": (when, AWAY)}, calls


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
def log(memory: HybridMemory) -> Line:
    return down(memory)


@pytest.fixture
def alice(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="alice")


def test_what_is_said_waits_and_comes_in_order(face: Face, memory: HybridMemory, log: Line) -> None:
    alice, bob = memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")
    log.error = None
    face(alice).remember("one")
    log.error = AWAY
    receipt = face(alice).remember(["two", "three"], at=NOW, metadata={"tag": 1})
    assert len(receipt.waiting) == 2
    assert (receipt.waiting, receipt.positions) == (receipt.ids, ())
    face(bob).remember("uno", id="b1")
    face(alice).remember({"role": "assistant", "content": "four"})
    log.error = None
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
    face: Face, memory: HybridMemory, alice: ScopedMemory, log: Line, drain: Callable[..., object]
) -> None:
    face(alice).remember("one")
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(memory).flush()
    log.error = None
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


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_break_while_draining_loses_nothing(face: Face, reopened: Callable[[], HybridMemory], when: str) -> None:
    turns = [f"turn {number}" for number in range(4)]
    for calls in range(len(turns)):
        memory = reopened()
        log = down(memory)
        face(memory.scoped(user=f"alice {calls}")).remember(turns)
        broken(log, calls, when)
        with pytest.raises(StoreUnavailableError):
            face(memory).flush()
        log.error = None
        assert memory.stats().waiting > 0
        memory.close()
        with reopened() as memory:
            face(memory).flush()
            assert said(memory.scoped(user=f"alice {calls}")) == turns
            assert memory.stats().waiting == 0


def test_a_crash_while_the_outbox_is_emptied_repeats_nothing(reopened: Callable[[], HybridMemory]) -> None:
    crashes = 0
    for step in range(7):
        memory = reopened()
        log = down(memory)
        memory.scoped(user=f"alice {step}").remember(["one", "two"])
        log.error = None
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


def test_saying_it_again_while_the_log_is_down_counts_once(face: Face, alice: ScopedMemory, log: Line) -> None:
    for _ in range(2):
        face(alice).remember("one", id="m1")
    with pytest.raises(IdConflictError, match="m1"):
        face(alice).remember("another", id="m1")
    log.error = None
    face(alice).flush()
    assert face(alice).remember("one", id="m1").duplicates == ("m1",)
    assert said(alice) == ["one"]
    alice.forget(ids="m1")
    log.error = AWAY
    face(alice).remember("one", id="m1")
    log.error = None
    face(alice).flush()
    assert said(alice) == [], "what was forgotten stays so under its id, whichever way it comes"


@pytest.mark.parametrize("crash", [False, True])
def test_words_under_a_taken_id(
    opened: Open, memory: HybridMemory, alice: ScopedMemory, log: Line, crash: bool
) -> None:
    alice.remember("mine", id="m1")
    alice.remember("after it")
    opened().scoped(user="alice").remember("theirs", id="m1")
    if crash:
        broken(log, 1, "after")
        with pytest.raises(StoreUnavailableError):
            memory.flush()
    log.error = None
    memory.flush()
    assert said(alice) == ["theirs", "mine", "after it"]
    assert [message.id == "m1" for message in alice.history()] == [True, False, False]
    assert memory.stats().waiting == 0


@pytest.mark.parametrize("drained", [False, True])
def test_forgetting_reaches_it(face: Face, memory: HybridMemory, log: Line, tmp_path: Path, drained: bool) -> None:
    people = [memory.scoped(user="alice"), memory.scoped(user="bob")]
    for person in people:
        face(person).remember("my name is Quinzel")
    log.error = None
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
def test_a_line_that_comes_and_goes_keeps_the_order(memory: HybridMemory, log: Line, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - for tests
    people = [memory.scoped(user="alice", session="s1"), memory.scoped(user="bob")]
    for number in range(80):
        broken(log, chance.choice([0, 0, 1, 3, 99]), chance.choice(["before", "after"]))
        log.error = AWAY if chance.random() < 0.4 else None
        chance.choice(people).remember(f"turn {number}", id=f"m{number}")
    log.error, log.breaks = None, {}
    memory.flush()
    turns = [[int(text.split()[1]) for text in said(person)] for person in people]
    assert sorted(turns[0] + turns[1]) == list(range(80))
    assert turns == [sorted(mine) for mine in turns]


def test_threads_that_drain_at_once_repeat_nothing(memory: HybridMemory, log: Line) -> None:
    people = [memory.scoped(tenant="北 :{}", user=f"user {number}") for number in range(4)]
    for number in range(40):
        people[number % 4].remember(f"turn {number}")
    log.error = None
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
        down(memory)
        memory.scoped(user="alice").remember("my name is Quinzel")
        waiting = b"".join(path.read_bytes() for path in Path(outbox).parent.glob("outbox*"))
        assert (b"Quinzel" in waiting) is (key is None)
    with open_memory(MemoryConfig(url=store, outbox=outbox, embedder="none"), key=key) as memory:
        memory.flush()
        assert said(memory.scoped(user="alice")) == ["my name is Quinzel"]
