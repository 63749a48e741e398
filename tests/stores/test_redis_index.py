from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from redis import Redis
from redis.exceptions import ConnectionError as LostConnectionError

from hybrid_memory.engines.redis import RedisConnection, RedisIndex
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Use
from hybrid_memory.testing.corpus import (
    ALICE,
    DIM,
    EMBEDDER,
    START,
    Corpus,
    entry_of,
    make_record,
    unit,
)
from hybrid_memory.testing.servers import RedisServer

NUMBERS = count()
ALL = 10_000


@pytest.fixture
def url(redis_server: RedisServer) -> str:
    return f"{redis_server.url}?prefix=index-{next(NUMBERS)}"


@pytest.fixture
def index(url: str) -> Iterator[RedisIndex]:
    index = RedisIndex(RedisConnection(url))
    yield index
    index.close()


def clustered(size: int, dim: int = 32) -> Corpus:
    """One owner's turns in a few dozen topics."""
    chance = np.random.default_rng(1)
    centres = chance.normal(size=(40, dim))
    entries = [entry_of(make_record(number, f"word{number % 7}")) for number in range(1, size + 1)]
    keys = {number: b"key-%d" % number for number in range(1, size + 1)}
    rows = centres[chance.integers(40, size=size)] + 0.5 * chance.normal(size=(size, dim))
    return Corpus(entries, keys, {key: unit(row) for key, row in zip(keys.values(), rows, strict=True)})


def test_hnsw_finds_nearly_what_flat_finds(url: str) -> None:
    size, dim, k = 1_500, 32, 10
    corpus = clustered(size, dim)
    exact, close = RedisIndex(RedisConnection(url)), RedisIndex(RedisConnection(url), algorithm="hnsw")
    for at in range(0, size, 500):
        assert exact.upsert(ALICE, corpus.entries[at : at + 500], after=at, upto=at + 500)
    exact.put_vectors(("m", dim), corpus.keys, corpus.vectors)
    close.put_vectors(("m", dim), {}, {})
    chance = np.random.default_rng(2)
    near = 0
    for where in (Where(ALICE), Where(ALICE, hidden=((1, 500),)), Where(ALICE, since=START + timedelta(minutes=1000))):
        for _ in range(10):
            query = unit(corpus.vectors[b"key-%d" % chance.integers(1, size)] + 0.1 * chance.normal(size=dim))
            found, full = close.nearest(query, where, k), exact.nearest(query, where, k)
            assert len(found.ids) == k
            near += len(np.intersect1d(found.ids, full.ids))
    assert near >= 0.97 * 3 * 10 * k
    exact.close()
    close.close()


def test_an_unknown_algorithm_and_another_database_are_refused(redis_server: RedisServer, url: str) -> None:
    with pytest.raises(InvalidConfigError, match="flat or hnsw"):
        RedisIndex(RedisConnection(url), algorithm="ivf")  # type: ignore[arg-type]
    with pytest.raises(InvalidConfigError, match="database 0"):
        RedisIndex(RedisConnection(f"{redis_server.url}/1"))


def test_two_stores_on_one_server_keep_apart(redis_server: RedisServer) -> None:
    indexes = [RedisIndex(RedisConnection(f"{redis_server.url}?prefix={name}")) for name in ("apart", "apart-2")]
    for number, index in enumerate(indexes, start=1):
        index.upsert(ALICE, [entry_of(make_record(number, "cat"))], after=0, upto=5)
        index.put_vectors(("m", number * 8), {number: b"a"}, {b"a": unit(np.ones(number * 8))})
    for number, index in enumerate(indexes, start=1):
        assert index.matching(["cat"], Where(ALICE), 5).ids.tolist() == [number]
        assert index.nearest(unit(np.ones(number * 8)), Where(ALICE), 5).ids.tolist() == [number]
        assert index.embedder() == ("m", number * 8)
    indexes[0].delete(None)
    assert indexes[1].size().records == 1
    for index in indexes:
        index.close()


def test_an_update_whose_answer_was_lost_counts_as_done(index: RedisIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    run = index._connection._client.evalsha
    index.upsert(ALICE, [entry_of(make_record(1, "cat"))], after=0, upto=1)

    def lost(*command: object) -> object:
        monkeypatch.setattr(index._connection._client, "evalsha", run)
        run(*command)
        raise LostConnectionError("the answer was lost")

    monkeypatch.setattr(index._connection._client, "evalsha", lost)
    assert index.upsert(ALICE, [entry_of(make_record(2, "cat"))], after=1, upto=2, uses={1: Use(1, START)})
    assert index.status(ALICE).applied == index.size().records == 2
    assert index.get([1])[0].uses == 1
    assert index.terms(ALICE, ["cat"]) == {"cat": 2}


def test_a_search_that_was_the_first_after_a_restart_is_made_again(
    index: RedisIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.upsert(ALICE, [entry_of(make_record(1, "cat"))], after=0, upto=1)
    index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": unit(np.ones(DIM))})
    call, calls = index._connection.call, index._connection.calls
    asked: list[str | bytes | int] = []

    def one(*command: str | bytes | int) -> object:
        asked.append(command[0])
        return call(*command)

    def restarted(commands: Sequence[Sequence[str | bytes | int]]) -> list[Any]:
        asked.extend(command[0] for command in commands)
        if asked == ["FT.SEARCH"]:  # the connection was dead, and the new server has indexed nothing yet
            index._connection.connects += 1
            return [[0]]
        return calls(commands)

    monkeypatch.setattr(index._connection, "call", one)
    monkeypatch.setattr(index._connection, "calls", restarted)
    assert index.nearest(unit(np.ones(DIM)), Where(ALICE), 5).ids.tolist() == [1]
    assert asked == ["FT.SEARCH", "EXISTS", "FT.CREATE", "FT.INFO", "FT.SEARCH"]


def test_words_that_no_record_has_any_more_leave_no_key(index: RedisIndex, redis_server: RedisServer) -> None:
    """One by one, many at once, and by a reset."""
    said = [entry_of(make_record(n, "a cat in berlin" if n % 2 else "the harbour tram")) for n in range(1, 61)]

    def posted() -> set[bytes]:
        with Redis(port=redis_server.port) as client:
            keys = client.scan_iter(f"{index._keys.prefix}:index:*", count=1000)
            return {key.rsplit(b":", 1)[1] for key in keys if b":word:" in key}

    assert index.upsert(ALICE, said, after=0, upto=60)
    assert {b"tcat", b"tberlin", b"ttram"} <= posted()
    for number in range(1, 11):
        index.delete([number])
    assert sorted(index.search(["cat"], Where(ALICE), ALL).ids.tolist()) == list(range(11, 60, 2))
    index.delete([*range(11, 60, 2)])
    assert index.search(["cat"], Where(ALICE), ALL).ids.tolist() == []
    assert len(index.search(["tram"], Where(ALICE), ALL).ids) == 25
    assert b"tcat" not in posted()
    index.delete(None)
    assert posted() == set()
