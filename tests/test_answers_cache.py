"""Answers of recall are given again as long as nothing was written, and never when something was."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, SpaceMemory, Weights
from hybrid_memory.errors import AccessDeniedError, StoreUnavailableError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall.cache import RecallProjection
from tests.doubles import Clock, Deriving, FaultyEmbedder, Line, end_of, line_to, texts
from tests.faces import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)


def answers_kept(index: Line, alice: ScopedMemory, query: str = "cat") -> bool:
    """Whether an answer is given again without a search."""
    alice.recall(query)
    before = index.calls["explore"]
    alice.recall(query)
    return index.calls["explore"] == before


def rolled_back(alice: ScopedMemory) -> None:
    alice.rollback(end_of(alice) - 1)


CHANGES: dict[str, tuple[Callable[[ScopedMemory, SpaceMemory], object], list[str]]] = {
    "written": (lambda alice, team: alice.remember("cat 3"), ["cat 1", "cat 2", "cat 3", "cat of the team"]),
    "forgotten": (lambda alice, team: alice.forget(ids=alice.history()[0].id), ["cat 2", "cat of the team"]),
    "rolled back": (lambda alice, team: rolled_back(alice), ["cat 1", "cat of the team"]),
    "begun anew": (lambda alice, team: alice.reset(), ["cat 1", "cat 2", "cat of the team"]),
    "said in the space": (lambda alice, team: team.remember("cat 4"), ["cat 1", "cat 2", "cat 4", "cat of the team"]),
    "approved": (
        lambda alice, team: team.approve(team.quarantined()), ["cat 1", "cat 2", "cat of a stranger", "cat of the team"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen_at_once(face: Face, memory: HybridMemory, change: str) -> None:
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(["cat 1", "cat 2"])
    team = alice.space("team").create()
    team.remember("cat of the team")
    team.grant(user="bob", right="write", trust=0.1)
    memory.scoped(user="bob").space("team").remember("cat of a stranger")
    assert sorted(texts(face(alice).recall("cat", spaces="all"))) == ["cat 1", "cat 2", "cat of the team"]
    make, expected = CHANGES[change]
    make(face(alice), face(team))
    assert sorted(texts(face(alice).recall("cat", spaces="all"))) == expected


def test_what_is_learned_or_embedded_anew_is_seen_at_once(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    alice.remember(["I live in Paris.", "my cat sleeps", "I moved to Rome."])
    assert {hit.signals.current for hit in face(alice).recall("I live in Paris, I moved to Rome")} == {1.0}
    face(alice).flush()
    assert {hit.signals.current for hit in face(alice).recall("I live in Paris, I moved to Rome")} == {0.0, 1.0}
    assert face(alice).recall("cat")[0].signals.vector == 0
    face(memory).rebuild(embedder=HashingEmbedder())
    assert face(alice).recall("cat")[0].signals.vector == 1


def test_an_answer_is_given_again_without_index_and_embedder(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder, orchestration={"cache": 0})
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    first = face(alice).recall("cat")
    asked, embedded = index.calls.copy(), list(embedder.calls)
    assert [face(alice).recall("cat") for _ in range(3)] == [first] * 3
    assert (index.calls, embedder.calls) == (asked, embedded)
    assert memory.stats().work.caches["answers"].hits == 3
    memory.flush()
    assert answers_kept(index, face(alice)), "that uses are noted makes nothing old"


def test_two_memories_on_one_file_never_disagree(opened: Open) -> None:
    one, other = (opened(power_safe=False).scoped(user="alice") for _ in range(2))
    for number in range(10):
        one.remember(f"cat {number}")
        told = other.remember(f"dog {number}")
        assert len(one.recall("dog", k=99)) == len(other.recall("dog", k=99))
        assert f"dog {number}" in texts(one.recall("dog", k=99))
        assert f"cat {number}" in texts(other.recall("cat", k=99))
        one.forget(ids=told.ids[0])
        assert f"dog {number}" not in texts(other.recall("dog", k=99))


@pytest.mark.parametrize(("step", "again"), [(299, True), (300, False), (-299, True), (-300, False)])
def test_an_answer_lives_five_minutes_of_the_clock(face: Face, opened: Open, step: int, again: bool) -> None:
    clock = Clock(NOW)
    memory = opened(url="memory://", clock=clock)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    index = line_to(memory, "index")
    assert answers_kept(index, face(alice))
    before = index.calls["explore"]
    clock.now += timedelta(seconds=step)
    face(alice).recall("cat")
    assert (index.calls["explore"] == before) is again


def test_different_questions_have_different_answers(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", clock=Clock(NOW))
    alice = memory.scoped(user="alice", session="s1")
    tagged: list[Any] = [1, True, "1", 1.0, None]
    for number, value in enumerate(tagged):
        alice.remember(f"cat {number}", metadata={"tag": value}, at=NOW - timedelta(days=number))
    memory.scoped(user="alice", session="s2").remember("cat of another session", at=NOW)
    questions: list[dict[str, Any]] = [
        {},
        *({"k": number} for number in (1, 2, 3)),
        {"scope": "session"},
        {"kinds": ["turn"]},
        {"kinds": ["fact"]},
        {"categories": ["task"]},
        {"since": NOW - timedelta(days=1)},
        {"until": NOW - timedelta(days=1)},
        *({"metadata": {"tag": value}} for value in tagged),
        {"weights": Weights.plain()},
        {"weights": Weights.heat()},
        *({"intent": intent} for intent in ("fact", "reasoning", "contextual")),
    ]

    def ask(where: ScopedMemory) -> list[bytes]:
        return [pickle.dumps(where.recall("cat", **question)) for question in questions]

    first, again = ask(alice), ask(alice)
    assert again == first
    fresh = opened(url="memory://", clock=Clock(NOW), recall={"cache_ttl": timedelta(0)})
    memory.migrate(fresh)
    assert ask(fresh.scoped(user="alice", session="s1")) == first
    for number, value in enumerate(tagged):
        assert texts(face(alice).recall("cat", metadata={"tag": value})) == [f"cat {number}"]
    assert len(face(alice).recall("cat", scope="session")) == 5


def test_views_of_the_past_are_separate_questions(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    places = [alice.remember(f"cat {number}", at=NOW + timedelta(days=number)).positions[0] for number in range(3)]
    for _ in range(2):
        assert len(face(alice).recall("cat")) == 3
        assert [len(face(alice.as_of(place)).recall("cat")) for place in places] == [1, 2, 3]
        assert len(face(alice.as_of(NOW + timedelta(days=1))).recall("cat")) == 2


@pytest.mark.parametrize("which", ["metadata", "list", "nested"])
@pytest.mark.parametrize("minutes", [5, 0], ids=["cached", "uncached"])
@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_callers_may_change_their_answers(face: Face, opened: Open, engine: str, which: str, minutes: int) -> None:
    where = {"url": "memory://"} if engine == "memory" else {}
    alice = opened(embedder="none", recall={"cache_ttl": timedelta(minutes=minutes)}, **where).scoped(user="alice")
    alice.remember("my cat sleeps", metadata={"tag": "a", "more": {"deep": [1]}})
    for _ in range(3):
        hits = face(alice).recall("cat")
        assert [hit.record.metadata for hit in hits] == [{"tag": "a", "more": {"deep": [1]}}]
        if which == "metadata":
            hits[0].record.metadata["tag"] = "b"
        elif which == "nested":
            hits[0].record.metadata["more"]["deep"].append(2)
        else:
            hits.clear()
    assert alice.history()[0].metadata == {"tag": "a", "more": {"deep": [1]}}


def test_an_answer_without_the_embedder_is_not_kept(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    alice = opened(embedder=embedder, orchestration={"cache": 0}).scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    with embedder.failing(ConnectionError("offline")):
        assert "offline" in face(alice).recall("cat")[0].note
        assert face(alice).recall("zebra") == []
    assert face(alice).recall("cat")[0].note == ""
    assert len(face(alice).recall("zebra")) == 2, "an empty answer was a failure, too"


@pytest.mark.parametrize("embedder", ["hashing", "none"])
def test_an_answer_without_the_index_is_not_kept(face: Face, opened: Open, embedder: str) -> None:
    memory = opened(embedder=embedder, url="memory://", extractor=Deriving(("Paris", "shop", "place", "Paris")))
    alice = memory.scoped(user="alice")
    alice.remember(["I live in Paris with my cat.", "it rains", "The shop is in Paris."])
    alice.flush()
    index = line_to(memory, "index")
    index.error = StoreUnavailableError("no route to the index")
    (hit,) = face(alice).recall("cat", k=1)
    assert "no route to the index" in hit.note
    assert face(alice).recall("Paris", kinds=["fact"]) == []
    index.error = None
    (hit,) = face(alice).recall("cat", k=1)
    assert "no route to the index" not in hit.note
    assert face(alice).recall("Paris", kinds=["fact"])


@pytest.mark.parametrize("whole", [False, True], ids=["one turn", "the user"])
def test_no_erased_word_stays_in_memory(face: Face, memory: HybridMemory, whole: bool) -> None:
    alice = memory.scoped(user="alice")
    told = alice.remember(["my cat is Quinzel", "my cat sleeps"])
    face(alice).recall("cat Quinzel")
    face(alice.as_of(told.positions[1])).recall("cat Quinzel")
    if whole:
        face(memory).forget(user="alice")
    else:
        face(alice).forget(ids=told.ids[0])
    kept = repr(list(memory._runtime.services.state(RecallProjection).answers._entries.values()))
    assert "Quinzel" not in kept


def test_readers_never_see_an_old_answer_after_a_write(opened: Open) -> None:
    memory = opened(power_safe=False)
    alice = memory.scoped(user="alice")
    written = 0
    done = threading.Event()
    late: list[str] = []

    def read(_: int) -> None:
        while not done.is_set():
            before = written
            found = texts(alice.recall("cat", k=200))
            if len(found) < before:
                late.append(f"{len(found)} of {before}")

    with ThreadPoolExecutor(max_workers=8) as pool:
        readers = [pool.submit(read, number) for number in range(8)]
        for number in range(60):
            alice.remember(f"cat {number}")
            written = number + 1
        done.set()
        for reader in readers:
            reader.result(timeout=30)
    assert late == []
    before = memory.work.caches["answers"].hits
    assert texts(alice.recall("cat", k=200)) == texts(alice.recall("cat", k=200))
    assert memory.work.caches["answers"].hits > before


def test_an_open_memory_holds_so_many_answers_and_no_more(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.recall.cache.ANSWERS_CACHE", 8)
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    for number in range(20):
        alice.recall(f"cat {number}")
    answers = memory.stats().work.caches["answers"]
    assert answers.size == answers.capacity == 8


def test_who_may_read_a_space_is_asked_every_time(face: Face, memory: HybridMemory) -> None:
    alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
    bob.remember("my cat")
    team = alice.space("team").create()
    team.remember("the cat of the team")
    team.grant(user="bob", right="read")
    for _ in range(2):
        assert len(face(bob).recall("cat", spaces=["team"])) == 2
        assert len(face(bob).recall("cat", spaces="all")) == 2
        assert len(face(bob.space("team")).recall("cat")) == 1
    team.revoke(user="bob")
    with pytest.raises(AccessDeniedError):
        face(bob).recall("cat", spaces=["team"])
    with pytest.raises(AccessDeniedError):
        face(bob.space("team")).recall("cat")
    assert texts(face(bob).recall("cat", spaces="all")) == ["my cat"]


def test_an_answer_that_is_made_while_the_index_is_rebuilt_is_not_kept(opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    line_to(memory, "index").during["fetch"] = lambda: memory.rebuild(embedder=HashingEmbedder())
    assert alice.recall("cat")
    assert alice.recall("cat")[0].signals.vector == 1


def test_an_answer_that_is_made_while_its_words_are_forgotten_is_not_kept(opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    told = alice.remember(["my cat is Quinzel", "my cat sleeps"])
    line_to(memory, "index").during["fetch"] = lambda: alice.forget(ids=told.ids[0])
    alice.recall("cat")
    assert "Quinzel" not in repr(list(memory._runtime.services.state(RecallProjection).answers._entries.values()))
    assert texts(alice.recall("cat")) == ["my cat sleeps"]
