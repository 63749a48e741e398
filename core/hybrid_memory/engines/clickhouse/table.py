"""The table of archived events: how it is made, and how an event becomes a row and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from clickhouse_connect.driver.client import Client

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.scope import Scope

COLUMNS = (
    "owner", "position", "version", "tenant", "user", "agent", "space", "session", "id", "kind", "at", "payload",
    "sources", "author",
)  # fmt: skip
SELECTED = (
    "position, version, tenant, user, agent, space, session, id, kind, toUnixTimestamp64Micro(at), payload, sources, "
    "author"
)

# Of one place the row with the highest version is read. What is replaced or deleted leaves the disk within seconds,
# not after ClickHouse's eight minutes; in return everything is synced, as those old parts were the safety net.
_CREATE = """
CREATE TABLE IF NOT EXISTS `{table}` (
    owner UInt64, position Int64, version UInt64,
    tenant String, user String, agent String, space String, session String,
    id String, kind LowCardinality(String), at DateTime64(6, 'UTC'),
    payload String CODEC(ZSTD), sources String, author String
)
ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(at) ORDER BY (owner, position)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prepare(client: Client, table: str, ttl: timedelta | None) -> None:
    """Make the table if it is not there, and let it forget what is older than ``ttl``, or nothing."""
    client.command(_CREATE.format(table=table))
    ((engine,),) = client.query(
        "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = {name:String}",
        parameters={"name": table},
    ).result_rows
    if ttl is None:
        if " TTL " in engine:
            client.command(f"ALTER TABLE `{table}` REMOVE TTL")
        return
    rule = f"TTL toDateTime(at) + toIntervalSecond({int(ttl.total_seconds())})"
    if rule not in engine:
        client.command(f"ALTER TABLE `{table}` MODIFY {rule}")


def parts_of(scope: Scope) -> dict[str, Any]:
    """The columns that say whose an event is, empty where there is nothing, with the owner's number."""
    parts = {name: getattr(scope, name) or "" for name in ("tenant", "user", "agent", "space")}
    return {"owner": _owner(scope.owner), **parts, "session": scope.session or ""}


def row_of(event: Event, version: int) -> list[Any]:
    """The values of `COLUMNS`."""
    values: dict[str, Any] = {
        **parts_of(event.scope),
        "position": event.position,
        "version": version,
        "id": event.id,
        "kind": str(event.kind),
        "at": event.at,
        "payload": to_json(event.payload),
        "sources": to_json(event.sources),
        "author": event.author,
    }
    return [values[column] for column in COLUMNS]


def version_and_event(row: Sequence[Any]) -> tuple[int, Event]:
    """What stands in a row of `SELECTED`."""
    position, version, tenant, user, agent, space, session, event_id, kind, micros, payload, sources, author = row
    event = Event(
        position=position,
        id=event_id,
        scope=_scope(tenant, user, agent, session, space),
        kind=EventKind(kind),
        at=_EPOCH + timedelta(microseconds=micros),
        payload=json.loads(payload),
        sources=tuple(json.loads(sources)),
        author=author,
    )
    return version, event


def owner_of(tenant: str, user: str, agent: str, space: str) -> Scope:
    """The owner behind the stored parts."""
    return _scope(tenant, user, agent, "", space)


def to_json(value: Any) -> str:
    """As it is stored."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def _owner(owner: Scope) -> int:
    """A number that brings an owner's events together on disk; the parts themselves tell owners apart."""
    parts = json.dumps([owner.tenant, owner.user, owner.agent, owner.space])
    return int.from_bytes(hashlib.blake2b(parts.encode(), digest_size=8).digest())


@lru_cache(maxsize=4096)
def _scope(tenant: str, user: str, agent: str, session: str, space: str) -> Scope:
    return Scope(tenant or None, user or None, agent or None, session or None, space or None)
