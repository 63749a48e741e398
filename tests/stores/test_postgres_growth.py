"""What Postgres reads for a call does not grow with the store, though its plan was made when the store was empty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from hybrid_memory.engines.postgres import PostgresConnection, PostgresIndex, PostgresLog
from hybrid_memory.index.port import Search
from hybrid_memory.index.record import Where
from hybrid_memory.testing.corpus import ALICE, DIM, EMBEDDER, entry_of, make_record, unit
from hybrid_memory.testing.drafts import draft
from hybrid_memory.testing.postgres_server import PostgresServer

FEW, MANY, CALLS = 8, 2_000, 10
"""After five times a statement is prepared, and its plan kept."""

MOST = 100
"""Rows of indexes a call."""


def read_by(server: PostgresServer, connection: PostgresConnection, call: Callable[[], object]) -> int:
    """How many rows of indexes a call reads, other than those of vectors, which are searched one by one."""

    def so_far() -> int:
        connection.query("SELECT pg_stat_force_next_flush()")
        connection.query("SELECT 1")
        counts = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = '{}' AND relname <> 'vectors'"
        ((read,),) = server.execute(counts.format(connection.schema))
        return int(read or 0)

    before = so_far()
    for _ in range(CALLS):
        call()
    return (so_far() - before) // CALLS


def test_what_a_log_reads(postgres_server: PostgresServer) -> None:
    connection = PostgresConnection(f"{postgres_server.url}?schema=growing_log&pool=1")
    log, number = PostgresLog(connection), count()

    def said() -> None:
        (one,) = log.append(ALICE, [draft(next(number), session="s")])
        assert [event.id for event in log.read(ALICE, ids=[one.id])] == [one.id]
        assert [event.id for event in log.read(session, ids=[one.id])] == [one.id]
        assert log.state(ALICE).head == one.position
        assert log.read(ALICE, after=one.position - 1)[0].id == one.id

    session = replace(ALICE, session="s")
    for _ in range(FEW):
        said()
    log.append(ALICE, [draft(next(number), session="s") for _ in range(MANY)])
    assert read_by(postgres_server, connection, said) < MOST
    log.close()


def test_what_an_index_reads(postgres_server: PostgresServer) -> None:
    connection = PostgresConnection(f"{postgres_server.url}?schema=growing_index&pool=1")
    index, vector = PostgresIndex(connection), unit(np.ones(DIM))

    def indexed(size: int = 1) -> None:
        after = index.status(ALICE).applied
        numbers = range(after + 1, after + 1 + size)
        entries = [entry_of(make_record(number, f"word{number} words")) for number in numbers]
        assert index.upsert(ALICE, entries, after=after, upto=numbers[-1])
        assert [record.id for record, _ in index.pending(ALICE, 1)] == [numbers[0]]
        index.put_vectors(EMBEDDER, {number: bytes([1]) for number in numbers}, {bytes([1]): vector})
        assert [record.id for record in index.get([numbers[-1]])] == [numbers[-1]]
        search = Search([f"word{numbers[-1]}"], Where(ALICE), 5)
        found = index.explore([search], Where(ALICE), radius=1, vector=vector)
        assert found.matches[0].ids.tolist() == [numbers[-1]]
        assert index.fetch(found.matches[0].ids, ALICE).present.all()
        assert index.status(ALICE).applied == numbers[-1]

    for _ in range(FEW):
        indexed()
    indexed(MANY)
    indexed()  # this one passes by those that waited, once
    assert read_by(postgres_server, connection, indexed) < MOST
    index.close()
