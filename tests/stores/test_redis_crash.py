"""A server that is killed in the middle of writing, and started again on the same port."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hybrid_memory import Scope
from hybrid_memory.engines.redis import RedisConnection, RedisIndex, RedisLog
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where
from hybrid_memory.testing.corpus import ALICE, DIM, EMBEDDER, entry_of, make_record, unit
from hybrid_memory.testing.drafts import draft
from hybrid_memory.testing.servers import RedisServer
from tests.doubles import until_there

WRITERS, EACH = 4, 150
ROUNDS = 3


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    # While everysec has the disk write what it has, it keeps the next writes in memory: a kill may lose these.
    with RedisServer(tmp_path / "redis", appendfsync="always") as server:
        yield server


def test_a_killed_server_loses_and_doubles_nothing(server: RedisServer) -> None:
    log = RedisLog(RedisConnection(server.url))
    acknowledged: list[tuple[str, int]] = []

    def write(writer: int) -> None:
        for number in range(EACH):
            made = draft(1_000 * writer + number, session=f"s{writer}")

            def append() -> None:
                acknowledged.extend((one.id, one.position) for one in log.append(ALICE, [made]))  # noqa: B023

            until_there(append)

    with ThreadPoolExecutor(max_workers=WRITERS) as pool:
        writing = [pool.submit(write, writer) for writer in range(WRITERS)]
        for round_ in range(1, ROUNDS + 1):
            while len(acknowledged) < round_ * WRITERS * EACH // (ROUNDS + 1):
                time.sleep(0.002)
            server.kill()
            server.start()
        for job in writing:
            job.result()
    events = log.read(ALICE)
    assert sorted((event.id, event.position) for event in events) == sorted(acknowledged)
    assert len(events) == len({event.id for event in events}) == WRITERS * EACH
    for writer in range(WRITERS):
        mine = [event.id for event in log.read(Scope(user="alice", session=f"s{writer}"))]
        assert mine == [f"e{1_000 * writer + number}" for number in range(EACH)]
    log.close()


def test_an_index_answers_whole_after_a_restart(server: RedisServer) -> None:
    size = 1_500
    index = RedisIndex(RedisConnection(server.url), algorithm="hnsw")
    entries = [entry_of(make_record(number, "cat")) for number in range(1, size + 1)]
    index.upsert(ALICE, entries, after=0, upto=size)
    chance = np.random.default_rng(0)
    keys = {number: b"%d" % number for number in range(1, size + 1)}
    index.put_vectors(EMBEDDER, keys, {key: unit(chance.normal(size=DIM)) for key in keys.values()})
    vector = unit(np.ones(DIM))
    words, near = index.matching(["cat"], Where(ALICE), size), index.nearest(vector, Where(ALICE), 10)
    index.scrub()  # from files that were written anew the server indexes in the background
    server.kill()
    with pytest.raises(StoreUnavailableError, match=str(server.port)):
        index.matching(["cat"], Where(ALICE), size)
    server.start()
    again = index.matching(["cat"], Where(ALICE), size)
    assert again.ids.tolist() == words.ids.tolist()
    assert len(np.intersect1d(index.nearest(vector, Where(ALICE), 10).ids, near.ids)) >= 9
    assert index.status(ALICE).applied == index.size().vectors == size
    assert index.upsert(ALICE, [entry_of(make_record(size + 1, "dog"))], after=size, upto=size + 1)
    index.close()


def test_a_server_that_stopped_answering_is_given_up(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.engines.redis.connection.CALL_SECONDS", 0.3)
    log = RedisLog(RedisConnection(server.url))
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailableError, match="imeout"):
            log.count(ALICE)
    finally:
        os.kill(server._process.pid, signal.SIGCONT)
    until_there(lambda: log.append(ALICE, [draft(1)]))
    assert log.count(ALICE) == 1
    log.close()
