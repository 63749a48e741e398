"""The log in Postgres: writers side by side, connections that are cut."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from hybrid_memory import Scope
from hybrid_memory.engines.postgres import PostgresConnection, PostgresLog
from hybrid_memory.engines.postgres.pool import Run
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.ports import Appended
from hybrid_memory.testing.drafts import ALICE, draft
from tests.doubles import wait_until
from tests.postgres_server import PostgresServer

BOB = Scope(user="bob")


def test_a_writer_that_is_slow_to_commit_holds_up_those_of_its_owner_alone(postgres_url: str) -> None:
    """Otherwise a lower position would be seen after a higher one."""
    slow, fast = PostgresLog(PostgresConnection(postgres_url)), PostgresLog(PostgresConnection(postgres_url))
    slow.append(ALICE, [draft(0)])
    with ThreadPoolExecutor() as pool:

        def held(connection: Run, _: int) -> Appended:
            (mine,) = slow._appended(connection, ALICE, [draft(1)], None, again=False)
            assert fast.append(BOB, [draft(1)])[0].position > mine.position
            waiting.append(pool.submit(fast.append, ALICE, [draft(2)]))
            while not slow._db.query("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"):
                assert not waiting[0].done()
            return mine

        waiting: list[Future[list[Appended]]] = []
        first = slow._db.write(held)
        second = waiting[0].result()[0]
    assert first.position < second.position
    assert [event.id for event in fast.read(ALICE)] == ["e0", "e1", "e2"]
    slow.close()
    fast.close()


def test_positions_are_given_out_once_while_events_are_restored(postgres_url: str) -> None:
    """What is restored has its own positions, lower or higher than those that are given out at the same time."""
    writer, restorer = PostgresLog(PostgresConnection(postgres_url)), PostgresLog(PostgresConnection(postgres_url))
    (old,) = restorer.append(ALICE, [draft(0)])
    restored = restorer.read(ALICE)

    over, begun = threading.Event(), threading.Barrier(7)

    def write(thread: int) -> list[int]:
        owner, made = Scope(user=f"user{thread}"), [begun.wait()]
        while not over.is_set():
            made.append(writer.append(owner, [draft(len(made))])[0].position)
        return made[1:]

    with ThreadPoolExecutor() as pool:
        writing = [pool.submit(write, thread) for thread in range(6)]
        begun.wait()
        for _ in range(100):
            restorer.restore(ALICE, restored)
        over.set()
        positions = [position for job in writing for position in job.result()]
    assert len(set(positions)) == len(positions)
    restorer.restore(BOB, [replace(restored[0], scope=BOB, position=max(positions) + 500)])
    assert restorer.append(ALICE, [draft(1)])[0].position > max(positions) + 500
    assert restorer.heads(ALICE) == {ALICE.owner: restorer.read(ALICE)[-1].position}
    assert old.position == restored[0].position
    writer.close()
    restorer.close()


def test_connections_that_are_cut_again_and_again_lose_and_double_nothing(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    """What raises may be done, and is done once more under the same id."""
    log = PostgresLog(PostgresConnection(postgres_url))
    writers, each, acknowledged = 4, 60, list[tuple[str, int]]()

    def write(writer: int) -> None:
        for number in range(each):
            made = draft(1_000 * writer + number, session=f"s{writer}")
            while True:
                try:
                    acknowledged.extend((one.id, one.position) for one in log.append(ALICE, [made]))
                    break
                except StoreUnavailableError:
                    continue

    cuts = 0
    with ThreadPoolExecutor(max_workers=writers) as pool:
        writing = [pool.submit(write, writer) for writer in range(writers)]
        while not all(job.done() for job in writing):
            said = len(acknowledged)
            wait_until(lambda said=said: len(acknowledged) > said + 10 or all(job.done() for job in writing))  # type: ignore[misc]
            cuts += postgres_server.cut() > 0
        for job in writing:
            job.result()
    assert cuts >= 3
    events = log.read(ALICE)
    assert sorted((event.id, event.position) for event in events) == sorted(acknowledged)
    assert len(events) == len({event.id for event in events}) == writers * each
    log.close()


def test_a_pool_that_is_exhausted_says_so(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.engines.postgres.pool.POOL_SECONDS", 0.1)
    log = PostgresLog(PostgresConnection(f"{postgres_url}&pool=1"))
    with ThreadPoolExecutor() as pool:

        def held(_: object, __: int) -> None:
            with pytest.raises(StoreUnavailableError, match=r"all connections are busy; .*\?pool="):
                pool.submit(log.append, ALICE, [draft(1)]).result()

        log._db.write(held)
    assert log.append(ALICE, [draft(1)])[0].fresh
    log.close()
