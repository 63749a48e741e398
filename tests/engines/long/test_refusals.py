"""Servers that are full, evict, or are stopped so that they never answer."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.errors import HybridMemoryError, OutcomeUnknownError, StoreError, StoreUnavailableError
from hybrid_memory.runtime.breaker import Admission
from tests.postgres_server import PostgresServer
from tests.servers import MilvusServer, RedisServer

SERVERS: dict[str, type[RedisServer | MilvusServer | PostgresServer]] = {
    "redis": RedisServer,
    "milvus": MilvusServer,
    "postgres": PostgresServer,
}
QUIET: dict[str, Any] = {"embedder": "hashing", "orchestration": {"background": False}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis", options=("--enable-debug-command", "yes")) as server:
        yield server


def index_of(server: RedisServer | MilvusServer | PostgresServer) -> str:
    return f"{server.url}?{'schema' if isinstance(server, PostgresServer) else 'prefix'}=a"


def limited(server: RedisServer, policy: str, room: int) -> None:
    with Redis(port=server.port) as client:
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + room if room else 0)


def test_what_a_full_server_refuses_is_not_in_the_log(server: RedisServer) -> None:
    with open_memory(MemoryConfig.of({"url": server.url, **QUIET})) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("My cat is called Pixel.", id="cat")
        limited(server, "noeviction", 200_000)
        written, refused = ["cat"], list[StoreUnavailableError]()
        for number in range(150):
            name = f"m{number}"
            try:
                alice.remember([{"content": "x" * 2_000, "id": name}, {"content": "y", "id": f"{name}+"}])
                written += [name, f"{name}+"]
            except StoreUnavailableError as error:
                refused.append(error)
        assert written[1:]
        assert refused
        assert not any(isinstance(error, OutcomeUnknownError) or "alice" in str(error) for error in refused)
        assert {hit.note != "" for hit in alice.recall("cat", k=3)} == {True}, "the index takes nothing either"
        limited(server, "noeviction", 0)
        assert [message.id for message in alice.history()] == written
        assert alice.recall("what is my cat called", k=1)[0].record.text == "My cat is called Pixel."


@pytest.mark.parametrize("index", ["memory://", None])
def test_a_server_that_evicts_is_warned_of_and_its_losses_have_typed_errors(
    index: str | None, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    limited(server, "allkeys-random", 10_000_000)
    config = MemoryConfig.of({"url": server.url, "index": {"url": index}, **QUIET})
    with caplog.at_level(logging.WARNING), open_memory(config) as memory:
        assert any("events may be lost; set noeviction" in message for message in caplog.messages)
        assert any("records may be lost" in message for message in caplog.messages) is (index is None)
        alice = memory.scoped(user="alice", session="s")
        alice.remember([f"The tram number {number} goes to the harbour." for number in range(30)])
        alice.recall("tram")
        errors: list[HybridMemoryError] = []
        with Redis(port=server.port) as client:
            keys = sorted(client.keys("*:log:*")) + sorted(client.keys("*:index:*")) + sorted(client.keys("*:record:*"))
            for key in keys:
                client.delete(key)
                for verb in verbs(memory):
                    try:
                        verb()
                    except HybridMemoryError as error:
                        errors.append(error)
        assert {type(error) for error in errors} <= {StoreError, StoreUnavailableError}


def verbs(memory: HybridMemory) -> list[Callable[[], object]]:
    alice = memory.scoped(user="alice", session="s")
    return [
        lambda: alice.recall("tram to the harbour", k=3),
        lambda: alice.remember("Once more."),
        alice.history,
        memory.stats,
    ]


def test_a_write_that_nobody_answers_says_that_its_outcome_is_unknown(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And done again under the same id it is written once."""
    monkeypatch.setattr("hybrid_memory.engines.redis.connection.CALL_SECONDS", 0.6)
    with open_memory(MemoryConfig.of({"url": server.url, "index": {"url": "memory://"}, **QUIET})) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("first", id="one")
        run, sent = RedisConnection.script, list[Any]()

        def stopping(self: RedisConnection, script: Any, keys: Any, values: Any = ()) -> Any:
            if len(values) > 8 and not sent:  # an append
                sent.append(values)
                with server.stopped():
                    return run(self, script, keys, values)
            return run(self, script, keys, values)

        monkeypatch.setattr(RedisConnection, "script", stopping)
        with pytest.raises(OutcomeUnknownError) as caught:
            alice.remember("second")
        (name,) = caught.value.ids
        connection: Any = memory._runtime.services.log._log  # type: ignore[attr-defined]
        connection._connection._breaker.succeeded()
        alice.remember("second", id=name)
        assert [message.text for message in alice.history()] == ["first", "second"]


@pytest.mark.parametrize("engine", list(SERVERS))
def test_a_stopped_index_is_asked_once_and_then_probed_at_times(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in ("redis.connection", "milvus.catalog", "postgres.connection"):
        monkeypatch.setattr(f"hybrid_memory.engines.{one}.CALL_SECONDS", 0.6)
    with SERVERS[engine](tmp_path / engine) as server:
        config = {"url": f"sqlite:///{tmp_path / 'log.db'}", "index": {"url": index_of(server)}, **QUIET}
        monkeypatch.setattr("hybrid_memory.engines.milvus.catalog.CALL_SECONDS", 8.0)
        with open_memory(MemoryConfig.of(config)) as memory:
            alice = memory.scoped(user="alice")
            alice.remember("My cat is called Pixel.")
            assert alice.recall("cat")[0].note == ""
            index: Any = memory._runtime.services.index
            connection = {"redis": "_connection", "milvus": "_catalog", "postgres": "_db"}[engine]
            connection = getattr(index, connection)
            monkeypatch.setattr("hybrid_memory.engines.milvus.catalog.CALL_SECONDS", 0.6)
            now = [0.0]
            connection._breaker._clock = lambda: now[0]
            asked: list[str] = []
            tried = connection._tried

            def counted(*args: Any, **named: Any) -> Any:
                asked.append(str(args[0]))
                try:
                    return tried(*args, **named)
                finally:
                    now[0] += 0.7  # as slow as it may be

            monkeypatch.setattr(connection, "_tried", counted)
            with server.stopped():
                for number in range(20):
                    alice.remember(f"The tram number {number} is late.")
                    hits = alice.recall(f"tram number {number}")
                    assert hits[0].record.text == f"The tram number {number} is late."
                    assert "by words alone" in hits[0].note
                assert len(asked) == 1
                now[0] += 2
                assert "by words alone" in alice.recall("tram")[0].note
                assert len(asked) == 1, "the probe failed sooner"
                assert connection._breaker.admit() is Admission.NO
            now[0] += 60
            connection._breaker._clock = lambda: 1e9
            assert alice.recall("cat", k=1)[0].note == ""
            assert memory.stats().unindexed == 0
