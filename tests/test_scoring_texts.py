"""Texts that are no memories get the scores that recall would give them."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokenize import terms
from tests.doubles import FaultyEmbedder
from tests.faces import Face, Open

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ENGLISH = [
    "My sister lives in Lisbon with two cats.", "The launch is on Friday.",
    "My cat sleeps on the sofa, and the sofa is red.",
    "Lisbon is sunny in May, says my sister, and my sister knows.", "It rains in Berlin.", "We bought a red car.",
]  # fmt: skip
CHINESE = ["我妹妹住在里斯本。", "会议改到下周三。", "我的猫在沙发上睡觉。", "妹妹说里斯本五月很晴朗。", "柏林在下雨。"]
QUESTIONS = [(ENGLISH, "Where does my sister live?"), (CHINESE, "我妹妹住在哪里？")]


def bm25(query: str, texts: list[str]) -> list[float]:
    """From the formula in SQLite's documentation, text by text."""
    rows = [Counter(terms(text)) for text in texts]
    average = sum(row.total() for row in rows) / len(rows)
    scores = []
    for row in rows:
        score = 0.0
        for term in dict.fromkeys(terms(query)):
            having = sum(term in other for other in rows)
            idf = max(math.log((len(rows) - having + 0.5) / (having + 0.5)), 1e-6)
            score += idf * row[term] * 2.2 / (row[term] + 1.2 * (0.25 + 0.75 * row.total() / average))
        scores.append(score)
    return scores


def cosines(query: str, texts: list[str]) -> list[float]:
    """The vector signal, spelt out: the best is 1, an average text 0.5."""
    embedder = HashingEmbedder()
    rows = embedder.embed_documents(texts).astype(float)
    mean = rows.mean(axis=0)
    asked = embedder.embed_query(query) - 0.6 * len(texts) / (len(texts) + 100) * mean
    likeness = [float(row @ asked) for row in rows]
    average = float(mean @ asked)
    return [min(1, max(0, 0.5 + 0.5 * (one - average) / (max(likeness) - average))) for one in likeness]


@pytest.mark.parametrize(("texts", "query"), QUESTIONS, ids=["en", "zh"])
def test_scores_are_the_formula_over_these_texts(face: Face, opened: Open, texts: list[str], query: str) -> None:
    words, meaning = bm25(query, texts), cosines(query, texts)
    expected = [0.7 * meaning[row] + 0.3 * words[row] / max(words) for row in range(len(texts))]
    found = face(opened()).score(query, texts)
    assert [one.row for one in found] == sorted(range(len(texts)), key=lambda row: -expected[row])
    assert {one.row: one.text for one in found} == dict(enumerate(texts))
    for one in found:
        assert one.score == pytest.approx(expected[one.row], abs=1e-6)
        assert one.signals.vector == pytest.approx(meaning[one.row], abs=1e-6)
        assert one.signals.text == pytest.approx(words[one.row] / max(words), abs=1e-6)
        assert one.weights == Weights.plain()
    assert texts[0] in {one.text for one in found[:2]}


@pytest.mark.parametrize(("texts", "query"), QUESTIONS, ids=["en", "zh"])
def test_recall_gives_the_same_numbers_for_the_same_passages(opened: Open, texts: list[str], query: str) -> None:
    embedder = HashingEmbedder()
    memory = opened(embedder=embedder, url="memory://")
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(texts)
    hits = {hit.record.text: hit for hit in alice.recall(query, k=9)}
    # Recall embeds a turn with its speaker inside a tag, and indexes the speaker's name.
    vectors = embedder.embed_documents([f"<message role='user'>user: {text}</message>" for text in texts])
    said = [f"user: {text}" for text in texts]
    for one in memory.score(query, said, vectors=list(vectors)):
        hit = hits[texts[one.row]]
        assert one.signals.vector == pytest.approx(hit.signals.vector, abs=1e-5)
        assert one.signals.text == pytest.approx(hit.signals.text, abs=0.05)  # recall counts a term more in each
        assert (one.signals.text == 0) == (hit.signals.text == 0)


def test_given_vectors_are_used_and_only_the_missing_ones_are_made(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder)
    asked = 3.0 * HashingEmbedder().embed_query("sister")  # of any length
    away = HashingEmbedder().embed_query("zebra")
    found = face(memory).score("sister", ["one", "two"], vectors=[away, asked.tolist()])
    assert [one.row for one in found] == [1, 0]
    assert embedder.calls == ["embed_query"]
    with embedder.failing(ConnectionError("offline"), methods={"embed_documents"}):
        assert face(memory).score("sister", ["one", "two"], vectors=[away, None])[0].note


@pytest.mark.parametrize("method", ["embed_query", "embed_documents"])
def test_a_failing_embedder_leaves_the_words(face: Face, opened: Open, method: str) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder)
    with embedder.failing(ConnectionError("model host is offline"), methods={method}):
        found = face(memory).score("Where does my sister live?", ENGLISH)
    alone = face(opened(embedder="none", url="memory://")).score("Where does my sister live?", ENGLISH)
    assert [(one.row, one.score, one.signals) for one in found] == [(one.row, one.score, one.signals) for one in alone]
    assert "model host is offline" in found[0].note
    assert face(memory).score("Where does my sister live?", ENGLISH)[0].note == ""


def test_age_counts_where_it_has_a_weight(face: Face, opened: Open) -> None:
    memory = opened(clock=lambda: NOON)
    texts = ["The meeting is at nine."] * 3
    at = [NOON - timedelta(days=60), NOON - timedelta(days=30), None]
    weights = Weights(vector=0, text=0.5, recency=0.5)
    found = face(memory).score("When is the meeting?", texts, at=at, weights=weights)
    assert [one.row for one in found] == [1, 0, 2]
    assert [one.signals.recency for one in found] == [0.5, 0.25, 0]
    assert found[0].why() == "0.750 = 0.5*1.00 text + 0.5*0.50 recency"
    assert face(memory).score("When is the meeting?", texts, at=at)[0].weights.recency == 0
    assert face(memory).score("When is the meeting?", texts, weights=weights)[0].weights.recency == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": " "}, "query is empty"),
        ({"query": 3}, "query must be text"),
        ({"texts": "one text"}, "list of texts"),
        ({"texts": ["a", None]}, "list of texts"),
        ({"k": 0}, "k must be"),
        ({"vectors": [[1.0]]}, "one entry per text: 2, got 1"),
        ({"vectors": [[1.0] * 8, None]}, "8 numbers, the query's has 256"),
        ({"vectors": [[math.nan] * 256, None]}, "finite"),
        ({"vectors": ["abc", None]}, "not a list of numbers"),
        ({"at": [datetime(2024, 5, 1), None]}, "with a time zone"),  # noqa: DTZ001 - naive is what is refused
        ({"weights": {"vector": 1}}, r"Weights\(\.\.\.\)"),
        ({"weights": Weights(vector=0, text=0, use=1)}, "not all 0"),
        ({"diversity": 2}, "0 to 1"),
        ({"texts": ["one", "\ud800"]}, "cannot be stored"),
    ],
    ids=str,
)
def test_what_cannot_be_scored_is_refused(face: Face, opened: Open, options: dict[str, Any], message: str) -> None:
    asked = {"query": "sister", "texts": ["one", "two"], **options}
    with pytest.raises(InvalidInputError, match=message):
        face(opened()).score(asked.pop("query"), asked.pop("texts"), **asked)


MEMORY: HybridMemory = open_memory(MemoryConfig(url="memory://", embedder="hashing"))
WORDS = "sister cat Lisbon red sofa launch 妹妹 里斯本 沙发".split()
some_texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=8)


@given(some_texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), st.randoms())
def test_scores_lie_in_bounds_and_depend_on_no_order(texts: list[str], query: str, random: Any) -> None:
    found = MEMORY.score(query, texts)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(0 <= one.score <= 1 + 1e-9 for one in found)
    rows = list(range(len(texts)))
    random.shuffle(rows)
    shuffled = {rows[one.row]: one.score for one in MEMORY.score(query, [texts[row] for row in rows])}
    np.testing.assert_allclose([shuffled[one.row] for one in found], [one.score for one in found], atol=1e-6)
