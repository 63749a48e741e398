"""What the ClickHouse archive says without a server; what it does with one is in tests/full/test_clickhouse.py."""

import socket
import sys
import time
from collections.abc import Iterator

import pytest

from hybrid_memory.engines.clickhouse import CALL_SECONDS, ClickHouseArchive, parsed
from hybrid_memory.errors import MemoryClosedError, MissingDependencyError, StoreUnavailableError
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.testing.drafts import ALICE, archived


def test_a_url_names_server_user_database_and_table() -> None:
    plain, _, place = parsed("clickhouse://localhost")
    assert (plain.name, place) == ("memory_archive", "localhost:8123/default")
    full, options, _ = parsed("clickhouse+tls://b%40b:p%3A%2Fw@[::1]:9000/my%20db?table=old_events")
    assert full.name == "old_events"
    wanted = {"host": "::1", "port": 9000, "username": "b@b", "password": "p:/w", "database": "my db", "secure": True}
    assert {name: options[name] for name in wanted} == wanted
    assert parsed("clickhouse+tls://host/db")[1]["port"] == 8443
    assert (options["connect_timeout"], options["send_receive_timeout"]) == (2, 10)


def test_a_folder_is_relative_or_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert parsed("chdb:///old/events")[1]["path"] == f"{tmp_path}/old/events"
    assert parsed("chdb:////var/old?table=t")[1]["path"] == "/var/old"
    assert parsed("chdb:////var/a#b")[1]["path"] == "/var/a#b"


@pytest.fixture
def deaf() -> Iterator[int]:
    """The port of somebody who takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_server_that_is_away_is_named_at_each_call() -> None:
    url = "clickhouse://bob:hunter2@127.0.0.1:1/db"
    assert "hunter2" not in repr(parsed(url)[0])
    archive = ClickHouseArchive(url)
    for call in (
        lambda: archive.put([archived(1)]),
        lambda: archive.read(ALICE),
        lambda: archive.get(ALICE, ["e1"]),
        lambda: archive.erase(ALICE, [1], {}),
        archive.heads,
        lambda: archive.count(ALICE),
        archive.size,
    ):
        with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:1/db") as caught:
            call()
        assert "hunter2" not in str(caught.value)
    archive.put([])
    assert archive.get(ALICE, []) == []
    archive.close()
    with pytest.raises(MemoryClosedError):
        archive.read(ALICE)


def test_a_missing_engine_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chdb", None)
    monkeypatch.delitem(sys.modules, "clickhouse_connect.driver._chdbclient", raising=False)
    monkeypatch.delitem(sys.modules, "clickhouse_connect.driver._backend.chdb_backend", raising=False)
    with pytest.raises(MissingDependencyError, match=r"hybrid-agent-memory\[chdb\]"):
        ClickHouseArchive("chdb:///nowhere").read(ALICE)


def test_a_silent_server_is_asked_once_and_only_for_a_short_time_where_somebody_waits(deaf: int) -> None:
    archive = ClickHouseArchive(f"clickhouse://127.0.0.1:{deaf}/db", engine_timeout=0.6)
    with at_priority(INTERACTIVE):
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError, match=str(deaf)):
            archive.read(ALICE)
        assert time.monotonic() - began < CALL_SECONDS
        for _ in range(20):
            with pytest.raises(StoreUnavailableError, match="is not asked, as it did not answer lately"):
                archive.heads()
    archive.close()
