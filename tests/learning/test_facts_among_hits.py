"""What a hit tells that is a fact: whence it is, and what its turn was marked with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeAlias

import pytest

from hybrid_memory import Event, HybridMemory, MemoryConfig, Message, RecordKind, Role, open_memory
from hybrid_memory.facts.fact import Claim
from hybrid_memory.facts.statements import Statements
from tests.faces import Face

MARKS = {"channel": "mail", "ticket": 17}

Opened: TypeAlias = Callable[[], HybridMemory]


class Derived:
    """Finds what `Statements` finds, as if a model had derived it: the user's own sentences have no record."""

    name = "derived"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        return [replace(claim, sentence="", verbatim=False) for claim in Statements().extract(turns, before)]


@pytest.fixture
def opened(store: str) -> Iterator[Opened]:
    with ExitStack() as stack:
        config = MemoryConfig(url=store, embedder="hashing", power_safe=False)
        yield lambda: stack.enter_context(open_memory(config, extractor=Derived()))


def test_a_fact_is_found_and_leads_back_to_its_turn_and_the_marks_of_it(face: Face, opened: Opened) -> None:
    memory = opened()
    alice = memory.scoped(user="alice", session="s")
    face(alice).remember("Good morning.")
    told = face(alice).remember("I live in Bergen.", metadata=MARKS)
    face(memory).flush()
    (hit,) = face(alice).recall("Bergen", kinds=["fact"])
    assert (hit.record.kind, hit.record.sources, hit.record.metadata) == (RecordKind.FACT, told.ids, MARKS)
    assert [message.id for message in alice.expand(hit)] == list(told.ids)
    marks = hit.as_metadata()
    assert {name: marks[name] for name in MARKS} == MARKS
    assert marks["kind"] == "fact"
    turns = [other.record.turn for other in face(alice).recall("Bergen", k=5)]
    assert turns.count(hit.record.turn) == 1, "what a turn says is returned once"


def test_the_users_own_sentence_is_found_as_the_turn_alone(store: str) -> None:
    with open_memory(MemoryConfig(url=store, embedder="hashing", power_safe=False)) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Bergen.")
        memory.flush()
        assert [fact.value for fact in alice.facts()] == ["Bergen"]
        assert [hit.record.kind for hit in alice.recall("Bergen", k=5)] == [RecordKind.TURN]
        assert alice.recall("Bergen", kinds=["fact"]) == []


def test_a_fact_has_the_origin_of_the_turn_that_it_was_read_from(opened: Opened) -> None:
    anna = opened().scoped(user="Anna", session="s")
    anna.remember("I live in Lisbon.")
    anna.remember(Message(content="I live in Oslo.", role=Role.ASSISTANT, name="Bo"))
    anna.flush()
    anna.flush()
    facts = {hit.record.text: str(hit.record.origin) for hit in anna.recall("lives in", kinds=["fact"])}
    assert facts == {"user lives in: Lisbon": "user", "Bo lives in: Oslo": "assistant"}
    assert [str(hit.record.origin) for hit in anna.recall("lives in", kinds=["fact"], origins=["user"])] == ["user"]


def test_a_filter_finds_facts_by_the_metadata_of_their_turn(face: Face, opened: Opened) -> None:
    memory = opened()
    alice = memory.scoped(user="alice", session="s")
    face(alice).remember("I work at Acme.", metadata={"channel": "chat"})
    face(alice).remember("I live in Bergen.", metadata=MARKS)
    face(memory).flush()
    (hit,) = face(alice).recall("what does she do?", kinds=["fact"], metadata={"channel": "mail"})
    assert "Bergen" in hit.record.text
    face(memory).rebuild()
    (hit,) = face(alice).recall("what does she do?", kinds=["fact"], metadata={"ticket": 17})
    assert "Bergen" in hit.record.text
