"""The archive of L3 in ClickHouse: a server, or its engine in this process."""

from __future__ import annotations

from hybrid_memory.engines.clickhouse.archive import ClickHouseArchive

__all__ = ["ClickHouseArchive"]
