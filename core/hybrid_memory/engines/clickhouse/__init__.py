"""The archive of L3 in ClickHouse: on a server, or with its engine embedded in this process."""

from __future__ import annotations

from hybrid_memory.engines.clickhouse.archive import ClickHouseArchive
from hybrid_memory.log.port import Archive
from hybrid_memory.store.engine import Engine

__all__ = ["ClickHouseArchive", "ClickHouseEngine"]


class ClickHouseEngine(Engine):
    """``clickhouse://host:8123/database``, or ``chdb:///folder`` for the embedded engine."""

    def archive(self) -> Archive:
        timeout = self.config.orchestration.engine_timeout.total_seconds()
        return ClickHouseArchive(self.url, engine_timeout=timeout)
