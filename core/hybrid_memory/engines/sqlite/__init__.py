"""The embedded engine: log, index and vectors in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path

from hybrid_memory.engines.sqlite.database import VERSION, Database
from hybrid_memory.engines.sqlite.driver import Driver
from hybrid_memory.engines.sqlite.tables import SqliteIndex, SqliteLog
from hybrid_memory.errors import DISTRIBUTION
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog, Key
from hybrid_memory.store.engine import REBUILD, RESTORE, SHOWN, Engine, Finding

__all__ = ["Database", "SqliteEngine", "SqliteIndex", "SqliteLog"]


class SqliteEngine(Engine):
    """``sqlite:///relative.db`` and ``sqlite:////absolute.db``; log and index share the file."""

    encrypts = True

    @property
    def path(self) -> Path | None:
        path = self.url.removeprefix("sqlite:///")
        return None if path in {self.url, "", ":memory:"} else Path(path).expanduser()

    def log(self) -> EventLog:
        return super().log() if self.path is None else SqliteLog(self._database)

    def index(self) -> SemanticIndex:
        if self.path is None:
            return super().index()
        return SqliteIndex(self._database, cache_bytes=self.config.cache_megabytes << 20)

    def check(self) -> list[Finding]:
        return [] if self.path is None else list(check_file(self.path, self.key))

    @cached_property
    def _database(self) -> Database:
        path = self.path or Path()  # asked for only where there is one
        return Database(path, power_safe=self.config.power_safe, key=self.key, read_only=self.read_only)


LEFTOVERS = {
    "vectors without a record": "SELECT count(*) FROM vectors WHERE record NOT IN (SELECT id FROM records)",
    "records without a vector that wait for none": (
        "SELECT count(*) FROM records WHERE NOT pending AND id NOT IN (SELECT record FROM vectors)"
    ),
}
"""Kinds of orphaned rows, with the query that counts them."""


def check_file(path: Path, key: Key | None = None) -> Iterator[Finding]:
    """Check the schema, damaged pages and orphaned index rows; changes nothing."""
    driver = Driver(path, key)
    try:
        with closing(driver.connect()) as connection:
            connection.execute("PRAGMA query_only = ON")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == VERSION:
                yield Finding("schema", "ok", f"version {version}")
            else:
                mend = f"use the {DISTRIBUTION} that wrote it"
                yield Finding("schema", "wrong", f"version {version}, not {VERSION}", mend)
            problems = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({SHOWN})")]
            if problems == ["ok"]:
                yield Finding("integrity", "ok", "SQLite finds no damage in the file")
            else:
                yield Finding("integrity", "wrong", "; ".join(problems), RESTORE)
            for what, sql in LEFTOVERS.items() if version == VERSION else ():
                (count,) = connection.execute(sql).fetchone()
                if count:
                    yield Finding("orphans", "wrong", f"{count:,} {what}", REBUILD)
    except driver.error as error:
        yield Finding("integrity", "wrong", str(driver.failure("read", error)), RESTORE)
