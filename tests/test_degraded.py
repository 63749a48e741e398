"""Recall while the index cannot be reached: from the log, with a note, and nothing is lost."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import Hit
from hybrid_memory.errors import StoreUnavailableError
from tests.doubles import Line, line_to, texts
from tests.faces import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FAILURE = "no route to the index"


def cut(index: Line) -> None:
    index.error = StoreUnavailableError(FAILURE)


def found(hits: list[Hit]) -> set[str]:
    return set(texts(hits))


@pytest.fixture
def url(store: str) -> str:
    return store


def test_the_log_answers_and_says_so(face: Face, opened: Open, url: str) -> None:
    memory = opened(url=url, clock=lambda: NOW)
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    alice.remember(["it rains", "my cat sleeps", "我的猫睡觉"], at=NOW - DAY, metadata={"tag": 1})
    cut(index)
    hit = face(alice).recall("the cat", k=1)[0]
    assert hit.record.text == "my cat sleeps"
    assert (hit.record.at, hit.record.metadata, hit.record.scope) == (NOW - DAY, {"tag": 1}, alice.scope)
    assert hit.record.sources == (alice.history()[1].id,)
    assert FAILURE in hit.note
    assert FAILURE in hit.why()
    assert hit.signals.text == 1
    assert hit.score == pytest.approx(0.9 * hit.signals.text + 0.1 * hit.signals.recency)
    assert face(alice).recall("猫", k=1)[0].record.text == "我的猫睡觉"
    assert 0 < hit.signals.recency < 1


def test_an_outage_delays_the_index_and_loses_nothing(face: Face, opened: Open, url: str) -> None:
    memory = opened(url=url)
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    alice.remember("cat 0")
    face(alice).recall("cat")
    cut(index)
    for number in range(1, 40):
        face(alice).remember(f"cat {number}")
        if number % 10 == 0:
            assert f"cat {number}" in texts(face(alice).recall(f"cat {number}", k=1))
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(memory).flush()
    assert len(face(alice).history()) == 40
    index.error = None
    hits = face(alice).recall("cat", k=50)
    assert found(hits) == {f"cat {number}" for number in range(40)}
    assert {hit.note for hit in hits} == {""}
    stats = memory.stats()
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (40, 40, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_line_that_breaks_anywhere_loses_and_repeats_nothing(opened: Open, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - for tests
    memory = opened(url="memory://")
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    for number in range(30):
        alice.remember(f"cat {number}")
        index.error = None
        method = chance.choice(["upsert", "put_vectors", "pending", "applied", "known", "matching", "places", "get"])
        index.breaks = {method: (chance.choice(["before", "after"]), StoreUnavailableError(FAILURE))}
        assert f"cat {number}" in texts(alice.recall(f"cat {number}", k=30))
    index.error, index.breaks = None, {}
    memory.flush()
    stats = memory.stats()
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (30, 30, 0, 0)
    assert sorted(texts(alice.recall("cat", k=99))) == sorted(f"cat {number}" for number in range(30))


def test_a_log_that_is_down_too_is_told(face: Face, opened: Open) -> None:
    memory = opened(url="memory://")
    alice = memory.scoped(user="alice")
    alice.remember("my cat")
    for engine in ("log", "index"):
        cut(line_to(memory, engine))
    with pytest.raises(StoreUnavailableError):
        face(alice).recall("cat")
