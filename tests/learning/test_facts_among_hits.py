"""What a hit tells that is a fact: whence it is, and what its turn was marked with."""

from __future__ import annotations

import pytest

from hybrid_memory import HybridMemory
from hybrid_memory.store import indexing
from hybrid_memory.store.indexing import TextIndex
from tests.faces import Face, Open

pytestmark = pytest.mark.in_pairs("face", "memory")

MARKS = {"channel": "mail", "ticket": 17}


def test_a_fact_has_the_metadata_of_its_turn(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice", session="s")
    face(alice).remember("Good morning.")
    told = face(alice).remember("I work as a marine biologist, and I live in Bergen.", metadata=MARKS)
    face(memory).flush()
    hits = face(alice).recall("Bergen", kinds=["fact"])
    assert [hit.record.metadata for hit in hits] == [MARKS] * len(hits)
    assert {hit.record.sources for hit in hits} == {told.ids}
    marks = hits[0].as_metadata()
    assert {name: marks[name] for name in MARKS} == MARKS
    assert marks["kind"] == "fact"


def test_a_filter_finds_facts_by_the_metadata_of_their_turn(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice", session="s")
    face(alice).remember("I work as a nurse.", metadata={"channel": "chat"})
    face(alice).remember("I live in Bergen.", metadata=MARKS)
    face(memory).flush()
    (hit,) = face(alice).recall("what does she do?", kinds=["fact"], metadata={"channel": "mail"})
    assert "Bergen" in hit.record.text
    face(memory).rebuild()
    (hit,) = face(alice).recall("what does she do?", kinds=["fact"], metadata={"ticket": 17})
    assert "Bergen" in hit.record.text


def test_an_older_index_learns_the_metadata_of_facts(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(TextIndex, "version", "")
        older.setattr(indexing, "_of_turn", lambda _: {})
        with opened() as memory:
            memory.scoped(user="alice").remember("I live in Bergen.", metadata=MARKS)
            memory.flush()
    memory = opened()
    hit = memory.scoped(user="alice").recall("Bergen", kinds=["fact"])[0]
    assert hit.record.metadata == MARKS
    services = memory._runtime.services
    assert services.index.vectors([hit.record.id], hit.record.scope.owner), "it keeps its vector"
