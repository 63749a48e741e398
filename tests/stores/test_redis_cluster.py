"""A server of a cluster, which refuses whatever reaches beyond one slot; here one server has all slots."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import pytest
from redis import Redis

from hybrid_memory.engines.redis import RedisConnection, RedisIndex, RedisLog
from hybrid_memory.engines.redis.log_scripts import COUNT
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.testing.corpus import ALICE, BOB, random_corpus
from hybrid_memory.testing.drafts import OWNERS, draft
from hybrid_memory.testing.redis_server import RedisServer

NUMBERS = count()
ALL = 10_000


@pytest.fixture
def url(cluster_url: str) -> str:
    return f"{cluster_url}?prefix=c-{next(NUMBERS)}"


def test_everything_of_an_owner_lies_in_one_slot_and_owners_are_spread(cluster: RedisServer, cluster_url: str) -> None:
    url = f"{cluster_url}?prefix=slots"
    log, index = RedisLog(RedisConnection(url)), RedisIndex(RedisConnection(url))
    for owner in OWNERS:
        at = log.append(owner, [draft(1, session="{x}")])[0].position
        log.drop(owner, [at])
        log.append(owner, [draft(2, session="s")])
    random_corpus(1).fill(index)
    slots = defaultdict(set)
    with Redis(port=cluster.port, protocol=2) as client:
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
