from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, RecallConfig, RetentionConfig, open_memory
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
from hybrid_memory.memory.texts import ItemMemory
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


def test_an_update_keeps_when_it_was_created(timed: ItemMemory, clock: Clock) -> None:
    one(timed, put("a", "old"))
    clock.now += timedelta(hours=1)
    one(timed, put("a", "new"))
    item = one(timed, GetItem(HOME, "a"))
    assert (item.created_at, item.updated_at) == (NOON, clock.now)
    one(timed, PutItem(HOME, "a", None))
    one(timed, put("a", "newer", ttl=timedelta(minutes=1)))
    assert one(timed, GetItem(HOME, "a")).created_at == clock.now
    clock.now += timedelta(minutes=2)
    one(timed, put("a", "newest"))
    item = one(timed, GetItem(HOME, "a"))
    assert (item.value["text"], item.created_at) == ("newest", clock.now), "what expired begins anew"


def test_values_are_copies(memory: HybridMemory) -> None:
    items = memory.items("app")
    value = {"tags": ["a"]}
    one(items, PutItem(HOME, "a", value))
    value["tags"].append("b")
    for operation in (GetItem(HOME, "a"), FindItems()):
        found = one(items, operation)
        item = found[0] if isinstance(found, list) else found
        assert item.value == {"tags": ["a"]}
        item.value["tags"].append("c")
    assert one(items, GetItem(HOME, "a")).value == {"tags": ["a"]}


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


def test_the_best_text_of_an_item_ranks_it_once(memory: HybridMemory, face: Face) -> None:
    items = memory.items("app")
    items.batch([put("a", "apples", "bananas", "cherries"), put("b", "bananas bananas"), put("c", "figs")])
    found = one(face(items), FindItems(query="cherries"))
    assert sorted(item.key for item in found) == ["a", "b", "c"]
    assert found[0].key == "a"
    assert all(before.score >= after.score for before, after in pairwise(found))
    assert 0 <= found[-1].score < found[0].score <= 1


def test_words_alone_find_what_contains_them(opened: Open, face: Face) -> None:
    items = opened(embedder="none").items("app")
    items.batch([put("a", "Alice likes 乌龙茶"), put("b", "Bob likes coffee")])
    assert words(one(face(items), FindItems(query="乌龙茶"))) == ["Alice likes 乌龙茶"]
    assert one(face(items), FindItems(query="tractor")) == []


def test_pages_of_a_search_make_up_the_whole(opened: Open) -> None:
    items = opened(url="memory://").items("app")
    chance = random.Random(7)  # noqa: S311 - the same texts every time
    texts = [" ".join(chance.choices("red green blue long short old new".split(), k=9)) for _ in range(200)]
    items.batch(
        [PutItem(("n", str(number % 3)), str(number), {"n": number}, (text,)) for number, text in enumerate(texts)]
        + [PutItem(("n", "unindexed"), str(number), {"n": number}) for number in range(200, 206)]
    )

    def odd(value: dict[str, Any]) -> bool:
        return bool(value["n"] % 2)

    for query in ("", "red blue"):
        whole = one(items, FindItems(("n",), query=query, where=odd, limit=250))
        assert sorted(item.value["n"] for item in whole) == list(range(1, 206, 2))
        pages = [
            one(items, FindItems(("n",), query=query, where=odd, limit=9, offset=start)) for start in range(0, 110, 9)
        ]
        assert [item.key for page in pages for item in page] == [item.key for item in whole]
    assert [item.score is None for item in whole] == [False] * 100 + [True] * 3


@pytest.mark.parametrize("wanted", [{17, 1199}, set(range(600, 1200))], ids=["rare", "worst"])
def test_what_is_wanted_is_found_below_hundreds_that_are_not(opened: Open, wanted: set[int]) -> None:
    items = opened(url="memory://").items("app")
    texts = ["the same words" if n < 600 else "nothing like that" for n in range(1200)]
    items.batch([PutItem(("n",), str(n), {"n": n}, (text,)) for n, text in enumerate(texts)])
    found = one(items, FindItems(("n",), query="the same words", where=lambda value: value["n"] in wanted, limit=8))
    assert len(found) == min(8, len(wanted))
    assert {item.value["n"] for item in found} <= wanted


def test_prefixes_match_label_by_label(memory: HybridMemory, face: Face) -> None:
    items = memory.items("app")
    places = [("u", "al"), ("u", "alice"), ("u", "al", "x"), ("U", "al"), ('["u"', "al"), ("u.al",)]
    items.batch([PutItem(place, "k", {"text": str(place)}, ("same",)) for place in places])
    for query in ("", "same"):
        found = ask(face(items), FindItems(("u", "al"), query=query), FindItems((), query=query))
        assert {item.namespace for item in found[0]} == {("u", "al"), ("u", "al", "x")}
        assert {item.namespace for item in found[1]} == set(places)


def test_what_expired_is_hidden_at_once_and_destroyed_later(timed: ItemMemory, clock: Clock, store: str) -> None:
    timed.batch([put("a", "kangaroo", ttl=timedelta(minutes=10)), put("b", "for ever")])
    one(timed, FindItems(query="kangaroo", refresh=False))
    clock.now += timedelta(minutes=10)
    assert timed.batch([GetItem(HOME, "a"), FindItems(query="kangaroo")])[0] is None
    assert words(one(timed, FindItems(query="kangaroo"))) == ["for ever"]
    assert b"kangaroo" in files(store)
    one(timed, put("c", "another"))
    assert b"kangaroo" not in files(store)


def test_reading_lets_a_time_to_live_begin_anew(timed: ItemMemory, clock: Clock, face: Face) -> None:
    ttl = timedelta(minutes=10)
    timed.batch([put("got", "x", ttl=ttl), put("found", "y", ttl=ttl), put("left", "z", ttl=ttl)])
    clock.now += timedelta(minutes=6)
    found = FindItems(where=lambda value: value["text"] == "y")
    face(timed).batch([GetItem(HOME, "got"), found, GetItem(HOME, "left", refresh=False)])
    clock.now += timedelta(minutes=6)
    assert sorted(item.key for item in one(timed, FindItems(refresh=False))) == ["found", "got"]
    assert face(timed).sweep() == 1
    clock.now += timedelta(minutes=4)
    assert (face(timed).sweep(), face(timed).sweep()) == (2, 0)
    assert one(timed, FindItems()) == []


def test_reading_again_and_again_does_not_fill_the_log(opened: Open, clock: Clock) -> None:
    memory = opened(clock=clock)
    items = memory.items("app")
    one(items, put("a", "x", ttl=timedelta(minutes=100)))
    for _ in range(200):
        clock.now += timedelta(seconds=1)
        one(items, GetItem(HOME, "a"))
    assert memory.stats().events < 8
    clock.now += timedelta(minutes=200)
    items.sweep()
    assert memory.stats().events == 1


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


def test_values_that_are_replaced_often_do_not_pile_up(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(url="memory://")
    items = memory.items("app")
    one(items, put("b", "counts in apples"))
    for number in range(250):
        one(items, put("a", f"counts {number}"))
        if number % 50 == 0:
            assert words(one(items, FindItems(query="counts")))[0] == f"counts {number}"
    assert memory.stats().events < 110
    assert memory.stats().records <= 103


def test_what_hides_old_turns_hides_no_item(opened: Open, clock: Clock) -> None:
    forgetful = RetentionConfig(half_life=timedelta(hours=1), ttl={"turn": timedelta(hours=1)})
    items = opened(clock=clock, retention=forgetful, recall=RecallConfig(diversity=1.0, candidates=1)).items("app")
    items.batch([put("a", "one apple"), put("b", "two apples and an apple"), put("c", "three pears")])
    clock.now += timedelta(days=400)
    assert len(one(items, FindItems(query="apple"))) == 3


def test_items_are_nobodys_turns(memory: HybridMemory) -> None:
    items = memory.items("app", tenant="acme")
    one(items, put("a", "I live in Berlin and my name is Alice."))
    memory.flush()
    alice = memory.scoped(user="alice", tenant="acme")
    assert alice.recall("Berlin") == []
    assert alice.facts() == []
    assert memory.scoped(agent="app", tenant="acme").history() == []
    assert one(memory.items("app"), FindItems()) == []
    assert one(memory.items("other", tenant="acme"), FindItems()) == []
    alice.remember("Hello Berlin")
    memory.forget(user="alice", tenant="acme")
    assert len(one(items, FindItems(query="Berlin"))) == 1


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
        (lambda: PutItem(HOME, "a", [1]), "must be values by name"),  # type: ignore[arg-type]
        (lambda: PutItem(HOME, "\ud800", {}), "no label or key"),
        (lambda: GetItem((7,), "a"), "must be .*texts"),  # type: ignore[arg-type]
        (lambda: FindItems(limit=-1), "0 or more"),
    ],
)
def test_what_cannot_be_stored_or_asked_is_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        wrong()


def test_a_recall_finds_items_of_a_namespace_beside_turns(opened: Open, face: Face, clock: Clock) -> None:
    memory = opened(clock=clock)
    items, alice = memory.items("app"), memory.scoped(user="alice")
    alice.remember("The night train leaves at nine.")
    items.batch(
        [put("train", "The night train has a bar.", "Its seats are red."), put("gone", "The night train is late.")]
    )
    items.batch([PutItem(("users", "bob"), "train", {}, ("The night train of Bob.",))])
    items.batch([PutItem(("users", "alice", "trips"), "train", {}, ("The night train to Porto.",))])
    items.batch([put("gone", "A cat.", ttl=timedelta(minutes=5)), put("train", "The night train has no bar.")])

    def found(*labels: str, **options: Any) -> list[str]:
        hits = face(alice).recall("night train", items=items.under(*labels), **options)
        return sorted(hit.record.text for hit in hits)

    own = ["The night train leaves at nine."]
    mine = ["A cat.", "The night train has no bar.", "The night train to Porto."]
    assert found("users", "alice") == sorted([*own, *mine])
    assert found("users", "alice", "trips") == [*own, "The night train to Porto."]
    assert found("users", "al") == own
    assert found() == sorted([*own, *mine, "The night train of Bob."])
    assert len(found("users", "alice", k=2)) == 2
    assert found("users", "alice", kinds=["fact"]) == mine
    clock.now += timedelta(hours=1)
    assert "A cat." not in found("users", "alice")
    items.batch([PutItem(HOME, "train", None)])
    assert found("users", "alice") == [*own, "The night train to Porto."]
    assert sorted(hit.record.text for hit in alice.recall("night train")) == own


def test_items_of_others_are_not_recalled(opened: Open, face: Face) -> None:
    memory = opened()
    alice = memory.scoped(user="alice", session="s")
    alice.remember("The night train leaves at nine.")
    items = memory.items("app")
    for wrong, told in (
        (memory.items("app", tenant="other"), "another tenant"),
        (opened(url="memory://").items("app"), "another memory"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            face(alice).recall("train", items=wrong)
    with pytest.raises(InvalidInputError, match="leave items out"):
        face(alice).recall("train", items=items, scope="session")
    with pytest.raises(InvalidInputError, match="view of the past"):
        face(alice.as_of(1)).recall("train", items=items)
    with pytest.raises(InvalidInputError, match="items must be"):
        face(alice).recall("train", items="users")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        items.under("a\ud800")
