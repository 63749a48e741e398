"""What is kept of an owner follows the store: a deletion touches what it deletes, and memory stays under its bound."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_memory import Record, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, tables
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Entry, Ids
from tests.stores.conftest import DIM, NOON, vector

OWNER, BOB = Scope(user="alice"), Scope(user="bob")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were read of a store for the copy in memory."""
    counts = [0]
    query = Database.query

    def counted(self: Database, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        found = query(self, sql, parameters)
        counts[0] += len(found) if "r.changed > " in sql else 0
        return found

    monkeypatch.setattr(Database, "query", counted)
    return counts


@pytest.fixture
def index(tmp_path: Path) -> Any:
    database = Database(tmp_path / "memory.db", power_safe=False)
    with closing(SqliteIndex(database)) as made:
        yield made


def record(number: int, owner: Scope = OWNER, **fields: Any) -> Record:
    values: dict[str, Any] = {"segment": number // 4, "ordinal": number % 4, **fields}
    return Record(number, owner, f"turn {number}", NOON + timedelta(minutes=number), (f"e{number}",), **values)


def put(index: SqliteIndex, numbers: list[int], owner: Scope = OWNER, **more: Any) -> None:
    """Records with their vectors."""
    at = index.status(owner).applied
    entries = [Entry(record(number, owner), f"word{number}") for number in numbers]
    assert index.upsert(owner, entries, after=at, upto=max([at, *numbers]), **more)
    keys = {number: b"key %d" % number for number in numbers}
    index.put_vectors(("canaries", DIM), keys, {key: vector(number) for number, key in keys.items()})


def ids(*numbers: int) -> Ids:
    return np.array(numbers, dtype=np.int64)


def nearest(index: SqliteIndex, number: int, k: int = 1, owner: Scope = OWNER) -> list[int]:
    found: list[int] = index.search(vector(number), Where(owner), k).ids.tolist()
    return found


def columns(index: SqliteIndex) -> list[int]:
    found: list[int] = index.columns(ids(*range(500)), Where(OWNER), 0).ids.tolist()
    return found


def test_a_deletion_reads_nothing_of_what_it_leaves(index: SqliteIndex, read: list[int]) -> None:
    put(index, list(range(1, 301)))
    put(index, list(range(301, 400)), BOB)
    nearest(index, 7), columns(index), nearest(index, 301, owner=BOB)
    read[:] = [0]
    index.delete([7, 8, 200])
    assert nearest(index, 7, 300) == nearest(index, 7, 400)
    assert not {7, 8, 200} & set(nearest(index, 7, 400))
    assert columns(index) == [n for n in range(1, 301) if n not in {7, 8, 200}]
    assert nearest(index, 301, owner=BOB) == [301], "another's stays"
    assert read == [0]
    put(index, [8])
    read[:] = [0]
    assert nearest(index, 8) == [8]
    assert 8 in columns(index)
    assert read == [1]


def test_memory_stays_under_its_bound_while_owners_come_and_go(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.db", power_safe=False)
    bound = 64 << 10
    with closing(SqliteIndex(database, cache_bytes=bound)) as index:
        owners = [Scope(user=f"u{number}") for number in range(40)]
        for number, owner in enumerate(owners):
            put(index, list(range(50 * number + 1, 50 * number + 51)), owner)
        most = 0
        for _ in range(2):
            for number, owner in enumerate(owners):
                assert nearest(index, 50 * number + 3, owner=owner) == [50 * number + 3]
                assert len(index.columns(ids(50 * number + 3), Where(owner), 1).ids) > 1
                most = max(most, index._nbytes)
        kept = [owner for owner in index._kept.values() if owner.nbytes]
        assert 3 < len(kept) < 10
        assert bound / 2 < most <= bound
        assert index._nbytes == sum(owner.nbytes for owner in kept)


def test_too_many_changes_make_all_anew(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_GONE", 5)
    put(index, list(range(1, 41)))
    assert len(columns(index)) == len(nearest(index, 1, 100)) == 40
    for first in range(1, 31, 3):
        index.delete([first, first + 1, first + 2])
        left = [n for n in range(1, 41) if n > first + 2]
        assert columns(index) == sorted(nearest(index, 1, 100)) == left
    assert index._db.query("SELECT count(*) FROM gone")[0][0] <= 5
