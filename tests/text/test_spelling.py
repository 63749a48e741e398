"""Misspellings: how many edits are allowed, and which terms are close."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.tokenize import allowed_edits, close_terms, doubtful, terms

words = st.text("abcde", min_size=1, max_size=9)


def distance(one: str, other: str) -> int:
    """Optimal string alignment, by the textbook."""
    rows = [list(range(len(other) + 1))]
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


@pytest.mark.parametrize(
    ("term", "forgiven"),
    [
        ("cat", 0), ("cats", 1), ("running", 1), ("marathon", 2), ("", 0), ("e1234567", 0), ("café", 0),
        ("马拉松比赛", 0),
    ],
)  # fmt: skip
def test_longer_words_are_forgiven_more(term: str, forgiven: int) -> None:
    assert allowed_edits(term) == forgiven


@given(words, st.lists(words, max_size=12), st.integers(1, 4))
def test_it_is_what_a_search_by_the_textbook_finds(term: str, vocabulary: list[str], k: int) -> None:
    near = sorted((distance(term, other), other) for other in set(vocabulary) if other[0] == term[0])
    within = [other for apart, other in near if apart <= allowed_edits(term)]
    expected = [] if term in vocabulary or not allowed_edits(term) else within[:k]
    assert close_terms(term, set(vocabulary), k) == expected


@given(st.text(), st.lists(st.text(min_size=1)))
def test_any_term_is_answered_from_the_vocabulary(term: str, vocabulary: list[str]) -> None:
    assert set(close_terms(term, vocabulary, 2)) <= set(vocabulary)


@pytest.mark.parametrize(
    "query",
    [
        "What is the last lost hope of my home, model, modal, colour, organise, customizing grandmother's photographs?",
        "What about alice, sebastian, connecticut, nairobi, cafe, resume, jalapeno, instagram?",
        "Wo ist das Haus der Schwester", "Donde trabajo mi hermano", "maison voiture travaille", "la casa del lavoro",
        "waar staat mijn fiets",
    ],
)  # fmt: skip
def test_what_is_a_word_is_not_taken_for_misspelt(query: str) -> None:
    assert doubtful(query) == []


def test_what_is_no_word_is_taken_for_misspelt() -> None:
    wrong = "resturant tommorow recieve marahton accomodation freind seperate enviroment"
    assert doubtful(f"Where is the {wrong}?") == terms(wrong)
