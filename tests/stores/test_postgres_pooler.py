"""Postgres behind PgBouncer in transaction mode: no transaction may depend on what an earlier one set."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.engines.postgres import PostgresConnection, PostgresLog
from hybrid_memory.testing.corpus import ALICE
from hybrid_memory.testing.drafts import draft
from tests.doubles import texts
from tests.postgres_server import Pooler, PostgresServer

QUIET: dict[str, Any] = {"embedder": "hashing", "orchestration": {"background": False}}
STORES, THREADS, TURNS = ("red", "blue"), 3, 6


def test_two_stores_share_the_sessions_of_a_pooler_and_never_see_each_other(pooler: Pooler) -> None:
    """Fresh stores behind a fresh pooler, with users of the same names and texts that name their store."""
    with ExitStack() as stack:
        settings = [{**QUIET, "url": f"{pooler.url}?schema={store}", "power_safe": store == "red"} for store in STORES]
        memories = [stack.enter_context(open_memory(MemoryConfig.of(config))) for config in settings]

        def use(thread: int) -> None:
            store, memory = STORES[thread % 2], memories[thread % 2]
            user = memory.scoped(user=f"user{thread // 2}")
            for number in range(TURNS):
                user.remember(f"My {store} lamp has number {number}.")
                hits = texts(user.recall("number of the lamp", k=TURNS))
                assert len(hits) == number + 1
                assert all(store in hit for hit in hits)

        with ThreadPoolExecutor(2 * THREADS) as pool:
            list(pool.map(use, range(2 * THREADS)))
        for memory in memories:
            assert memory.stats().events == memory.stats().records == THREADS * TURNS


def test_no_session_keeps_a_setting(pooler: Pooler, postgres_server: PostgresServer) -> None:
    """Each would reach whoever gets the session next."""
    log = PostgresLog(PostgresConnection(f"{pooler.url}?schema=settings", power_safe=False))
    log.append(ALICE, [draft(1)])
    log.scrub()
    changed = "SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'application_name'"
    with log._db._pool.connection() as connection:
        assert connection.execute(changed).fetchall() == []
    assert postgres_server.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'") == []
    log.close()
