from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import EventKind, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.log.port import Draft
from hybrid_memory.testing.corpus import Corpus
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.stores.shelf import Shelf, Shelved, corpus_of


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder = tmp_path_factory.mktemp("filled")
    shelf = Shelf(lambda name: SqliteIndex(Database(folder / f"{name}.db", power_safe=False)))
    yield shelf
    shelf.close()


class TestSqliteLog(EventLogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog(Database(tmp_path / "memory.db", power_safe=False))
        yield log
        log.close()


class TestSqliteIndex(Shelved, SemanticIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SqliteIndex]:
        index = SqliteIndex(Database(tmp_path / "memory.db", power_safe=False))
        yield index
        index.close()

    @pytest.fixture(params=range(2), ids=lambda seed: f"seed {seed}")
    def corpus(self, request: pytest.FixtureRequest) -> Corpus:
        return corpus_of(request.param)


def test_few_events_are_not_looked_for_among_all_of_an_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []
    log = SqliteLog(database := Database(tmp_path / "memory.db", power_safe=False))
    query, owner = database.query, Scope(user="a")
    log.append(owner, [Draft("1", True, "s", EventKind.RECALLED, datetime.now(UTC), {})])

    def noted(sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        asked.append((sql, values))
        return query(sql, values)

    monkeypatch.setattr(database, "query", noted)
    log.read(owner, kinds=(EventKind.ROLLBACK, EventKind.SUPERSEDED))
    sql, values = asked[-1]
    assert "events_of_owner_kind" in str(query(f"EXPLAIN QUERY PLAN {sql}", values))
    log.close()
