"""What has the words that are searched for stands before what was only stated by the user."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hybrid_memory import HybridMemory

SHORT = (
    ("user", "I work as a marine biologist, and I live in Bergen."),
    ("assistant", "Which boats measure the salinity there?"),
    ("user", "The Sigrun and the Tora."),
    ("assistant", "Noted, two boats."),
    ("user", "I moved to Oslo last week."),
)
LONG = (
    *SHORT,
    ("user", "My sister Lia is getting married in September."),
    ("assistant", "Congratulations to her!"),
    ("user", "We moved the queue to Redis last week."),
    ("assistant", "Do you still rent the studio from Nordwind?"),
    ("user", "No, that is over."),
    ("user", "My cat Miso had an operation on Tuesday."),
    ("assistant", "I hope Miso recovers soon."),
    ("user", "I like hiking and photography."),
    ("assistant", "Both go well together."),
    ("user", "I have been learning Portuguese for two years."),
)


@pytest.mark.parametrize(
    ("turns", "query", "wanted"),
    [
        (SHORT, "salinity", "Which boats measure the salinity there?"),
        (SHORT, "salinity boats", "Which boats measure the salinity there?"),
        (LONG, "Nordwind studio", "Do you still rent the studio from Nordwind?"),
        (LONG, "salinity boats", "Which boats measure the salinity there?"),
    ],
)
def test_a_question_of_the_assistant_is_found_by_its_words(
    opened: Callable[..., HybridMemory], turns: tuple[tuple[str, str], ...], query: str, wanted: str
) -> None:
    alice = opened(url="memory://", embedder="hashing").scoped(user="alice", session="spring")
    for role, text in turns:
        alice.remember(text, role=role)
    assert alice.recall(query, k=3)[0].record.text == wanted


def test_in_a_short_conversation_what_was_asked_before_comes_with_its_answer(
    opened: Callable[..., HybridMemory],
) -> None:
    alice = opened(url="memory://", embedder="hashing").scoped(user="alice", session="spring")
    for role, text in SHORT:
        alice.remember(text, role=role)
    hits = alice.recall("Which boats measure the salinity?", k=3)
    assert hits[0].record.text == "The Sigrun and the Tora."
    assert hits[0].asked is not None
    assert hits[0].asked.text == "Which boats measure the salinity there?"
