"""The archive of L3 in ClickHouse: a server, or its engine in this process."""

from __future__ import annotations

from hybrid_memory.engines.clickhouse.archive import ClickHouseArchive
from hybrid_memory.engines.engine import Engine

__all__ = ["ClickHouseArchive", "ClickHouseEngine"]


class ClickHouseEngine(Engine):
    """``clickhouse://host``, or ``chdb:///folder`` in this process."""

    def archive(self) -> ClickHouseArchive:
        """The archive on the server."""
        return ClickHouseArchive(self.url)
