"""What is forgotten is gone: from every verb, and from every byte of the store."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.testing.faults import FaultyEmbedder
from hybrid_memory.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from tests.conftest import Face

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
CANARY = "zirconquokka"
CANARIES = (CANARY, "锆石短尾袋鼠")


def opened(folder: Path, **config: Any) -> HybridMemory:
    settings = {"embedder": "hashing", "exact_limit": 8, **config}
    return open_memory(MemoryConfig(url=f"sqlite:///{folder / 'memory.db'}", **settings), token_counter=estimate_tokens)


def traces(folder: Path) -> list[str]:
    """Files that still hold a canary, plain or as JSON escapes it."""
    wanted = [form.encode() for word in CANARIES for form in (word, json.dumps(word)[1:-1], word.upper())]
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in wanted)
    ]


def chat(memory: HybridMemory) -> ScopedMemory:
    """A conversation with a canary in turns, facts, a summary, notes, the ledger and a payload."""
    alice = memory.scoped(user="alice", session="s1")
    for number in range(12):
        alice.remember(f"Room {number} has {number + 2} chairs and a window.", at=START + timedelta(minutes=number))
    for number, word in enumerate(CANARIES):
        at = START + timedelta(hours=1 + number)
        alice.remember(f"I live in {word}. Remember that my password is {word}!", at=at)
        alice.remember(f"Noted: {word}.", role="assistant", at=at + timedelta(minutes=1))
    alice.remember(
        {
            "role": "assistant",
            "tool_calls": [
                {"name": "write_file", "arguments": {"path": f"src/{CANARY}.py", "content": CANARY}, "id": "1"}
            ],
        },
        at=START + timedelta(hours=4),
    )
    alice.remember({"role": "tool", "tool_call_id": "1", "content": f"wrote {CANARY}"}, at=START + timedelta(hours=4))
    alice.offload(f"A long result about {CANARY} and 锆石短尾袋鼠. " * 50)
    alice.flush()
    alice.assemble(f"What is {CANARY}?", max_tokens=600)
    alice.compact(keep=1)
    alice.remember("Thanks, that is all for today.", at=START + timedelta(hours=5))
    alice.remember("And one more room.", at=START + timedelta(hours=6))
    alice.compact(keep=1)
    alice.flush()
    return alice


def test_no_byte_of_a_canary_is_left(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        alice = chat(memory)
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
    with opened(tmp_path) as memory:
        assert len(memory.scoped(user="alice", session="s1").history()) == 14
        memory.rebuild()
    assert traces(tmp_path) == []


def test_a_dry_run_says_what_would_go_and_changes_nothing(tmp_path: Path, face: Face) -> None:
    with opened(tmp_path) as memory:
        alice = chat(memory)
        before = memory.stats()
        receipt = face(alice).forget(query=CANARY, dry_run=True)
        assert receipt.dry_run
        assert memory.stats() == before
        done = face(alice).forget(query=CANARY)
        assert {name: done.erased[name] for name in receipt.erased} == dict(receipt.erased)
        assert done.positions == receipt.positions


def test_everything_of_a_user_goes_and_nothing_of_another(tmp_path: Path, face: Face) -> None:
    with opened(tmp_path) as memory:
        alice = chat(memory)
        bob = memory.scoped(user="bob", session="s1")
        bob.remember("I live in Rome.")
        everything = memory.scoped(user="alice")
        face(everything).forget(user="alice")
        assert traces(tmp_path) == []
        assert (alice.history(), everything.facts(history=True), everything.recall("room", k=5)) == ([], [], [])
        assert not alice.profile()
        assert [message.text for message in bob.history()] == ["I live in Rome."]
        assert bob.recall("Rome", k=5)


def test_a_user_is_forgotten_with_every_agent_and_in_every_space(tmp_path: Path, face: Face) -> None:
    with opened(tmp_path) as memory:
        chat(memory)
        memory.scoped(user="alice", agent="coder").remember(f"The {CANARY} is mine.")
        bob = memory.scoped(user="bob")
        team = bob.create_space("team")
        team.grant(user="alice", right="write")
        team.remember("Bob was here.")
        memory.scoped(user="alice").space("team").remember(f"And {CANARY} was too.")
        memory.flush()
        assert team.recall(CANARY, k=5)
        planned = face(memory).forget(user="alice", dry_run=True)
        assert traces(tmp_path)
        assert planned.erased["turns"] == face(memory).forget(user="alice").erased["turns"]
        assert traces(tmp_path) == []
        assert [message.text for message in team.history()] == ["Bob was here."]


def test_forgetting_before_an_instant_keeps_what_came_later(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("I live in Paris.", at=START)
        alice.remember("I moved to Berlin.", at=START + timedelta(days=2))
        alice.forget(before=START + timedelta(days=1))
        assert [message.text for message in alice.history()] == ["I moved to Berlin."]
        assert [fact.value for fact in alice.facts(attribute="home", history=True)] == ["Berlin"]


def test_a_fact_is_forgotten_with_the_turns_that_say_so(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("I live in Paris.", at=START)
        alice.remember("I moved to Berlin.", at=START + timedelta(days=2))
        (fact,) = alice.facts(attribute="home")
        alice.forget(ids=fact)
        assert [(f.value, f.current) for f in alice.facts(attribute="home")] == [("Paris", True)]


def test_the_next_turn_is_no_longer_found_by_what_it_answered(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        alice = memory.scoped(user="alice", session="s1")
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
def test_what_is_not_clear_destroys_nothing(tmp_path: Path, wanted: dict[str, Any]) -> None:
    with opened(tmp_path) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("I live in Paris.")
        with pytest.raises(InvalidInputError):
            alice.forget(**wanted)
        assert len(alice.history()) == 1


def test_words_that_nobody_said_are_forgotten_without_a_trace(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("I live in Paris.")
        before = memory.stats().events
        receipt = alice.forget(query="Rome")
        assert (receipt.ids, dict(receipt.erased)) == ((), {})
        assert memory.stats().events == before


def test_what_the_policy_hides_is_destroyed_only_when_told(tmp_path: Path) -> None:
    now = START
    config: dict[str, Any] = {"retention": {"ttl": {"turn": timedelta(days=30)}}, "embedder": "none"}
    path = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_memory(MemoryConfig(url=path, **config), clock=lambda: now, token_counter=estimate_tokens) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("The old room has chairs.", at=START - timedelta(days=60))
        alice.remember("The new room has chairs.", at=START - timedelta(days=1))
        assert [hit.record.text for hit in alice.recall("chairs", k=5)] == ["The new room has chairs."]
        assert len(alice.history()) == 2
        assert alice.forget(expired=True).erased["turns"] == 1
        assert [message.text for message in alice.history()] == ["The new room has chairs."]


def test_what_matters_is_forgotten_later(tmp_path: Path) -> None:
    config: dict[str, Any] = {"retention": {"half_life": timedelta(days=10), "least": 0.1}, "embedder": "none"}
    path = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_memory(MemoryConfig(url=path, **config), clock=lambda: START, token_counter=estimate_tokens) as memory:
        alice = memory.scoped(user="alice", session="s1")
        old = START - timedelta(days=60)
        alice.remember({"content": "Trivial chairs.", "importance": 0.0}, at=old)
        alice.remember({"content": "Vital chairs.", "importance": 1.0}, at=old)
        assert [hit.record.text for hit in alice.recall("chairs", k=5)] == ["Vital chairs."]
        assert len(alice.history()) == 2


def test_a_failing_embedder_does_not_keep_what_is_forgotten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    embedder = FaultyEmbedder(HashingEmbedder())
    with open_memory(MemoryConfig(url=url), embedder=embedder, token_counter=estimate_tokens) as memory:
        alice = chat(memory)
        with embedder.failing(ConnectionError("offline")):
            for word in CANARIES:
                alice.forget(query=word)
        assert traces(tmp_path) == []


TEXTS = st.lists(
    st.sampled_from(["I live in Paris.", "I love jazz.", "Nice day.", "我住在杭州。", "Call me Al."]), max_size=8
)


@given(TEXTS, st.sets(st.integers(0, 7)))
@settings(max_examples=20)
def test_what_is_left_is_as_if_the_rest_had_never_been_said(texts: list[str], gone: set[int]) -> None:
    config = MemoryConfig(url="memory://", embedder="none")
    with open_memory(config) as memory, open_memory(config) as other:
        alice, fresh = (one.scoped(user="u", session="s") for one in (memory, other))
        for number, text in enumerate(texts):
            alice.remember(text, at=START + timedelta(days=number), id=f"m{number}")
            if number not in gone:
                fresh.remember(text, at=START + timedelta(days=number), id=f"m{number}")
        alice.flush()
        erased = [f"m{number}" for number in range(len(texts)) if number in gone]
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
    assert receipt.erased["turns"] == 1
    assert receipt.note.startswith("1 of other")
    assert receipt.note in repr(receipt)
    assert friday.forget(query="almonds", dry_run=dry_run).note == ""
    assert memory.scoped(user="u").forget(query="hazelnuts", dry_run=dry_run).note == ""
