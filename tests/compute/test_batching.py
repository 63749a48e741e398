"""Many threads ask for vectors at the same time; the embedder sees few calls."""

import hashlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from hybrid_memory.errors import ModelError
from hybrid_memory.models.batching import BatchingEmbedder
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Embedder, Floats
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import at_priority
from hybrid_memory.testing.offered import EmbedderContract
from tests.doubles import wait_until


def vector(side: str, text: str) -> Floats:
    digest = hashlib.blake2b(f"{side} {text}".encode(), digest_size=16).digest()
    row = np.frombuffer(digest, dtype=np.uint8).astype(np.float32)
    return row / np.linalg.norm(row)


class Recorder:
    """Writes down its calls, and may wait or fail in them.

    Args:
        during: called with the number of the call and its texts before they are embedded.
    """

    name, dim = "recorder", 16

    def __init__(self, during: Callable[[int, Sequence[str]], object] = lambda *_: None) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.most = 0
        self._during = during
        self._inside = 0
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        return self._embed("document", texts)

    def embed_query(self, text: str) -> Floats:
        row: Floats = self._embed("query", [text])[0]
        return row

    def _embed(self, side: str, texts: Sequence[str]) -> Floats:
        with self._lock:
            self.calls.append((side, list(texts)))
            number = len(self.calls)
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            self._during(number, texts)
            return np.array([vector(side, text) for text in texts]).reshape(-1, self.dim)
        finally:
            with self._lock:
                self._inside -= 1

    @property
    def sizes(self) -> list[int]:
        return [len(texts) for _, texts in self.calls]


class QueryRecorder(Recorder):
    """Takes several queries at once, too."""

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        return self._embed("query", texts)


class Crowd:
    """Threads that ask, in this order, while the embedder is held up in its first calls."""

    def __init__(self, busy: int = 2, **settings: Any) -> None:
        self.go = threading.Event()
        self.bad: set[str] = set()
        self.error: type[BaseException] = ModelError
        self.inner = QueryRecorder(self._during)
        self.batching = BatchingEmbedder(self.inner, **settings)
        self._busy = busy
        self._pool = ThreadPoolExecutor(80)
        for number in range(busy):
            self.ask(f"busy {number}")
            wait_until(lambda number=number: len(self.inner.calls) == number + 1)  # type: ignore[misc]

    def _during(self, number: int, texts: Sequence[str]) -> None:
        assert number > self._busy or self.go.wait(60)
        if found := self.bad & set(texts):
            raise self.error(f"cannot embed {sorted(found)}")

    def ask(self, *texts: str, priority: int = 9, query: bool = False) -> Future[Floats]:
        """What the caller gets; returns when it has joined the queue or is being served."""

        def work() -> Floats:
            with at_priority(priority):
                if query:
                    return self.batching.embed_query(texts[0])
                return self.batching.embed_documents(texts)

        joined = self._joined()
        asked = self._pool.submit(work)
        wait_until(lambda: self._joined() > joined or asked.done())
        return asked

    def _joined(self) -> int:
        """How many calls there are to each text, in all."""
        with self.batching._changed:
            return sum(len(text.calls) for text in self.batching._texts.values())

    def release(self) -> list[tuple[str, list[str]]]:
        """The calls of the embedder after the first ones."""
        self.go.set()
        self._pool.shutdown(wait=True)
        assert not self.batching._texts
        assert not self.batching._running
        return self.inner.calls[self._busy :]


def rows(side: str, *texts: str) -> Floats:
    return np.array([vector(side, text) for text in texts])


def test_sixty_four_threads_with_one_query_each_are_embedded_in_four_calls() -> None:
    statistics = Statistics()
    crowd = Crowd(busy=2, statistics=statistics)
    asked = {f"query {n}": crowd.ask(f"query {n}", query=True) for n in range(62)}
    assert sorted(len(texts) for _, texts in crowd.release()) == [30, 32]
    for text, future in asked.items():
        np.testing.assert_array_equal(future.result(), vector("query", text))
    stats = statistics.snapshot()
    assert (stats.batches, stats.batched) == (4, 64)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_query_overtakes_a_background_call_of_ten_thousand_texts(concurrency: int) -> None:
    query: list[Future[Floats]] = []

    def during(number: int, texts: Sequence[str]) -> None:
        if number == 3:
            query.append(pool.submit(batching.embed_query, "urgent"))
            if concurrency == 1:
                wait_until(lambda: len(batching._texts) == 33)
            else:
                query[0].result(60)  # it does not even wait for this batch

    inner = Recorder(during)
    batching = BatchingEmbedder(inner, concurrency=concurrency)
    texts = [f"text {number}" for number in range(10_000)]
    with ThreadPoolExecutor(1) as pool, at_priority(3):
        got = batching.embed_documents(texts)
    np.testing.assert_array_equal(got, rows("document", *texts))
    assert [side for side, _ in inner.calls[:5]] == ["document", "document", "document", "query", "document"]
    assert len(inner.calls) == 314
    assert max(inner.sizes) == 32
    np.testing.assert_array_equal(query[0].result(), vector("query", "urgent"))


def test_a_text_asked_for_by_many_is_embedded_once() -> None:
    crowd = Crowd(busy=1, concurrency=1)
    same = [crowd.ask("same", priority=3) for _ in range(5)]
    same.append(crowd.ask("same", "other", priority=9))
    query = crowd.ask("same", query=True)
    flying = crowd.ask("busy 0")
    calls = crowd.release()
    assert sorted(calls) == [("document", ["same", "other"]), ("query", ["same"])]
    for future in same:
        np.testing.assert_array_equal(future.result()[0], vector("document", "same"))
    np.testing.assert_array_equal(query.result(), vector("query", "same"))
    np.testing.assert_array_equal(flying.result(), rows("document", "busy 0"))


@pytest.mark.parametrize("error", [ModelError, ValueError])
def test_a_bad_text_fails_nobody_but_its_caller(error: type[Exception]) -> None:
    crowd = Crowd(busy=1, concurrency=1)
    crowd.bad, crowd.error = {"bad"}, error
    good = [crowd.ask(f"good {number}", "shared") for number in range(3)]
    bad = crowd.ask("fine", "bad", "shared")
    good += [crowd.ask("late", "shared")]
    calls = crowd.release()
    for number, future in enumerate(good[:3]):
        np.testing.assert_array_equal(future.result(), rows("document", f"good {number}", "shared"))
    np.testing.assert_array_equal(good[3].result(), rows("document", "late", "shared"))
    with pytest.raises(error, match=r"cannot embed \['bad'\]"):
        bad.result()
    assert len(calls) == 1 + 5 + 1  # once together, once each, and what they share


def test_vectors_are_cached_by_name_side_and_text() -> None:
    inner = Recorder()
    cache: LruCache[bytes, Floats] = LruCache(100)
    batching = BatchingEmbedder(inner, cache=cache)
    for _ in range(2):
        np.testing.assert_array_equal(batching.embed_documents(["a", "b"]), rows("document", "a", "b"))
        np.testing.assert_array_equal(batching.embed_query("a"), vector("query", "a"))
    assert inner.calls == [("document", ["a", "b"]), ("query", ["a"])]
    batching.embed_documents(["b", "c"])
    assert inner.calls[-1] == ("document", ["c"])
    other = Recorder()
    other.name = "other"
    BatchingEmbedder(other, cache=cache).embed_query("a")
    assert other.calls == [("query", ["a"])]
    assert (cache.hits, cache.misses) == (4, 5)


@pytest.mark.parametrize("seed", range(6))
def test_threads_get_what_the_embedder_would_give_whatever_fails_meanwhile(seed: int) -> None:
    def during(number: int, texts: Sequence[str]) -> None:
        if number % 3 == 0:
            time.sleep(0.0005)
        if any(text.startswith("bad") for text in texts):
            raise ModelError("bad text")

    inner = QueryRecorder(during)
    concurrency = 1 + seed % 3
    batching = BatchingEmbedder(
        inner, batch_size=5, concurrency=concurrency, window=0.002, cache=LruCache(20) if seed % 2 else None
    )

    def work(thread: int) -> None:
        chance = random.Random(seed * 100 + thread)  # noqa: S311
        for _ in range(30):
            texts = [
                f"{chance.choice(['good'] * 30 + ['bad'])} {chance.randrange(40)}"
                for _ in range(chance.randrange(1, 9))
            ]
            with at_priority(chance.randint(1, 10)):
                try:
                    if len(texts) == 1:
                        np.testing.assert_array_equal(batching.embed_query(texts[0]), vector("query", texts[0]))
                    else:
                        np.testing.assert_array_equal(
                            batching.embed_documents(texts), rows("document", *texts).reshape(-1, 16)
                        )
                except ModelError:
                    assert any(text.startswith("bad") for text in texts), texts
                else:
                    assert not any(text.startswith("bad") for text in texts), texts

    with ThreadPoolExecutor(12) as pool:
        for done in [pool.submit(work, thread) for thread in range(12)]:
            done.result(60)
    assert not batching._texts
    assert not batching._running
    assert max(inner.sizes) <= 5
    assert inner.most <= concurrency


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BatchingEmbedder(HashingEmbedder(), cache=LruCache(100))
