"""Where a Milvus is, read from a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from hybrid_memory.errors import InvalidConfigError

PORT = 19530
PREFIX = "hybrid_memory"
_FORMS = "milvus://[user:password@]host[:19530][/database][?prefix=name], milvus+tls://..., or milvus:///folder.db"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's host and port, or, without a host, the folder of Milvus Lite; and the prefix of the collections."""

    uri: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    prefix: str = PREFIX

    @classmethod
    def read(cls, url: str) -> Address:
        """The address behind a URL; ``milvus:///folder.db`` is relative, ``milvus:////folder.db`` absolute.

        Raises:
            InvalidConfigError: it is no such URL.
        """
        scheme, _, rest = url.partition("://")
        shown = f"{scheme}://{rest.rpartition('@')[2]}"  # without the password
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or PORT
        except ValueError as error:
            raise InvalidConfigError(f"cannot read the URL {shown!r} ({error}): write {_FORMS}") from None
        options = parse_qs(parts.query, keep_blank_values=True)
        prefix = options.pop("prefix", [PREFIX])[-1]
        if parts.scheme not in ("milvus", "milvus+tls") or options:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}")
        if not _NAME.fullmatch(prefix):
            raise InvalidConfigError(f"prefix must be letters, digits and underscores, got {prefix!r} in {shown!r}")
        path = unquote(parts.path[1:])
        if not host:
            if parts.scheme != "milvus" or not path.endswith(".db"):
                raise InvalidConfigError(f"the folder of Milvus Lite must end in .db, got {shown!r}: write {_FORMS}")
            return cls(uri=path, prefix=prefix)
        if path and not _NAME.fullmatch(path):
            raise InvalidConfigError(f"a database's name is letters, digits and underscores, got {path!r} in {shown!r}")
        secure = parts.scheme == "milvus+tls"
        name = f"[{host}]" if ":" in host else host
        return cls(
            uri=f"{'https' if secure else 'http'}://{name}:{port}",
            host=host,
            port=port,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=path,
            prefix=prefix,
        )

    def __str__(self) -> str:
        return self.uri
