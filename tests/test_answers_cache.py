"""Answers of recall are given again as long as nothing was written, and never when something was."""

from collections.abc import Callable

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, SpaceMemory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall.cache import RecallProjection
from tests.doubles import Deriving, FaultyEmbedder, end_of, line_to, texts
from tests.faces import Face, Open

CHANGES: dict[str, tuple[Callable[[ScopedMemory, SpaceMemory], object], list[str]]] = {
    "written": (lambda alice, team: alice.remember("cat 3"), ["cat 1", "cat 2", "cat 3", "cat of the team"]),
    "forgotten": (lambda alice, team: alice.forget(ids=alice.history()[0].id), ["cat 2", "cat of the team"]),
    "rolled back": (lambda alice, team: alice.rollback(end_of(alice) - 1), ["cat 1", "cat of the team"]),
    "begun anew": (lambda alice, team: alice.reset(), ["cat 1", "cat 2", "cat of the team"]),
    "said in the space": (lambda alice, team: team.remember("cat 4"), ["cat 1", "cat 2", "cat 4", "cat of the team"]),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen_at_once(face: Face, memory: HybridMemory, change: str) -> None:
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(["cat 1", "cat 2"])
    team = alice.space("team").create()
    team.remember("cat of the team")
    assert sorted(texts(face(alice).recall("cat", spaces="all"))) == ["cat 1", "cat 2", "cat of the team"]
    make, expected = CHANGES[change]
    make(face(alice), face(team))
    assert sorted(texts(face(alice).recall("cat", spaces="all"))) == expected


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
    face(alice).recall("cat")
    searched = index.calls["explore"]
    face(alice).recall("cat")
    assert index.calls["explore"] == searched, "that uses are noted makes nothing old"


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


def test_an_answer_that_is_made_while_the_index_is_rebuilt_is_not_kept(opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    line_to(memory, "index").during["fetch"] = lambda: memory.rebuild(embedder=HashingEmbedder())
    assert alice.recall("cat")
    assert alice.recall("cat")[0].signals.vector == 1


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (lambda alice: alice.forget(ids=alice.history()[0].id), ["my cat sleeps"]),
        (lambda alice: alice.remember("a cat"), ["a cat", "my cat is Quinzel", "my cat sleeps"]),
    ],
    ids=["forgotten", "written"],
)
def test_an_answer_that_is_made_while_something_changes_is_not_kept(
    opened: Open, meanwhile: Callable[[ScopedMemory], object], left: list[str]
) -> None:
    memory = opened(url="memory://", embedder="none")
    alice = memory.scoped(user="alice")
    alice.remember(["my cat is Quinzel", "my cat sleeps"])
    line_to(memory, "index").during["fetch"] = lambda: meanwhile(alice)
    alice.recall("cat")
    kept = repr(list(memory._runtime.services.state(RecallProjection).answers._entries.values()))
    assert ("Quinzel" in kept) <= ("my cat is Quinzel" in left)
    assert sorted(texts(alice.recall("cat"))) == left
