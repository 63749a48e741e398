"""The address in a Milvus URL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.urls import ENCODE, parts_of, shown_url

PORT = 19530
PREFIX = "hybrid_memory"
_FORMS = "milvus://[user:password@]host[:19530][/database][?prefix=name], milvus+tls://..., or milvus:///folder.db"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a server, or the folder of Milvus Lite; and the prefix of the collections."""

    uri: str
    host: str = ""
    port: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: str = ""
    prefix: str = PREFIX

    @classmethod
    def read(cls, url: str) -> Address:
        """The address in a URL; ``milvus:///folder.db`` is relative, ``milvus:////folder.db`` absolute.

        Raises:
            InvalidConfigError: it is not a Milvus URL.
        """
        shown = shown_url(url)
        if (parts := parts_of(url)) is None:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}; {ENCODE}")
        options = parse_qs(parts.query, keep_blank_values=True)
        prefix = options.pop("prefix", [PREFIX])[-1]
        if parts.scheme not in ("milvus", "milvus+tls") or options:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}")
        if not _NAME.fullmatch(prefix):
            raise InvalidConfigError(f"prefix must be letters, digits and underscores, got {prefix!r} in {shown!r}")
        path, secure = unquote(parts.path[1:]), parts.scheme == "milvus+tls"
        host, port = parts.hostname or "", parts.port or PORT
        if not host:
            if secure or not path.endswith(".db"):
                raise InvalidConfigError(f"the folder of Milvus Lite must end in .db, got {shown!r}: write {_FORMS}")
            return cls(uri=path, prefix=prefix)
        if path and not _NAME.fullmatch(path):
            raise InvalidConfigError(f"a database's name is letters, digits and underscores, got {shown!r}; {ENCODE}")
        name = f"[{host}]" if ":" in host else host
        uri = f"{'https' if secure else 'http'}://{name}:{port}"
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(uri, host, port, user, password, database=path, prefix=prefix)
