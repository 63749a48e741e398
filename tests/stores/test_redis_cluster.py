"""A server of a cluster, which refuses whatever reaches beyond one slot; here one server has all slots."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from redis import Redis

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.redis import RedisConnection, RedisIndex, RedisLog
from hybrid_memory.engines.redis.log_scripts import COUNT
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.testing.corpus import ALICE, BOB, DIM, assert_same_ranking, every_where, random_corpus, unit
from hybrid_memory.testing.drafts import OWNERS, draft
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.index_writing import IndexWritingContract
from hybrid_memory.testing.redis_server import RedisServer

NUMBERS = count()
ALL = 10_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis"), options=("--cluster-enabled", "yes")) as server:
        with Redis(port=server.port, protocol=2) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            while b"cluster_state:ok" not in bytes(client.execute_command("CLUSTER", "INFO")):
                time.sleep(0.05)
        yield server


@pytest.fixture
def url(server: RedisServer) -> str:
    return f"{server.url.replace('redis:', 'redis+cluster:')}?prefix=c-{next(NUMBERS)}"


class TestLogInACluster(EventLogContract):
    @pytest.fixture
    def log(self, url: str) -> Iterator[RedisLog]:
        log = RedisLog(RedisConnection(url))
        yield log
        log.close()


class TestIndexInACluster(IndexWritingContract):
    @pytest.fixture
    def index(self, url: str) -> Iterator[RedisIndex]:
        index = RedisIndex(RedisConnection(url))
        yield index
        index.close()


def test_searches_in_a_cluster_agree_with_the_oracle(url: str) -> None:
    oracle, index = InMemoryIndex(), RedisIndex(RedisConnection(url))
    for engine in (oracle, index):
        random_corpus(5).fill(engine)
    vector = unit(np.ones(DIM))
    for where in every_where():
        assert_same_ranking(index.nearest(vector, where, 7), oracle.nearest(vector, where, ALL), 7, where)
        words = ["berlin", "猫", "cat"]
        assert_same_ranking(index.matching(words, where, 7), oracle.matching(words, where, ALL), 7, where)
        assert index.latest(where, 7).tolist() == oracle.latest(where, 7).tolist()
    index.close()


def test_everything_of_an_owner_lies_in_one_slot_and_owners_are_spread(server: RedisServer) -> None:
    url = f"{server.url.replace('redis:', 'redis+cluster:')}?prefix=slots"
    log, index = RedisLog(RedisConnection(url)), RedisIndex(RedisConnection(url))
    for owner in OWNERS:
        at = log.append(owner, [draft(1, session="{x}")])[0].position
        log.drop(owner, [at])
        log.append(owner, [draft(2, session="s")])
    random_corpus(1).fill(index)
    slots = defaultdict(set)
    with Redis(port=server.port, protocol=2) as client:
        for key in client.scan_iter("slots:*{*", count=1000):
            slots[key[key.index(b"{") : key.index(b"}")]].add(client.execute_command("CLUSTER KEYSLOT", key))
    assert len(slots) == len({*OWNERS, ALICE, BOB})
    assert all(len(of_owner) == 1 for of_owner in slots.values())
    assert len(set.union(*slots.values())) > 1
    log.close()
    index.close()


def test_this_server_would_notice_a_script_that_reaches_across_slots(url: str) -> None:
    log = RedisLog(RedisConnection(url))
    with pytest.raises(StoreUnavailableError, match="slot"):
        log._connection.script(COUNT, ["{a}", "{b}"], [0])
    log.close()
