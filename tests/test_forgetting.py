"""What is forgotten is gone: from every verb, and from every byte of the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.testing.models import FaultyEmbedder
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import texts
from tests.faces import Face

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
CANARY = "zirconquokka"
CANARIES = (CANARY, "锆石短尾袋鼠")


NOW = START + timedelta(days=60)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., HybridMemory]]:
    """Opens the test's store, which holds vectors in several ways; the one before is closed."""
    with ExitStack() as stack:

        def open_one(model: Any = None, **config: Any) -> HybridMemory:
            settings = {"embedder": "hashing", "exact_limit": 8, **config}
            config_of_store = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", **settings)
            return stack.enter_context(
                open_memory(config_of_store, embedder=model, token_counter=estimate_tokens, clock=lambda: NOW)
            )

        yield open_one


@pytest.fixture
def memory(make: Callable[..., HybridMemory]) -> HybridMemory:
    return make()


@pytest.fixture
def alice(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="alice", session="s1")


@pytest.fixture
def moved(alice: ScopedMemory) -> ScopedMemory:
    """Alice, who lived in Paris and moved to Berlin two days later."""
    alice.remember("I live in Paris.", at=START)
    alice.remember("I moved to Berlin.", at=START + timedelta(days=2))
    return alice


def traces(folder: Path) -> list[str]:
    """Files that still hold a canary, plain or as JSON escapes it."""
    wanted = [form.encode() for word in CANARIES for form in (word, json.dumps(word)[1:-1], word.upper())]
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in wanted)
    ]


def chat(alice: ScopedMemory) -> ScopedMemory:
    """A conversation with a canary in turns, facts, a summary, notes, the ledger and a payload."""
    for number in range(12):
        alice.remember(f"Room {number} has {number + 2} chairs and a window.", at=START + timedelta(minutes=number))
    for number, word in enumerate(CANARIES):
        at = START + timedelta(hours=1 + number)
        alice.remember(f"I live in {word}. Remember that my password is {word}!", at=at)
        alice.remember(f"Noted: {word}.", role="assistant", at=at + timedelta(minutes=1))
    written = {"path": f"src/{CANARY}.py", "content": CANARY}
    alice.remember(
        [{"role": "assistant", "tool_calls": [{"name": "write_file", "arguments": written, "id": "1"}]},
         {"role": "tool", "tool_call_id": "1", "content": f"wrote {CANARY}"}], at=START + timedelta(hours=4),
    )  # fmt: skip
    alice.offload(f"A long result about {CANARY} and 锆石短尾袋鼠. " * 50)
    alice.flush()
    alice.assemble(f"What is {CANARY}?", max_tokens=600)
    alice.compact(keep=1)
    alice.remember("Thanks, that is all for today.", at=START + timedelta(hours=5))
    alice.remember("And one more room.", at=START + timedelta(hours=6))
    alice.compact(keep=1)
    alice.flush()
    return alice


def test_no_byte_of_a_canary_is_left(make: Callable[..., HybridMemory], tmp_path: Path) -> None:
    with make() as memory:
        alice = chat(memory.scoped(user="alice", session="s1"))
        assert traces(tmp_path), "the canary was there"
        for word in CANARIES:
            receipt = alice.forget(query=word)
            assert receipt.erased["turns"] >= 2
        assert traces(tmp_path) == [], "while the store is open"
        assert not [line for line in alice.summary() if CANARY in line.text]
        assert CANARY not in alice.summary().text
        assert not [fact for fact in alice.facts(history=True) if CANARY in fact.value]
        assert not [hit for hit in alice.recall(CANARY, k=50) if CANARY in hit.record.text]
        assert CANARY not in alice.assemble("What do you know?", max_tokens=900).text
    assert traces(tmp_path) == [], "after closing"
    memory = make()
    assert len(memory.scoped(user="alice", session="s1").history()) == 14
    memory.rebuild()
    assert traces(tmp_path) == []


def test_a_dry_run_tells_and_changes_nothing(memory: HybridMemory, alice: ScopedMemory, face: Face) -> None:
    chat(alice)
    before = memory.stats()
    receipt = face(alice).forget(query=CANARY, dry_run=True)
    assert receipt.dry_run
    assert memory.stats() == before
    nothing = face(alice).forget(query="Rome")
    assert (nothing.ids, dict(nothing.erased), memory.stats().events) == ((), {}, before.events)
    done = face(alice).forget(query=CANARY)
    assert {name: done.erased[name] for name in receipt.erased} == dict(receipt.erased)
    assert done.positions == receipt.positions


def test_only_this_user_is_forgotten(memory: HybridMemory, alice: ScopedMemory, tmp_path: Path, face: Face) -> None:
    chat(alice)
    bob = memory.scoped(user="bob", session="s1")
    bob.remember("I live in Rome.")
    everything = memory.scoped(user="alice")
    face(everything).forget(user="alice")
    assert traces(tmp_path) == []
    assert (alice.history(), everything.facts(history=True), everything.recall("room", k=5)) == ([], [], [])
    assert not alice.profile()
    assert texts(bob.history()) == texts(bob.recall("Rome", k=5, kinds=["turn"])) == ["I live in Rome."]


def test_a_user_is_forgotten_everywhere(memory: HybridMemory, alice: ScopedMemory, tmp_path: Path, face: Face) -> None:
    chat(alice)
    memory.scoped(user="alice", agent="coder").remember(f"The {CANARY} is mine.")
    team = memory.scoped(user="bob").create_space("team")
    team.grant(user="alice", right="write")
    team.remember("Bob was here.")
    memory.scoped(user="alice").space("team").remember(f"And {CANARY} was too.")
    memory.flush()
    assert team.recall(CANARY, k=5)
    planned = face(memory).forget(user="alice", dry_run=True)
    assert traces(tmp_path)
    assert planned.erased["turns"] == face(memory).forget(user="alice").erased["turns"]
    assert traces(tmp_path) == []
    assert texts(team.history()) == ["Bob was here."]


def test_forgetting_before_an_instant_keeps_what_came_later(moved: ScopedMemory) -> None:
    moved.forget(before=START + timedelta(days=1))
    assert texts(moved.history()) == ["I moved to Berlin."]
    assert [fact.value for fact in moved.facts(attribute="home", history=True)] == ["Berlin"]


def test_a_fact_is_forgotten_with_the_turns_that_say_so(moved: ScopedMemory) -> None:
    (fact,) = moved.facts(attribute="home")
    moved.forget(ids=fact)
    assert [(f.value, f.current) for f in moved.facts(attribute="home")] == [("Paris", True)]


def test_the_next_turn_is_no_longer_found_by_what_it_answered(alice: ScopedMemory) -> None:
    (asked,) = alice.remember(f"Do you like the {CANARY}?", role="assistant").ids
    alice.remember("Yes!")
    alice.flush()
    assert [hit.signals.text > 0 for hit in alice.recall(CANARY, k=5) if hit.record.text == "Yes!"] == [True]
    alice.forget(ids=asked)
    assert [hit.signals.text for hit in alice.recall(CANARY, k=5)] == [0.0]


@pytest.mark.parametrize(
    "wanted",
    [{}, {"ids": "x", "query": "y"}, {"ids": []}, {"ids": "nobody"}, {"query": " "}, {"user": "bob"}, {"ids": [3]},
     {"before": datetime(2024, 1, 1)}],  # noqa: DTZ001 - naive
)  # fmt: skip
def test_what_is_not_clear_destroys_nothing(alice: ScopedMemory, wanted: dict[str, Any]) -> None:
    alice.remember("I live in Paris.")
    with pytest.raises(InvalidInputError):
        alice.forget(**wanted)
    assert len(alice.history()) == 1


@pytest.mark.parametrize(
    ("retention", "ages"),
    [({"ttl": {"turn": timedelta(days=30)}}, (60, 1)), ({"half_life": timedelta(days=10), "least": 0.1}, (60, 60))],
    ids=["time to live", "forgetting curve"],
)
def test_expired_turns_go(make: Callable[..., HybridMemory], retention: dict[str, Any], ages: tuple[int, int]) -> None:
    """By age, or later the more it matters."""
    alice = make(embedder="none", retention=retention).scoped(user="alice", session="s1")
    for age, importance, text in zip(ages, (0.0, 1.0), ("Trivial chairs.", "Vital chairs."), strict=True):
        alice.remember({"content": text, "importance": importance}, at=NOW - timedelta(days=age))
    assert texts(alice.recall("chairs", k=5)) == ["Vital chairs."]
    assert len(alice.history()) == 2
    assert alice.forget(expired=True).erased["turns"] == 1
    assert texts(alice.history()) == ["Vital chairs."]


def test_a_failing_embedder_does_not_keep_what_is_forgotten(make: Callable[..., HybridMemory], tmp_path: Path) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    alice = chat(make(embedder, embedder="none").scoped(user="alice", session="s1"))
    with embedder.failing(ConnectionError("offline")):
        for word in CANARIES:
            alice.forget(query=word)
    assert traces(tmp_path) == []


TEXTS = st.lists(
    st.sampled_from(["I live in Paris.", "I love jazz.", "Nice day.", "我住在杭州。", "Call me Al."]), max_size=8
)


@given(TEXTS, st.sets(st.integers(0, 7)))
@settings(max_examples=20)
def test_what_is_left_is_as_if_the_rest_had_never_been_said(said: list[str], gone: set[int]) -> None:
    config = MemoryConfig(url="memory://", embedder="none")
    with open_memory(config) as memory, open_memory(config) as other:
        alice, fresh = (one.scoped(user="u", session="s") for one in (memory, other))
        for number, text in enumerate(said):
            alice.remember(text, at=START + timedelta(days=number), id=f"m{number}")
            if number not in gone:
                fresh.remember(text, at=START + timedelta(days=number), id=f"m{number}")
        alice.flush()
        erased = [f"m{number}" for number in range(len(said)) if number in gone]
        if erased:
            alice.forget(ids=erased)
        fresh.flush()
        assert [m.id for m in alice.history()] == [m.id for m in fresh.history()]
        facts = [
            [(f.attribute, f.value, f.state, f.sources) for f in one.facts(history=True)] for one in (alice, fresh)
        ]
        assert facts[0] == facts[1]
        assert alice.profile() == fresh.profile()
        found = [
            sorted(hit.record.text for hit in one.recall("Paris jazz day 杭州 call", k=50)) for one in (alice, fresh)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("dry_run", [True, False])
def test_words_that_other_sessions_hold_too_are_told_of(memory: HybridMemory, dry_run: bool) -> None:
    memory.scoped(user="u", session="monday").remember(["hazelnuts", "walnuts"])
    friday = memory.scoped(user="u", session="friday")
    assert friday.forget(query="hazelnuts", dry_run=dry_run).note.startswith("1 of other sessions hold these words")
    friday.remember("hazelnuts again")
    receipt = friday.forget(query="hazelnuts", dry_run=dry_run)
    assert (receipt.erased["turns"], receipt.note[:10]) == (1, "1 of other")
    assert receipt.note in repr(receipt)
    assert friday.forget(query="almonds", dry_run=dry_run).note == ""
    assert memory.scoped(user="u").forget(query="hazelnuts", dry_run=dry_run).note == ""
