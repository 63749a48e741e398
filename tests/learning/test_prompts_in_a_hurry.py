"""What a prompt learns itself of unread turns: little, the newest; the rest is the background's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from hybrid_memory import EventKind, HybridMemory, Message, ScopedMemory
from hybrid_memory.facts.newest import NEWEST, SENTENCES
from hybrid_memory.facts.portrait import COMPARED
from hybrid_memory.facts.sentences.changes import LOOKED_AT
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder
from tests.doubles import events_of, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_memory.ports import Floats
    from tests.faces import Face, Open

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
LIMIT = 2 * SENTENCES + LOOKED_AT + COMPARED
"""Texts that a prompt may have embedded: sentences, as they are and as facts, facts they may change, and values."""


class Counting(HashingEmbedder):
    """It counts what is embedded."""

    def __init__(self, name: str = "hashing-385") -> None:
        super().__init__(385)
        self.name = name
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.texts += len(texts)
        return super().embed_documents(texts)


def say(memory: HybridMemory, session: str, words: Sequence[str], day: int = 0) -> ScopedMemory:
    handle = memory.scoped(user="mei", session=session)
    handle.remember(
        [Message(content=one, at=START + timedelta(days=day, minutes=row)) for row, one in enumerate(words)]
    )
    return handle


def shown(handle: ScopedMemory, face: Face = lambda owner: owner) -> str:
    """The profile, as a prompt shows it."""
    return face(handle).assemble("Hello", max_tokens=4_000, k=0).sections.get("profile", "")


THINGS = [f"{one}{other}" for one in ("wood", "stone", "glass", "paper") for other in ("ware", "work", "craft", "art")]
LONG = [f"I like thing{number} a lot." for number in range(300)]
OLD = ["I live in Paris.", *(f"It rained for {number} hours here." for number in range(3 * NEWEST))]


@pytest.fixture
def plain(opened: Open) -> HybridMemory:
    """A memory of which rules alone read the turns."""
    return opened(url="memory://", embedder="none")


def test_a_prompt_embeds_few_sentences_however_many_are_unread(opened: Open, face: Face) -> None:
    embedder = Counting(LocalEmbedder.name)  # which has a judge
    memory = opened(url="memory://", embedder=embedder)
    say(memory, "monday", LONG)
    today = memory.scoped(user="mei", session="tuesday")
    shown(today, face)
    assert embedder.texts <= LIMIT
    assert not events_of(today, EventKind.LEARNED), "what it read is not written: it is read again in its order"
    today.learn()
    before = embedder.texts
    assert before > len(LONG)
    say(memory, "wednesday", ["I like tea."])
    shown(today, face)
    assert embedder.texts - before <= LIMIT


def test_many_values_of_a_profile_are_not_all_embedded_for_a_prompt(opened: Open, face: Face) -> None:
    embedder = Counting()
    memory = opened(url="memory://", embedder=embedder)
    say(memory, "monday", [f"I like {colour} {thing}." for thing in THINGS for colour in ("", "red", "dark red")])
    today = memory.scoped(user="mei", session="tuesday")
    today.learn()
    before = embedder.texts
    assert "woodware" in shown(today, face)
    assert 0 < embedder.texts - before <= COMPARED


def test_the_newest_turns_are_known_at_once(plain: HybridMemory, face: Face) -> None:
    say(plain, "monday", OLD)
    say(plain, "tuesday", ["I'm allergic to nuts."], day=1)
    today = say(plain, "wednesday", ["Hello!"], day=2)
    assert shown(today, face) == "allergies and needs: allergic to nuts"
    today.learn()
    assert shown(today, face) == "lives in: Paris\nallergies and needs: allergic to nuts"


def test_they_end_what_stood_before(plain: HybridMemory, face: Face) -> None:
    say(plain, "monday", OLD).learn()
    say(plain, "tuesday", [*OLD[1:], "I moved to Berlin."], day=1)
    today = say(plain, "wednesday", ["Hello!"], day=2)
    assert shown(today, face) == "lives in: Berlin"


def test_of_the_session_itself_only_what_ends_something_counts(plain: HybridMemory, face: Face) -> None:
    today = say(plain, "monday", OLD)
    today.learn()
    today = say(plain, "tuesday", [*OLD[1:], "I love jazz."], day=1)
    assert shown(today, face) == "lives in: Paris", "its own words stand in its turns"
    today = say(plain, "tuesday", ["I moved to Berlin."], day=2)
    assert shown(today, face) == "lives in: Berlin\nlikes: jazz"
    today.learn()
    assert shown(today, face) == "lives in: Berlin\nlikes: jazz"


def test_what_others_claim_of_the_user_or_was_taken_back_is_not_shown(plain: HybridMemory, face: Face) -> None:
    say(plain, "monday", [*OLD, "My name is Mei."])
    said = plain.scoped(user="mei", session="tuesday").remember("I'm allergic to nuts.")
    today = say(plain, "wednesday", ["Hello!"], day=2)
    assert "nuts" in shown(today, face)
    plain.scoped(user="mei", session="tuesday").forget(ids=said.ids[0])
    assert "nuts" not in shown(today, face)


def test_few_turns_are_learned_by_the_prompt_itself(plain: HybridMemory, face: Face) -> None:
    today = say(plain, "monday", ["I live in Paris.", "I like tea."])
    shown(today, face)
    assert len(events_of(today, EventKind.CLAIM)) == 2


def test_without_background_all_is_learned(opened: Open, face: Face) -> None:
    memory = opened(url="memory://", embedder="none", learning={"background": False})
    today = say(memory, "monday", OLD)
    shown(today, face)
    assert len(events_of(today, EventKind.LEARNED)) == 1


@pytest.mark.background
def test_what_a_prompt_leaves_the_background_reads_at_once(opened: Open, face: Face) -> None:
    memory = opened(url="memory://", embedder="none", learning={"delay": "1h"})
    today = say(memory, "monday", OLD)
    shown(today, face)
    wait_until(lambda: bool(events_of(today, EventKind.LEARNED)))
    assert [event.payload["value"] for event in events_of(today, EventKind.CLAIM)] == ["Paris"]
