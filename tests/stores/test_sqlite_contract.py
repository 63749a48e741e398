from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory.stores.sqlite import Database, SqliteIndex, SqliteLog
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
