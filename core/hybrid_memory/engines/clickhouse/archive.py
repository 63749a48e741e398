"""The archive of L3 in ClickHouse, ordered by owner and position and partitioned by month."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Unpack

from hybrid_memory.engines.clickhouse.connection import Connection, parsed
from hybrid_memory.engines.stored import from_micros, micros_or_none
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Archive, LogSize, Reading, Selection
from hybrid_memory.runtime.tasks import ENGINE_SECONDS
from hybrid_memory.scope import Scope

ERASING_SECONDS = 60
"""Seconds that ClickHouse has to rewrite the parts of the table with erased data."""

_CHUNK = 1000
"""Ids or positions per query."""

_FROM = "FROM {table:Identifier}"
_OWNER = (
    "owner = {owner:UInt64} AND tenant = {tenant:String} AND user = {user:String} AND agent = {agent:String} "
    "AND space = {space:String}"
)
_SESSION = "session = {session:String}"
_NONE: Mapping[str, Any] = MappingProxyType({})


class ClickHouseArchive(Archive):
    """Archived events of one log in one ClickHouse table.

    It connects at the first call, and reconnects at the next call after a failure.

    Args:
        url: ``clickhouse://[user:password@]host[:8123]/database?table=name``, ``clickhouse+tls://...`` (port 8443), or
            ``chdb:///relative/folder`` and ``chdb:////absolute/folder`` for the embedded engine, which can have only
            one folder open.
        engine_timeout: seconds that a read may take while a caller waits; see `OrchestrationConfig.engine_timeout`.

    Raises:
        InvalidConfigError: the URL is invalid.
    """

    def __init__(self, url: str, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        address = parsed(url)
        self._table = address.table
        self._db = Connection(address, _CREATE.format(table=address.table), engine_timeout=engine_timeout)

    def put(self, events: Sequence[Event]) -> None:
        if events:
            self._db.insert(self._table, COLUMNS, [row_of(event, version=0) for event in events])

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted = Selection(**which)
        bounds = {
            "position > {after:Int64}": ("after", wanted.after),
            "position <= {upto:Int64}": ("upto", wanted.upto),
            "at >= fromUnixTimestamp64Micro({since:Int64})": ("since", micros_or_none(wanted.since)),
            "at < fromUnixTimestamp64Micro({until:Int64})": ("until", micros_or_none(wanted.until)),
            "kind IN {kinds:Array(String)}": ("kinds", [str(kind) for kind in wanted.kinds] or None),
        }
        conditions = [condition for condition, (_, value) in bounds.items() if value is not None]
        values = {name: value for name, value in bounds.values() if value is not None}
        if wanted.ids is not None:
            chosen = [*conditions, "id IN {ids:Array(String)}"]
            chunks = _chunks(sorted(set(wanted.ids)))
            rows = [row for chunk in chunks for row in self._select(scope, chosen, {**values, "ids": chunk})]
            return wanted.cut(sorted((version_and_event(row)[1] for row in rows), key=lambda event: event.position))
        cut = "" if wanted.limit is None else "LIMIT {limit:UInt64}"
        values["limit"] = max(0, wanted.limit or 0)
        rows = self._select(scope, conditions, values, newest=wanted.newest, cut=cut)
        return [version_and_event(row)[1] for row in (reversed(rows) if wanted.newest else rows)]

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]]) -> None:
        """Destroy events, rewrite others, and wait until no active part has the old text; see `Archive.erase`.

        ClickHouse deletes the old files within seconds.

        Raises:
            StoreUnavailableError: ClickHouse failed, or did not finish within `ERASING_SECONDS`; it continues the work.
        """
        gone = set(positions)
        began = False
        for chunk in _chunks(sorted(gone | rewritten.keys())):
            began |= self._erase_some(owner, gone, rewritten, chunk)
        if began:
            self._wait_until_rewritten()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        where, values = ("", {}) if scope is None else (f"WHERE {_OWNER}", parts_of(scope))
        rows = self._query(
            f"SELECT tenant, user, agent, space, max(position) {_FROM} {where} GROUP BY tenant, user, agent, space",
            values,
        )
        return {_scope(*row[:3], "", row[3]): row[4] for row in rows}

    def count(self, owner: Scope, *, after: int = 0) -> int:
        ((count,),) = self._query(
            f"SELECT uniqExact(position) {_FROM} WHERE {_OWNER} AND position > {{after:Int64}}",
            {**parts_of(owner.owner), "after": after},
        )
        return int(count)

    def size(self) -> LogSize:
        ((owners, sessions, events),) = self._query(
            "SELECT uniqExact(tenant, user, agent, space), uniqExactIf((tenant, user, agent, space, session), "
            "session <> '' OR kind = 'message'), count() FROM {table:Identifier} FINAL"
        )
        ((size,),) = self._query(
            "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = currentDatabase() AND table = {table:String}"
        )
        return LogSize(owners=owners, sessions=sessions, events=events, bytes=int(size or 0))

    def close(self) -> None:
        self._db.close()

    def _query(self, sql: str, values: Mapping[str, Any] = _NONE) -> list[Sequence[Any]]:
        return self._db.query(sql, {**values, "table": self._table})

    def _select(
        self, scope: Scope, conditions: Sequence[str], values: Mapping[str, Any], *, newest: bool = False, cut: str = ""
    ) -> list[Sequence[Any]]:
        # Not FINAL: it reads all columns of the owner's rows before it filters. What is filtered by has one version.
        where = " AND ".join([_OWNER, *([] if scope.session is None else [_SESSION]), *conditions])
        order = "ORDER BY position DESC" if newest else "ORDER BY position"
        return self._query(
            f"SELECT {SELECTED} {_FROM} WHERE {where} {order}, version DESC LIMIT 1 BY position {cut}",
            {**parts_of(scope), **values},
        )

    def _erase_some(
        self, owner: Scope, gone: set[int], rewritten: Mapping[int, dict[str, Any]], chunk: Sequence[int]
    ) -> bool:
        """Write the new payloads and delete all older versions; False if there is nothing to do."""
        chosen = {**parts_of(owner.owner), "positions": chunk}
        found = self._query(
            f"SELECT {SELECTED} {_FROM} WHERE {_OWNER} AND position IN {{positions:Array(Int64)}}", chosen
        )
        versions = [version_and_event(row) for row in found]  # all versions: those that are not read any more, too
        doomed = sorted({event.position for _, event in versions} & gone)
        stale = {
            event.position: replace(event, payload=rewritten[event.position])
            for _, event in versions
            if event.position in rewritten.keys() - gone
            and to_json(event.payload) != to_json(rewritten[event.position])
        }
        if not doomed and not stale:
            return False
        version = 1 + max(version for version, _ in versions)
        if stale:
            self._db.insert(self._table, COLUMNS, [row_of(event, version) for event in stale.values()])
        self._db.command(
            f"ALTER TABLE `{self._table}` DELETE WHERE owner = {{owner:UInt64}} AND "
            "(position IN {doomed:Array(Int64)} OR (position IN {stale:Array(Int64)} AND version < {version:UInt64}))",
            {**parts_of(owner), "doomed": doomed, "stale": sorted(stale), "version": version},
        )
        return True

    def _wait_until_rewritten(self) -> None:
        deadline, pause = time.monotonic() + ERASING_SECONDS, 0.005
        while self._query(
            "SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND table = {table:String} "
            "AND NOT is_done LIMIT 1"
        ):
            if time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"ClickHouse has not finished erasing from {self._table} within {ERASING_SECONDS} s: see "
                    "system.mutations, then erase again"
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.5)


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


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


def parts_of(scope: Scope) -> dict[str, Any]:
    """The columns that identify an event's owner, empty if absent, with the owner's number."""
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
    """The version and the event in a row of `SELECTED`."""
    position, version, tenant, user, agent, space, session, event_id, kind, micros, payload, sources, author = row
    event = Event(
        position=position,
        id=event_id,
        scope=_scope(tenant, user, agent, session, space),
        kind=EventKind(kind),
        at=from_micros(micros),
        payload=json.loads(payload),
        sources=tuple(json.loads(sources)),
        author=author,
    )
    return version, event


def to_json(value: Any) -> str:
    """JSON as it is stored."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def _owner(owner: Scope) -> int:
    """A number that groups an owner's events on disk; the other columns tell owners apart."""
    parts = json.dumps([owner.tenant, owner.user, owner.agent, owner.space])
    return int.from_bytes(hashlib.blake2b(parts.encode(), digest_size=8).digest())


@lru_cache(maxsize=4096)
def _scope(tenant: str, user: str, agent: str, session: str, space: str) -> Scope:
    return Scope(tenant or None, user or None, agent or None, session or None, space or None)
