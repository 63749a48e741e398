import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import EventKind, Scope
from hybrid_memory.engines.redis import RedisConnection, RedisLog
from hybrid_memory.engines.redis import log as log_module
from hybrid_memory.engines.redis.log_scripts import READ
from hybrid_memory.errors import InvalidConfigError, StoreUnavailableError, StoreVersionError
from hybrid_memory.testing.drafts import ALICE, draft
from tests.servers import RedisServer, free_port


@pytest.fixture
def log(redis_url: str) -> Iterator[RedisLog]:
    log = RedisLog(RedisConnection(redis_url))
    yield log
    log.close()


def test_a_node_of_a_cluster_is_refused(tmp_path: Path) -> None:
    node = RedisServer(tmp_path, options=("--cluster-enabled", "yes"))
    with node, pytest.raises(InvalidConfigError, match="node of a cluster"):
        RedisConnection(node.url)


def test_a_follower_that_lags_misses_no_event_between_reserving_and_appending(redis_url: str) -> None:
    """The position of the slow one is taken back if the fast one was there first."""
    slow, fast = RedisLog(RedisConnection(redis_url)), RedisLog(RedisConnection(redis_url))
    reserve = slow._reserved
    late = iter([True, False])

    def overtaken(owner: Scope, size: int, beyond: int) -> int:
        base = reserve(owner, size, beyond)
        if next(late):
            fast.append(ALICE, [draft(1)])
        return base

    slow._reserved = overtaken  # type: ignore[method-assign]
    (appended,) = slow.append(ALICE, [draft(2)])
    first, second = slow.read(ALICE)
    assert (first.id, second.id, second.position) == ("e1", "e2", appended.position)
    assert slow.read(ALICE, after=first.position) == [second]
    slow.close()
    fast.close()


def test_positions_go_on_when_the_counter_was_set_back(log: RedisLog) -> None:
    log.append(ALICE, [draft(number) for number in range(5)])
    log._connection.call("SET", f"{log._prefix}:position", 1)
    (appended,) = log.append(ALICE, [draft(9)])
    assert [event.position for event in log.read(ALICE)] == [1, 2, 3, 4, 5, appended.position]


def test_an_erasure_between_two_pages_begins_the_reading_anew(log: RedisLog, monkeypatch: pytest.MonkeyPatch) -> None:
    at = [one.position for one in log.append(ALICE, [draft(number) for number in range(9)])]
    monkeypatch.setattr(log_module, "PAGE", 4)
    run, pages = log._run, count()

    def interrupted(script: Any, owner: Scope, values: Any) -> Any:
        if script is READ and next(pages) == 1:
            log.erase(ALICE, [at[0], at[8]], {}, draft(100, kind=EventKind.ERASED))
        return run(script, owner, values)

    monkeypatch.setattr(log, "_run", interrupted)
    assert [event.id for event in log.read(ALICE)] == [*(f"e{n}" for n in range(1, 8)), "e100"]


def test_what_was_erased_leaves_the_disk_with_the_next_scrub(redis_server: RedisServer, log: RedisLog) -> None:
    words = b"xylophone quartz passphrase"
    at = log.append(ALICE, [draft(1, payload={"content": words.decode()}), draft(2)])[0].position
    log.erase(ALICE, [at], {}, draft(3, kind=EventKind.ERASED))
    files = list(redis_server.folder.rglob("*.aof"))
    assert any(words in file.read_bytes() for file in files), "the test looks in the wrong place"
    log.scrub()
    assert not any(words in file.read_bytes() for file in redis_server.folder.rglob("*") if file.is_file())
    assert log.size().bytes > 0


def test_a_scrub_that_fails_says_so(log: RedisLog, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = list[str](), log._connection.info

    def full(section: str) -> dict[str, Any]:
        return {**ask(section), "aof_last_bgrewrite_status": "err"}

    monkeypatch.setattr(log._connection, "info", full)
    monkeypatch.setattr(log._connection, "call", asked.append)
    with pytest.raises(StoreUnavailableError, match="may remain"):
        log.scrub()
    assert asked == ["BGREWRITEAOF"]


def test_a_server_that_is_not_there_is_told_with_its_address() -> None:
    port = free_port()
    with pytest.raises(StoreUnavailableError, match=f"127.0.0.1:{port}") as caught:
        RedisConnection(f"redis://ann:secret@127.0.0.1:{port}")
    assert "secret" not in str(caught.value)


def test_a_store_of_another_version_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    connection = RedisConnection(redis_url)
    connection.call("SET", f"{connection.prefix}:layout", 99)
    connection.close()
    with pytest.raises(StoreVersionError, match="version 99"):
        RedisConnection(redis_url)


def test_settings_that_lose_events_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    risky = ("--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
    with RedisServer(tmp_path, options=risky) as server, caplog.at_level(logging.WARNING):
        log = RedisLog(RedisConnection(server.url))
        told = [record.message for record in caplog.records]
        assert ["append-only" in told[0], "evicts" in told[1]] == [True, True]
        log.append(ALICE, [draft(1)])
        log.scrub()
        assert log.size().bytes > 0
        log.close()
