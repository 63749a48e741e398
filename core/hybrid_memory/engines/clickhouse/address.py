"""Where an archive is: the URL of a ClickHouse server, or the folder of the embedded engine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hybrid_memory.errors import InvalidConfigError

CONNECT_SECONDS = 2
CALL_SECONDS = 10
TABLE = "memory_archive"
"""The table where the URL names none."""

_PORTS = {"clickhouse": 8123, "clickhouse+tls": 8443}
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FORMS = "use clickhouse://[user:password@]host[:8123]/database?table=name, clickhouse+tls://... or chdb:///folder"


@dataclass(frozen=True, slots=True)
class Address:
    """What `clickhouse_connect.get_client` is to be given, the table, and the place as error messages say it."""

    table: str
    place: str
    options: dict[str, Any] = field(repr=False)  # with the password


def parsed(url: str) -> Address:
    """The parts of the URL.

    Raises:
        InvalidConfigError: it is not the URL of an archive.
    """
    scheme, _, rest = url.partition("://")
    if scheme != "chdb" and scheme not in _PORTS:
        raise InvalidConfigError(f"{scheme!r} is no archive that is known: {_FORMS}")
    rest, _, query = rest.partition("?")
    table = _table(query)
    if scheme == "chdb":
        folder = rest.removeprefix("/")
        if not rest.startswith("/") or not folder:
            raise InvalidConfigError(f"{url!r} names no folder: use chdb:///relative or chdb:////absolute/folder")
        path = str(Path(folder).expanduser().absolute())
        return Address(table, path, {"interface": "chdb", "path": path})
    return _server(scheme, rest, table)


def _server(scheme: str, rest: str, table: str) -> Address:
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port or _PORTS[scheme]
    except ValueError as error:
        raise InvalidConfigError(f"the address of the {scheme} archive is wrong: {error}; {_FORMS}") from None
    database = unquote(parts.path.strip("/")) or "default"
    if not host or "/" in database:
        raise InvalidConfigError(f"the address of the {scheme} archive names no host or no single database: {_FORMS}")
    options = {
        "host": host,
        "port": port,
        "username": unquote(parts.username or "default"),
        "password": unquote(parts.password or ""),
        "database": database,
        "secure": scheme == "clickhouse+tls",
        "connect_timeout": CONNECT_SECONDS,
        "send_receive_timeout": CALL_SECONDS,
        "autogenerate_session_id": False,  # a session admits one query at a time
        "dedicated_pool": True,
    }
    return Address(table, f"{host}:{port}/{database}", options)


def _table(query: str) -> str:
    options = dict(parse_qsl(query, keep_blank_values=True))
    table = options.pop("table", TABLE)
    if options:
        raise InvalidConfigError(f"an archive has no option {', '.join(map(repr, options))}: table is the only one")
    if not _TABLE.fullmatch(table):
        raise InvalidConfigError(f"table {table!r} must be of letters, digits and underscores, at most 128")
    return table
