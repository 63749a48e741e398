from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.documents.items import (
    FindItems,
    GetItem,
    Item,
    ItemOperation,
    ItemsProjection,
    KeptItems,
    ListNamespaces,
    PutItem,
)
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory.memory.store import ItemMemory
from hybrid_memory.runtime.runners import InlineRunner, drive
from tests.doubles import Clock
from tests.faces import Face, Open

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOME = ("users", "alice")


def put(key: str, words: str, *more: str, ttl: timedelta | None = None) -> PutItem:
    return PutItem(HOME, key, {"text": words}, (words, *more), ttl)


def one(items: ItemMemory, operation: ItemOperation) -> Any:
    (found,) = items.batch([operation])
    return found


def ask(items: ItemMemory, *operations: ItemOperation) -> list[Any]:
    return list(items.batch(operations))


def words(found: list[Item]) -> list[str]:
    return [item.value["text"] for item in found]


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def timed(opened: Open, clock: Clock) -> ItemMemory:
    """Items in a store whose clock is set by hand."""
    return opened(clock=clock).items("app")


def files(store: str) -> bytes:
    path = Path(store.removeprefix("sqlite:///"))
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def test_what_is_read_stood_before_the_batch(memory: HybridMemory, face: Face) -> None:
    items = memory.items("app")
    asked: list[ItemOperation] = [
        GetItem(HOME, "a"), put("a", "first"), FindItems(), FindItems(query="first"), put("a", "second"),
        PutItem(HOME, "gone", None), ListNamespaces(),
    ]  # fmt: skip
    assert face(items).batch(asked) == [None, None, [], [], None, None, []]
    item, namespaces = ask(face(items), GetItem(HOME, "a"), ListNamespaces())
    assert (item.value, namespaces) == ({"text": "second"}, [HOME])
    assert face(items).batch([]) == []
    assert memory.stats().events == 1


def test_an_earlier_value_is_never_found_whoever_asks(opened: Open, face: Face) -> None:
    memory, other = opened(), opened()
    items = memory.items("app")
    items.batch([put("a", "zebra crossing"), put("b", "lion den"), put("c", "a zebra in a herd of others")])
    assert words(one(other.items("app"), FindItems(query="zebra")))[0] == "zebra crossing"
    one(items, put("a", "giraffe house"))
    one(items, PutItem(HOME, "b", {"text": "unindexed"}))

    def zebras(handle: HybridMemory) -> list[tuple[str, bool]]:
        found = one(face(handle.items("app")), FindItems(query="zebra crossing"))
        return [(item.value["text"], item.score is None) for item in found]

    expected = [("a zebra in a herd of others", False), ("giraffe house", False), ("unindexed", True)]
    assert zebras(memory) == zebras(other) == expected
    memory.rebuild()
    assert zebras(memory) == zebras(other) == expected
    assert memory.stats().records == 2
    memory.close()
    with opened() as again:
        assert zebras(again) == expected


def test_what_expired_is_hidden_at_once_and_destroyed_later(timed: ItemMemory, clock: Clock, store: str) -> None:
    timed.batch([put("a", "kangaroo", ttl=timedelta(minutes=10)), put("b", "for ever")])
    one(timed, FindItems(query="kangaroo", refresh=False))
    clock.now += timedelta(minutes=10)
    assert timed.batch([GetItem(HOME, "a"), FindItems(query="kangaroo")])[0] is None
    assert words(one(timed, FindItems(query="kangaroo"))) == ["for ever"]
    assert b"kangaroo" in files(store)
    one(timed, put("c", "another"))
    assert b"kangaroo" not in files(store)


def test_a_deletion_destroys_all_values_to_the_last_byte(opened: Open, clock: Clock, store: str, face: Face) -> None:
    memory = opened(clock=clock)
    items = memory.items("app")
    for operation in (put("a", "armadillo", "armadillo too"), put("a", "aardvark"), put("keep", "keeper")):
        one(items, operation)
    items.batch([put("b", "buffalo"), put("c", "camel"), FindItems(query="aardvark")])
    one(face(items), PutItem(HOME, "a", None))
    there = files(store)
    assert not [name for name in (b"armadillo", b"aardvark") if name in there]
    # So soon after the files were cleaned, the next deletion leaves that to a later write, or to a sweep.
    one(face(items), PutItem(HOME, "b", None))
    assert "buffalo" not in str(memory._runtime.services.truth.read(items.scope))
    assert memory.stats().records == 2
    clock.now += timedelta(minutes=6)
    one(items, put("d", "d"))
    assert b"buffalo" not in files(store)
    one(face(items), PutItem(HOME, "c", None))
    face(items).sweep()
    assert b"camel" not in files(store)
    assert sorted(item.key for item in one(items, FindItems())) == ["d", "keep"]


def test_an_interrupted_deletion_is_finished_later(opened: Open, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened()
    items = memory.items("app")
    one(items, put("a", "armadillo"))

    def fails(*_: Any, **__: Any) -> Any:
        raise StoreUnavailableError("no disk")

    with monkeypatch.context() as broken:
        broken.setattr(memory._runtime.services.log, "erase", fails)
        with pytest.raises(StoreUnavailableError):
            one(items, PutItem(HOME, "a", None))
    assert one(items, GetItem(HOME, "a")) is None
    assert one(items, FindItems(query="armadillo")) == []
    memory.close()
    with opened() as again:
        one(again.items("app"), put("b", "another"))
        assert b"armadillo" not in files(store)


def test_threads_and_handles_lose_nothing(opened: Open) -> None:
    handles = [opened().items("app"), opened().items("app")]

    def write(number: int) -> None:
        for step in range(12):
            handles[number % 2].batch([put(f"{number}-{step}", f"w{number} {step}"), put("shared", f"s{number}")])
            if step % 4 == 3:
                handles[number % 2].batch([PutItem(HOME, f"{number}-{step}", None), FindItems(query="w1")])

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(write, range(6)))
    expected = {f"{number}-{step}" for number in range(6) for step in range(12) if step % 4 != 3} | {"shared"}
    for items in (*handles, opened().items("app")):
        assert {item.key for item in one(items, FindItems(limit=1000))} == expected
        assert {item.key for item in one(items, FindItems(query="w1", limit=1000))} == expected


KEYS = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.sampled_from([None, 1, 5]), st.integers(0, 2)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("get"), KEYS),
        st.tuples(st.just("pass"), st.sampled_from([0.1, 1.0, 6.0])),
        st.tuples(st.just("sweep")),
    ),
    max_size=25,
)


@settings(max_examples=30)
@given(STEPS)
def test_the_fold_is_the_same_however_it_is_read(steps: list[tuple[Any, ...]]) -> None:
    """What was kept up to date, and what a process reads that starts now, agree with a dict and with one another."""
    clock = Clock(NOON)
    oracle: dict[str, tuple[int, datetime, timedelta | None]] = {}
    with open_memory(MemoryConfig(url="memory://", embedder="none"), clock=clock) as memory:
        items = memory.items("app")
        for number, step in enumerate(steps):
            oracle = {k: v for k, v in oracle.items() if v[2] is None or v[1] + v[2] > clock.now}
            if step[0] == "put":
                ttl = None if step[2] is None else timedelta(minutes=step[2])
                texts = tuple(f"text {number} {part}" for part in range(step[3]))
                one(items, PutItem((), step[1], {"n": number}, texts, ttl))
                oracle[step[1]] = (number, clock.now, ttl)
            elif step[0] == "delete":
                one(items, PutItem((), step[1], None))
                oracle.pop(step[1], None)
            elif step[0] == "get":
                item = one(items, GetItem((), step[1]))
                assert (None if item is None else item.value["n"]) == oracle.get(step[1], (None,))[0]
                if step[1] in oracle:
                    oracle[step[1]] = (oracle[step[1]][0], clock.now, oracle[step[1]][2])
            elif step[0] == "pass":
                clock.now += timedelta(minutes=step[1])
            else:
                items.sweep()
            services = memory._runtime.services
            one(items, ListNamespaces())
            known = drive(services.state(ItemsProjection).read(InlineRunner(), services, items.scope))
            fresh = KeptItems().after(services.truth.read(items.scope, kinds=(EventKind.ITEM, EventKind.ERASED)))
            assert (known.items, known.dead, known.soiled, known.cleaned) == (
                fresh.items, fresh.dead, fresh.soiled, fresh.cleaned,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: PutItem(HOME, "a", {"x": float("nan")}), "JSON"),
        (lambda: PutItem(HOME, "a", {"x": "\ud800"}), "surrogate"),
        (lambda: PutItem(HOME, "a", [1]), r"must be dict\[str, Any\]"),  # type: ignore[arg-type]
        (lambda: PutItem(HOME, "\ud800", {}), "cannot be stored"),
        (lambda: GetItem((7,), "a"), r"must be tuple\[str"),  # type: ignore[arg-type]
        (lambda: FindItems(limit=-1), "0 or more"),
    ],
)
def test_what_cannot_be_stored_or_asked_is_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        wrong()
