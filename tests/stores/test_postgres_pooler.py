"""Postgres behind PgBouncer in transaction mode: no transaction may depend on what an earlier one set."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.engines.postgres import PostgresConnection, PostgresIndex, PostgresLog
from hybrid_memory.index.record import Where
from hybrid_memory.testing.corpus import ALICE, DIM, EMBEDDER, entry_of, make_record, unit
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


def test_pgvector_may_be_in_any_schema(pooler: Pooler, postgres_server: PostgresServer) -> None:
    postgres_server.execute("CREATE DATABASE supa OWNER memory TEMPLATE template0", database="postgres")
    postgres_server.execute('CREATE SCHEMA "Ext"', database="supa")
    postgres_server.execute('CREATE EXTENSION vector SCHEMA "Ext"', database="supa")
    postgres_server.execute('GRANT USAGE ON SCHEMA "Ext" TO memory', database="supa")
    index = PostgresIndex(PostgresConnection(pooler.url.removesuffix("memory") + "supa"), exact_limit=5)
    vectors = [unit(row) for row in np.random.default_rng(1).normal(size=(9, DIM))]
    entries = [entry_of(make_record(number + 1, f"word{number}")) for number in range(9)]
    assert index.upsert(ALICE, entries, after=0, upto=9)
    keys = {number + 1: bytes([number]) for number in range(9)}
    index.put_vectors(EMBEDDER, keys, dict(zip(keys.values(), vectors, strict=True)))
    index.train(ALICE)
    assert index._approximate.has(1)
    assert index.nearest(vectors[3], Where(ALICE), 1).ids.tolist() == [4]
    assert np.array_equal(index.fetch(np.array([4]), ALICE).vectors[0], vectors[3])
    index.close()
