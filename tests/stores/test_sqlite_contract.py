from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory.stores.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.semantic_index import SemanticIndexContract


class TestSqliteLog(EventLogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog(Database(tmp_path / "memory.db", power_safe=False))
        yield log
        log.close()


class TestSqliteIndex(SemanticIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SqliteIndex]:
        index = SqliteIndex(Database(tmp_path / "memory.db", power_safe=False))
        yield index
        index.close()
