"""What engines say of a wrong URL: what is wrong with it, before anything is opened, and never its password."""

from collections.abc import Callable

import pytest

from hybrid_memory.engines.clickhouse import ClickHouseArchive
from hybrid_memory.engines.milvus.connection import Address
from hybrid_memory.engines.postgres import PostgresConnection
from hybrid_memory.engines.redis import RedisConnection
from hybrid_memory.errors import InvalidConfigError

POSTGRES = "postgresql://ann:secret@127.0.0.1:1/memory"
WRONG: dict[Callable[[str], object], list[tuple[str, str]]] = {
    ClickHouseArchive: [
        ("postgres://host/db", "'postgres'"), ("clickhouse", "'clickhouse'|clickhouse://"),
        ("clickhouse:///db", "host"), ("clickhouse://host:99999/db", "[Pp]ort"),
        ("clickhouse://bob:secret@host:x/db", "[Pp]ort"), ("clickhouse://host/a/b", "one database"),
        ("clickhouse://host/db?tabel=x", "only option"), ("clickhouse://host/db?table=", "letters"),
        ("clickhouse://host/db?table=a`b", "letters"), ("chdb://folder", "chdb:///"), ("chdb:///", "chdb:///"),
    ],
    Address.read: [
        ("redis://localhost", ""), ("milvus://", ""), ("milvus:///folder", ""), ("milvus+tls:///folder.db", ""),
        ("milvus://ann:secret@host:nine", ""), ("milvus://ann:secret@host/?prefix=a-b", ""),
        ("milvus://host/?perfix=a", ""), ("milvus://host/data base", ""),
    ],
    PostgresConnection: [
        (f"{POSTGRES}?schema=Robert'); DROP TABLE", "schema of a Postgres URL"),
        (f"{POSTGRES}?schema={'a' * 60}", "schema of a Postgres URL"), (f"{POSTGRES}?pool=0", "number of connections"),
        (f"{POSTGRES}?pool=many", "number of connections"), (f"{POSTGRES}?no_such_option=1", "is not a Postgres URL"),
    ],
    RedisConnection: [
        ("rediss+tls://host", "begins with one of"), ("redis://host:no", "not a Redis URL"),
        ("redis://host/zero", "number of a database"), ("redis://host?prefix=a b", "prefix"),
        ("redis://host?prefix={a}", "prefix"), ("redis://host?prefix=", "prefix"),
        ("redis://ann:secret@host?timeout=3", "is prefix"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("opened", "url", "told"), [(one, *row) for one, several in WRONG.items() for row in several])
def test_a_wrong_url_is_refused_without_its_password(opened: Callable[[str], object], url: str, told: str) -> None:
    with pytest.raises(InvalidConfigError, match=told) as caught:
        opened(url)
    assert "secret" not in str(caught.value)
