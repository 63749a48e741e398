from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count

import numpy as np
import pytest
from redis import Redis
from redis.exceptions import ConnectionError as LostConnectionError

from hybrid_memory.engines.columns import MOST_GONE
from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.redis import RedisConnection, RedisIndex
from hybrid_memory.engines.redis import index as index_module
from hybrid_memory.engines.redis.index_scripts import CHANGES
from hybrid_memory.index.record import Where
from hybrid_memory.ports import SemanticIndex, Use
from hybrid_memory.testing.corpus import ALICE, BOB, DIM, EMBEDDER, START, TOLERANCE, entry_of, make_record, unit
from tests.servers import RedisServer

ALL = 10_000
ONES = unit(np.ones(DIM))


@pytest.fixture
def index(redis_url: str) -> Iterator[RedisIndex]:
    index = RedisIndex(RedisConnection(redis_url))
    yield index
    index.close()


@pytest.fixture
def reader(redis_url: str) -> Iterator[RedisIndex]:
    """The same index in another process."""
    index = RedisIndex(RedisConnection(redis_url))
    yield index
    index.close()


@pytest.fixture
def lose(index: RedisIndex, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the server do its next script without the client's hearing of it."""
    run = index._connection._client.evalsha
    index.upsert(ALICE, [entry_of(make_record(1, "cat"))], after=0, upto=1)
    index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": ONES})  # the server has the scripts now

    def deaf(*command: object) -> object:
        monkeypatch.setattr(index._connection._client, "evalsha", run)
        run(*command)
        raise LostConnectionError("the answer was lost")

    return lambda: monkeypatch.setattr(index._connection._client, "evalsha", deaf)


def keys_of(index: RedisIndex, server: RedisServer) -> set[bytes]:
    with Redis(port=server.port) as client:
        return set(client.scan_iter(f"{index._connection.prefix}:*", count=1000))


def test_two_stores_on_one_server_keep_apart(redis_server: RedisServer) -> None:
    urls = [f"{redis_server.url}{part}" for part in ("?prefix=apart", "?prefix=apart-2", "/3?prefix=apart")]
    indexes = [RedisIndex(RedisConnection(redis_url)) for redis_url in urls]
    for number, index in enumerate(indexes, start=1):
        index.upsert(ALICE, [entry_of(make_record(number, "cat"))], after=0, upto=5)
        index.put_vectors(("m", number * 8), {number: b"a"}, {b"a": unit(np.ones(number * 8))})
    for number, index in enumerate(indexes, start=1):
        assert index.search(["cat"], Where(ALICE), 5).ids.tolist() == [number]
        assert index.search(unit(np.ones(number * 8)), Where(ALICE), 5).ids.tolist() == [number]
        assert index.embedder() == ("m", number * 8)
    indexes[0].delete(None)
    assert [index.size().records for index in indexes] == [0, 1, 1]
    for index in indexes:
        index.close()


def test_an_update_whose_answer_was_lost_counts_as_done(index: RedisIndex, lose: Callable[[], None]) -> None:
    lose()
    assert index.upsert(ALICE, [entry_of(make_record(2, "cat"))], after=1, upto=2, uses={1: Use(1, START)})
    assert index.status(ALICE).applied == index.size().records == 2
    assert index.get([1])[0].uses == 1
    assert index.terms(ALICE, ["cat"]) == {"cat": 2}


def test_vectors_whose_answer_was_lost_are_stored(index: RedisIndex, lose: Callable[[], None]) -> None:
    index.upsert(ALICE, [entry_of(make_record(2, "cat"))], after=1, upto=2)
    lose()
    index.put_vectors(EMBEDDER, {2: b"b"}, {b"b": ONES})
    assert index.status(ALICE, pending=5).pending == []
    assert index.search(ONES, Where(ALICE), 5).ids.tolist() == [1, 2]


def test_a_removal_whose_answer_was_lost_is_done(index: RedisIndex, lose: Callable[[], None]) -> None:
    index.delete([99])
    lose()
    index.delete([1])
    assert index.get([1]) == index.search(None, Where(ALICE), 5).ids.tolist() == []
    assert index.known([b"a"]) == {}


def assert_alike(index: SemanticIndex, oracle: SemanticIndex) -> None:
    for query in (None, ["cat"], ["tram"], ONES):
        found, expected = index.search(query, Where(ALICE), ALL), oracle.search(query, Where(ALICE), ALL)
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.scores, expected.scores, atol=TOLERANCE)
    ids = np.arange(60)
    for column in ("ids", "uses", "last_used", "segments", "lengths"):
        here, there = (getattr(one.columns(ids, Where(ALICE), 1), column) for one in (index, oracle))
        np.testing.assert_array_equal(here, there)
    assert index.get(range(60)) == oracle.get(range(60))
    assert index.size() == oracle.size()


@pytest.mark.parametrize("page", [1, 7, 1_000])
def test_a_reader_that_was_up_to_date_sees_every_change(
    index: RedisIndex, reader: RedisIndex, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """Written, embedded, used, removed, replaced, moved to another owner, and all at once; in pages of any size."""
    monkeypatch.setattr(index_module, "PAGE", page)
    oracle, chance = InMemoryIndex(), np.random.default_rng(page)
    for step in range(40):
        ids = chance.choice(np.arange(1, 50), size=6, replace=False).tolist()
        owner = BOB if step % 7 == 6 else ALICE
        said = ["a cat" if chance.random() < 0.5 else "the tram" for _ in range(3)]
        entries = [entry_of(make_record(n, text, scope=owner)) for n, text in zip(ids[:3], said, strict=True)]
        keys = {n: b"key-%d-%d" % (n, step) for n in range(1, 50) if chance.random() < 0.5}
        vectors = {key: unit(chance.normal(size=DIM)) for key in keys.values()}
        uses = {n: Use(2, START + timedelta(hours=int(chance.integers(100)))) for n in ids[2:5]}
        for one in (index, oracle):
            seen = one.status(owner).applied
            assert one.upsert(owner, entries, after=seen, upto=seen + 1, uses=uses, gone=ids[5:])
            one.put_vectors(EMBEDDER, keys, vectors)
            if step % 5 == 4:
                one.delete(ids[:1])
        assert_alike(reader, oracle)
        if step % 3 == 0:
            assert_alike(index, oracle)


def test_what_is_written_while_a_reader_pages_is_seen_whole(
    index: RedisIndex, reader: RedisIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are used, embedded, removed and replaced behind and before the page that is read."""
    monkeypatch.setattr(index_module, "PAGE", 3)
    entries = [entry_of(make_record(n, "cat")) for n in range(1, 13)]
    index.upsert(ALICE, entries[:2], after=0, upto=2)
    assert reader.search(None, Where(ALICE), ALL).ids.tolist() == [2, 1]
    index.upsert(ALICE, entries[2:], after=2, upto=12)
    run, asked = reader._connection.script, count()

    def interrupted(script: object, *rest: object) -> object:
        answer = run(script, *rest)  # type: ignore[arg-type]
        if script is CHANGES and next(asked) == 1:
            used = {n: Use(1, START) for n in (1, 3, 11)}
            again = [entry_of(make_record(4, "tram"))]
            index.upsert(ALICE, again, after=12, upto=13, uses=used, gone=[5, 10])
            index.put_vectors(EMBEDDER, {3: b"a", 12: b"a"}, {b"a": ONES})
        return answer

    monkeypatch.setattr(reader._connection, "script", interrupted)
    left = [n for n in range(1, 13) if n not in (5, 10)]
    assert reader.search(None, Where(ALICE), ALL).ids.tolist() == left[::-1]
    assert reader.search(["cat"], Where(ALICE), ALL).ids.tolist() == [n for n in left if n != 4]
    assert reader.search(ONES, Where(ALICE), ALL).ids.tolist() == [3, 12]
    assert reader.columns(np.array([1, 3, 11]), Where(ALICE), 0).uses.tolist() == [1, 1, 1]


@pytest.mark.parametrize("between", [1, 2])
def test_a_reset_while_a_reader_pages_leaves_nothing_old(
    index: RedisIndex, reader: RedisIndex, monkeypatch: pytest.MonkeyPatch, between: int
) -> None:
    monkeypatch.setattr(index_module, "PAGE", 3)
    index.upsert(ALICE, [entry_of(make_record(n, "cat")) for n in range(1, 10)], after=0, upto=9)
    run, asked = reader._connection.script, count(1)

    def interrupted(script: object, *rest: object) -> object:
        answer = run(script, *rest)  # type: ignore[arg-type]
        if script is CHANGES and next(asked) == between:
            index.delete(None)
            index.upsert(ALICE, [entry_of(make_record(n, "tram")) for n in (2, 20)], after=0, upto=20)
        return answer

    monkeypatch.setattr(reader._connection, "script", interrupted)
    assert reader.search(None, Where(ALICE), ALL).ids.tolist() == [20, 2]
    assert reader.terms(ALICE, ["cat", "tram"]) == {"tram": 2}


def test_more_removals_than_are_noted_reach_a_reader_too(index: RedisIndex, reader: RedisIndex) -> None:
    size = MOST_GONE + 200
    index.upsert(ALICE, [entry_of(make_record(n, "cat")) for n in range(1, size + 1)], after=0, upto=size)
    assert len(reader.search(None, Where(ALICE), ALL).ids) == size
    index.upsert(ALICE, [], after=size, upto=size + 1, gone=range(1, size - 4))
    assert reader.search(None, Where(ALICE), ALL).ids.tolist() == list(range(size, size - 5, -1))
    assert reader.get([1, size])[0].id == size


def test_a_server_that_lost_all_is_believed(index: RedisIndex, reader: RedisIndex, redis_server: RedisServer) -> None:
    index.upsert(ALICE, [entry_of(make_record(n, "cat")) for n in (1, 2)], after=0, upto=2)
    assert len(reader.search(None, Where(ALICE), 5).ids) == 2
    with Redis(port=redis_server.port) as client:
        client.delete(*keys_of(index, redis_server))
    assert reader.search(None, Where(ALICE), 5).ids.tolist() == []
    index.upsert(ALICE, [entry_of(make_record(3, "cat"))], after=0, upto=3)
    assert reader.search(None, Where(ALICE), 5).ids.tolist() == [3]


def test_what_was_removed_leaves_no_key(index: RedisIndex, redis_server: RedisServer) -> None:
    """One by one, as an update, as another's, and by a reset."""
    before = keys_of(index, redis_server)
    entries = [entry_of(make_record(n, "cat")) for n in range(1, 7)]
    index.upsert(ALICE, entries, after=0, upto=6, uses={1: Use(1, START)})
    index.put_vectors(EMBEDDER, {n: b"key-%d" % n for n in range(1, 7)}, {b"key-%d" % n: ONES for n in range(1, 7)})
    index.delete([1, 2])
    index.upsert(ALICE, [], after=6, upto=7, gone=[3, 4])
    index.upsert(BOB, [entry_of(make_record(5, "tram", scope=BOB))], after=0, upto=5)
    assert index.known([b"key-%d" % n for n in range(1, 7)]).keys() == {b"key-6"}
    index.delete([5, 6])
    left = {key.rsplit(b":", 1)[1] for key in keys_of(index, redis_server) - before}
    assert left == {b"owners", b"state", b"gone", b"embedder", b"records"}  # whose those are that an update removed
    index.delete(None)
    left = {key.rsplit(b":", 1)[1] for key in keys_of(index, redis_server) - before}
    assert left <= {b"owners", b"state", b"records"}
