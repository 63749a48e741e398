"""The archive of L3 in ClickHouse, on a server or with its engine embedded in this process.

One table, ordered by owner and position and partitioned by month.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, HTTPSConnection
from math import ceil
from operator import methodcaller
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import unquote

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError

from hybrid_memory.engines.remote import CONNECT_SECONDS, PROBE_SECONDS, Address, Remote, Result
from hybrid_memory.engines.stored import (
    EVENT_FIELDS,
    event_in,
    event_row,
    micros_or_none,
    owner_json,
    owner_key,
    owner_scope,
    to_json,
)
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError, StoreUnavailableError
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Archive, LogSize, Payloads, Reading, Selection
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import Engine
from hybrid_memory.urls import shown_url


class ClickHouseEngine(Engine):
    """``clickhouse://host:8123/database``, or ``chdb:///folder`` for the embedded engine."""

    def archive(self) -> Archive:
        timeout = self.config.orchestration.engine_timeout.total_seconds()
        return ClickHouseArchive(self.url, engine_timeout=timeout)


ERASING_SECONDS = 60  # seconds that ClickHouse has to rewrite the parts of the table with erased data
_CHUNK = 1000  # ids or positions per query

_FROM = "FROM {table:Identifier}"
_OWNER = (
    "owner = {owner:UInt64} AND tenant = {tenant:String} AND user = {user:String} AND agent = {agent:String} "
    "AND space = {space:String}"
)


class ClickHouseArchive(Remote, Archive):
    """Archived events of one log in one ClickHouse table.

    It connects at the first call, and reconnects at the next call after a failure.

    Args:
        url: ``clickhouse://[user:password@]host[:8123]/database?table=name``, ``clickhouse+tls://...`` (port 8443), or
            ``chdb:///relative/folder`` and ``chdb:////absolute/folder`` for the embedded engine, which can have only
            one folder open.

    Raises:
        InvalidConfigError: the URL is invalid.
    """

    failures = (ClickHouseError, OSError)

    def __init__(self, url: str, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        address, self._options, place = parsed(url)
        advice = "see that it runs and that this user may use the table, then try again"
        secrets = [address.password, "" if address.user == "default" else address.user]
        super().__init__(f"the archive at {place}", advice, secrets, engine_timeout=engine_timeout)
        self._table = address.name
        self._lock = threading.Lock()
        self._clients: dict[bool, Client] = {}

    def put(self, events: Sequence[Event]) -> None:
        if events:
            self._insert([row_of(event, version=0) for event in events])

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
            events = [event for chunk in chunks for event in self._select(scope, chosen, {**values, "ids": chunk})]
            return wanted.cut(sorted(events, key=lambda event: event.position))
        cut = "" if wanted.limit is None else "LIMIT {limit:UInt64}"
        values["limit"] = max(0, wanted.limit or 0)
        events = self._select(scope, conditions, values, newest=wanted.newest, cut=cut)
        return events[::-1] if wanted.newest else events

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Payloads) -> None:
        """Destroy events, rewrite others, and wait until no active part has the old text; see `Archive.erase`.

        ClickHouse deletes the old files within seconds.

        Raises:
            StoreUnavailableError: ClickHouse failed, or did not finish within `ERASING_SECONDS`; it continues the work.
        """
        gone = set(positions)
        began = False
        for chunk in _chunks(sorted(gone | rewritten.keys())):
            found = self._query(
                f"SELECT {SELECTED} {_FROM} WHERE {_OWNER} AND position IN {{positions:Array(Int64)}}",
                {**_identity(owner), "positions": chunk},
            )
            # All versions: those that are not read any more, too.
            versions = [(row[-1], event_in(row[:-1])) for row in found]
            doomed = sorted({event.position for _, event in versions} & gone)
            stale = {
                event.position: replace(event, payload=rewritten[event.position])
                for _, event in versions
                if event.position in rewritten.keys() - gone
                and to_json(event.payload) != to_json(rewritten[event.position])
            }
            if not doomed and not stale:
                continue
            began, version = True, 1 + max(version for version, _ in versions)
            if stale:
                self._insert([row_of(event, version) for event in stale.values()])
            sql = (
                f"ALTER TABLE `{self._table}` DELETE WHERE owner = {{owner:UInt64}} AND (position IN "
                "{doomed:Array(Int64)} OR (position IN {stale:Array(Int64)} AND version < {version:UInt64}))"
            )
            values = {**_identity(owner), "doomed": doomed, "stale": sorted(stale), "version": version}
            self._call("change", methodcaller("command", sql, parameters=values))
        deadline, pause = time.monotonic() + ERASING_SECONDS, 0.005
        while began and self._query(
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

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        where, values = ("", {}) if scope is None else (f"WHERE {_OWNER}", _identity(scope))
        rows = self._query(
            f"SELECT tenant, user, agent, space, max(position) {_FROM} {where} GROUP BY tenant, user, agent, space",
            values,
        )
        return {owner_scope(*row[:4]): row[4] for row in rows}

    def count(self, owner: Scope, *, after: int = 0) -> int:
        ((count,),) = self._query(
            f"SELECT uniqExact(position) {_FROM} WHERE {_OWNER} AND position > {{after:Int64}}",
            {**_identity(owner), "after": after},
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
        with self._lock:
            self._closed = True
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _query(self, sql: str, values: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        parameters = {**(values or {}), "table": self._table}
        return self._call("read", lambda client: list(client.query(sql, parameters=parameters).result_rows))

    def _insert(self, rows: Sequence[Sequence[Any]]) -> None:
        # Durable on return, and perhaps of more than a hundred months.
        settings = {"async_insert": 0, "max_partitions_per_insert_block": 0}
        names = list(COLUMNS)
        self._call("write to", lambda client: client.insert(self._table, rows, column_names=names, settings=settings))

    def _select(
        self, scope: Scope, conditions: Sequence[str], values: Mapping[str, Any], *, newest: bool = False, cut: str = ""
    ) -> list[Event]:
        # Not FINAL: it reads all columns of the owner's rows before it filters. What is filtered by has one version.
        of_session = [] if scope.session is None else ["session = {session:String}"]
        where = " AND ".join([_OWNER, *of_session, *conditions])
        order = "ORDER BY position DESC" if newest else "ORDER BY position"
        rows = self._query(
            f"SELECT {SELECTED} {_FROM} WHERE {where} {order}, version DESC LIMIT 1 BY position {cut}",
            {**_identity(scope), **values},
        )
        return [event_in(row[:-1]) for row in rows]

    def _call(self, verb: str, run: Callable[[Client], Result]) -> Result:
        soon = verb == "read" and "host" in self._options and hurried()

        def work() -> Result:
            with self._lock:
                self.check_open()
                if soon not in self._clients:
                    seconds = min(ceil(self._engine_timeout), CALL_SECONDS)  # the client knows whole ones only
                    shorter = {"send_receive_timeout": seconds} if soon else {}
                    try:
                        client = clickhouse_connect.get_client(**{**self._options, **shorter})
                    except ImportError as error:
                        raise MissingDependencyError("chdb", "chdb") from error
                    try:
                        client.command(_CREATE.format(table=self._table))
                    except BaseException:
                        client.close()
                        raise
                    self._clients[soon] = client
                client = self._clients[soon]
            return run(client)

        return self.ask(verb, work)

    def _probe(self) -> None:
        if "host" in self._options:
            kind = HTTPSConnection if self._options["secure"] else HTTPConnection
            connection = kind(self._options["host"], self._options["port"], timeout=PROBE_SECONDS)
            with closing(connection):
                connection.request("GET", "/ping")
                connection.getresponse()

    def _is_answer(self, error: BaseException) -> bool:
        return type(error) is DatabaseError  # what is below says that nobody answered

    def _reason(self, error: Exception) -> str:
        reason = str(error).strip().replace("\n", " ")[:500]
        if "already initialized with path" in reason:
            reason = "this process has the embedded engine open on another folder, and can have one only"
        return f"{reason}; {self._advice}"


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


_PLAIN = (*EVENT_FIELDS, "tenant", "user", "agent", "space")
COLUMNS = ("owner", "version", *_PLAIN)
SELECTED = ", ".join("toUnixTimestamp64Micro(at)" if name == "at" else name for name in (*_PLAIN, "version"))

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


def _identity(scope: Scope) -> dict[str, Any]:
    """The columns that identify an event's owner, empty if absent; a number groups its events on disk."""
    number = int.from_bytes(hashlib.blake2b(owner_json(scope).encode(), digest_size=8).digest())
    names = dict(zip(("tenant", "user", "agent", "space"), owner_key(scope), strict=True))
    return {"owner": number, **names, "session": scope.session or ""}


def row_of(event: Event, version: int) -> list[Any]:
    """The values of `COLUMNS`."""
    position, event_id, session, kind, _, *rest = event_row(event)
    number = _identity(event.scope)["owner"]
    return [number, version, position, event_id, session, kind, event.at, *rest, *owner_key(event.scope)]


CALL_SECONDS = 10
TABLE = "memory_archive"  # the table if the URL names none

_PORTS = {"clickhouse": 8123, "clickhouse+tls": 8443, "chdb": 0}
_FORMS = "clickhouse://[user:password@]host[:8123]/database?table=name, clickhouse+tls://... or chdb:///folder"


def parsed(url: str) -> tuple[Address, dict[str, Any], str]:
    """The address, arguments for `clickhouse_connect.get_client`, and the location as error messages show it."""
    scheme, _, rest = url.partition("://")
    folder, _, query = rest.partition("?")
    embedded = scheme == "chdb"  # its folder may have any character
    address = Address.read(
        f"chdb://?{query}" if embedded else url,
        *("ClickHouse", _PORTS, _FORMS),
        option="table",
        default=TABLE,
        pattern="[A-Za-z_][A-Za-z0-9_]{0,127}",
    )
    if embedded:
        if not folder.startswith("/") or folder == "/":
            raise InvalidConfigError(
                f"{shown_url(url)!r} names no folder: use chdb:///relative or chdb:////absolute/folder"
            )
        path = str(Path(folder[1:]).expanduser().absolute())
        return address, {"interface": "chdb", "path": path}, path
    database = unquote(address.path.strip("/")) or "default"
    if not address.host or "/" in database:
        raise InvalidConfigError(f"the URL of the {scheme} archive must name a host and one database: use {_FORMS}")
    options = {
        "host": address.host,
        "port": address.port,
        "username": address.user or "default",
        "password": address.password,
        "database": database,
        "secure": address.scheme == "clickhouse+tls",
        "connect_timeout": CONNECT_SECONDS,
        "send_receive_timeout": CALL_SECONDS,
        "autogenerate_session_id": False,  # a session admits one query at a time
        "dedicated_pool": True,
    }
    return address, options, f"{address.host}:{address.port}/{database}"
