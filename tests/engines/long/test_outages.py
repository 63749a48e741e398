"""Servers that are killed in the middle of writes and recalls of several threads, and started again."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hybrid_memory import Hit, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import StoreUnavailableError
from tests.doubles import until_there, wait_until
from tests.engines.conftest import Config
from tests.postgres_server import PostgresServer
from tests.servers import MilvusServer, RedisServer

Server = RedisServer | MilvusServer | PostgresServer

WRITERS, EACH = 4, 60
QUERIES = ["the tram to the harbour", "number 7", "渡轮 码头", "writer1-13"]


@dataclass
class Crowd:
    """Threads that write and recall while a server comes and goes.

    Attributes:
        allowed: writes that may have been done so far, so that the server is not killed when all is said.
        acknowledged: ids, as `remember` returned them; waiting: those that went into the outbox.
        answers: the hits of every recall; refused: recalls that raised.
    """

    memory: HybridMemory
    allowed: float = 0
    acknowledged: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    answers: list[list[Hit]] = field(default_factory=list)
    refused: list[StoreUnavailableError] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def write(self, writer: int) -> None:
        """A conversation of its own, where what was refused is said again, under the same id."""
        scoped = self.memory.scoped(user="alice", session=f"s{writer}")
        for number in range(EACH):
            wait_until(lambda: len(self.acknowledged) < self.allowed)
            receipt = until_there(lambda n=number: scoped.remember(text_of(writer, n), id=f"writer{writer}-{n}"))  # type: ignore[misc]
            self.acknowledged += receipt.ids
            self.waiting += receipt.waiting

    def recall(self) -> None:
        alice = self.memory.scoped(user="alice")
        while not self.done.is_set():
            for query in QUERIES:
                try:
                    self.answers.append(alice.recall(query, k=5))
                except StoreUnavailableError as error:
                    self.refused.append(error)
            time.sleep(0.1)

    def through(self, server: Server, *, kills: int = 2, until: Callable[[], bool]) -> None:
        """Write and recall while the server is killed, now and then; it comes back when `until` says so."""
        step = WRITERS * EACH // (2 * kills + 1)
        with ThreadPoolExecutor() as pool:
            recalling = [pool.submit(self.recall) for _ in range(2)]
            writing = [pool.submit(self.write, writer) for writer in range(WRITERS)]
            try:
                for _ in range(kills):
                    begun = len(self.acknowledged)
                    self.allowed = begun + step
                    wait_until(lambda enough=begun + step // 2: len(self.acknowledged) >= enough)  # type: ignore[misc]
                    server.kill()
                    self.answers.clear()
                    self.refused.clear()
                    self.allowed += step
                    wait_until(until)
                    server.start()
                self.allowed = float("inf")
                for job in writing:
                    job.result()
            finally:
                self.allowed = float("inf")
                self.done.set()
            for job in recalling:
                job.result()


@pytest.fixture(scope="module")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """One of its own, as it is killed."""
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


def text_of(writer: int, number: int) -> str:
    """None as long as another one: of texts whose words are as near to a query, the last bit of a product decides."""
    bells = "ding " * (WRITERS * number + writer)
    return f"{bells}The tram number {number} of writer{writer} goes to the harbour. {number}路渡轮到码头。"


def assert_nothing_is_lost_or_there_twice(memory: HybridMemory, acknowledged: list[str]) -> None:
    said = [str(message.id) for message in memory.scoped(user="alice").history()]
    assert Counter(said) == Counter(acknowledged)
    assert len(said) == WRITERS * EACH
    for writer in range(WRITERS):
        mine = memory.scoped(user="alice", session=f"s{writer}").history()
        assert [message.text for message in mine] == [text_of(writer, number) for number in range(EACH)]


def assert_the_index_agrees_with_the_log(memory: HybridMemory) -> None:
    """As an index that was never killed, of which the copy has one, it finds the same."""
    until_there(memory.flush)  # a server that is back is asked again only after the pause of the circuit breaker
    stats = memory.stats()
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (WRITERS * EACH, WRITERS * EACH, 0, 0)
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as copy:
        memory.migrate(copy)
        for query in QUERIES:
            mine, theirs = (one.scoped(user="alice").recall(query, k=20) for one in (memory, copy))
            assert {hit.note for hit in mine} == {""}
            assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in theirs], abs=1e-3)


@pytest.mark.parametrize("engine", ["redis", "postgres"])
@pytest.mark.parametrize("outbox", [False, True])
def test_a_killed_server_with_log_and_index_loses_nothing(
    engine: str, outbox: bool, new_config: Config, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """While it is away recalls fail, and say so; writes fail too, and can be repeated, or go to the outbox in order."""
    settings = {"outbox": str(tmp_path / "outbox.db")} if outbox else {}
    with open_memory(new_config(engine, **settings)) as memory:
        crowd = Crowd(memory)
        server = request.getfixturevalue(f"{engine}_server")
        crowd.through(server, until=lambda: bool(crowd.refused and (crowd.waiting or not outbox)))
        until_there(memory.flush)  # as the writers, who never wait, may end in the pause of the circuit breaker too
        assert memory.stats().waiting == 0
        assert_nothing_is_lost_or_there_twice(memory, crowd.acknowledged)
        assert_the_index_agrees_with_the_log(memory)


@pytest.mark.parametrize("engine", ["redis", "milvus", "postgres"])
def test_recall_answers_without_the_index(engine: str, new_config: Config, request: pytest.FixtureRequest) -> None:
    """No write and no recall fails; what is found by words alone says so, and later the index has it all."""
    with open_memory(new_config(f"sqlite+{engine}")) as memory:
        crowd = Crowd(memory)

        def answered_from_the_log() -> bool:
            return sum(any("by words alone" in hit.note for hit in hits) for hits in crowd.answers) >= len(QUERIES)

        server = request.getfixturevalue(f"{engine}_server")
        crowd.through(server, kills=1 if engine == "milvus" else 2, until=answered_from_the_log)
        assert crowd.refused == []
        assert all(crowd.answers)
        assert_nothing_is_lost_or_there_twice(memory, crowd.acknowledged)
        assert_the_index_agrees_with_the_log(memory)
