"""A store in Postgres: who sees what, what it is opened on, and a server that takes over from another."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Scope, open_memory
from hybrid_memory.engines.postgres import PostgresConnection, PostgresLog
from hybrid_memory.engines.postgres.schema import OWNED, VERSION
from hybrid_memory.errors import HybridMemoryError, StoreUnavailableError, StoreVersionError
from hybrid_memory.testing.drafts import ALICE, draft
from tests.doubles import texts, until_there, wait_until
from tests.postgres_server import PostgresServer

NUMBERS = count()
QUIET: dict[str, Any] = {"embedder": "hashing", "orchestration": {"background": False}}


@pytest.fixture
def schema() -> str:
    return f"alone_{next(NUMBERS)}"


@pytest.fixture
def url(postgres_server: PostgresServer, schema: str) -> str:
    return f"{postgres_server.url}?schema={schema}"


@pytest.fixture
def memory(url: str) -> Iterator[HybridMemory]:
    """With turns of two users of two tenants."""
    with open_memory(MemoryConfig.of({"url": url, **QUIET})) as memory:
        for tenant in ("acme", "globex"):
            for user in ("alice", "bob"):
                memory.scoped(tenant=tenant, user=user).remember(f"The secret of {user} at {tenant} is a zebra.")
        memory.flush()
        memory.scoped(tenant="acme", user="alice").forget(query="nothing of the kind")
        yield memory


def test_forgotten_words_leave_the_tables_of_log_and_index(
    postgres_server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of large tables, which are not rewritten, it is warned: a vacuum alone leaves the newest rows of a page."""
    with open_memory(MemoryConfig.of({"url": url, **QUIET})) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember([f"The xylophagous quagga number {number} sleeps." for number in range(9)])
        memory.flush()

        def left() -> list[str]:
            postgres_server.execute("CHECKPOINT")
            files = [file for file in (postgres_server.data / "base").rglob("*") if file.is_file()]
            return [file.name for file in files if b"xylophag" in file.read_bytes()]

        assert len(left()) > 1, "the test looks in the wrong place"
        with monkeypatch.context() as patch:
            patch.setattr("hybrid_memory.engines.postgres.connection.REWRITTEN_BYTES", 0)
            alice.forget(query="xylophagous quagga")
            assert left()
            assert ["VACUUM FULL" in message for message in caplog.messages].count(True) == 1
        alice.forget(query="nothing of the kind")
        assert left() == []


def seen(connection: psycopg.Connection[Any], schema: str, table: str) -> set[int]:
    rows = connection.execute(f'SELECT DISTINCT owner FROM "{schema}".{table}'.encode())  # noqa: S608
    return {owner for (owner,) in rows}


def test_a_session_sees_and_writes_rows_of_the_owner_that_it_names_alone(
    memory: HybridMemory, postgres_server: PostgresServer, schema: str
) -> None:
    """Also where a condition was left out of a query."""
    owned = f"table_schema = '{schema}' AND column_name = 'owner' ORDER BY table_name"
    rows = postgres_server.execute(f"SELECT table_name FROM information_schema.columns WHERE {owned}")  # noqa: S608
    tables = [name for (name,) in rows]
    assert tables == sorted(OWNED), "a table of owners has no policy"
    filled = [table for table in OWNED if table not in {"dropped", "gone"}]
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        for table in OWNED:
            assert seen(connection, schema, table) == set()
        for asked in (1, 3):
            connection.execute("SELECT set_config('hybrid_memory.owner', %s, false)", [str(asked)])
            assert [seen(connection, schema, table) for table in filled] == [{asked}] * len(filled)
            for verb in ("DELETE FROM", "UPDATE"):
                rest = "SET owner = owner" if verb == "UPDATE" else ""
                touched = f'{verb} "{schema}".records {rest} WHERE owner = 2'
                assert connection.execute(touched.encode()).rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(f'INSERT INTO "{schema}".indexed(owner) VALUES (4)'.encode())  # noqa: S608
        connection.execute("SELECT set_config('hybrid_memory.owner', '*', false)")
        assert [seen(connection, schema, table) for table in filled] == [{1, 2, 3, 4}] * len(filled)


def test_no_session_of_the_pool_keeps_an_owner(memory: HybridMemory) -> None:
    """What one call saw the next one does not see."""
    log: Any = memory._runtime.services.log._log  # type: ignore[attr-defined]
    assert texts(memory.scoped(tenant="acme", user="bob").recall("zebra"))
    with log._db._pool.connection() as connection:
        setting = "SELECT coalesce(current_setting('hybrid_memory.owner', true), '')"
        assert connection.execute(setting).fetchall() == [("",)]
        assert connection.execute("SELECT * FROM main.events").fetchall() == []


def test_owners_are_kept_apart_where_the_role_is_above_row_level_security(
    memory: HybridMemory, url: str, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """By the conditions of our own; and it is warned of."""
    above = url.replace("//memory@", "//postgres@")
    with open_memory(MemoryConfig.of({"url": above, **QUIET})) as same:
        assert any("bypasses row-level security" in message for message in caplog.messages)
        assert any("fsync = off" in message for message in caplog.messages)
        for tenant in ("acme", "globex"):
            (found,) = texts(same.scoped(tenant=tenant, user="alice").recall("the secret zebra", k=9))
            assert found == f"The secret of alice at {tenant} is a zebra."


def test_processes_that_open_a_new_store_at_once_make_it_once(url: str) -> None:
    gate = threading.Barrier(6)

    def opened(number: int) -> None:
        gate.wait()
        log = PostgresLog(PostgresConnection(url))
        log.append(ALICE, [draft(number)])
        log.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(opened, range(6)))
    log = PostgresLog(PostgresConnection(url))
    assert log.count(ALICE) == 6
    log.close()


def test_a_store_of_another_version_is_refused_and_one_that_is_not_there_cannot_be_read(
    memory: HybridMemory, url: str, schema: str, postgres_server: PostgresServer
) -> None:
    with pytest.raises(StoreUnavailableError, match="open it once where it can be written"):
        PostgresConnection(f"{url}_not_there", read_only=True)
    for version in (VERSION - 1, VERSION + 1):
        postgres_server.execute(f"UPDATE {schema}.store SET version = {version}")  # noqa: S608
        with pytest.raises(StoreVersionError, match=f"version {version}, .* knows {VERSION} only"):
            PostgresConnection(url)


def test_a_server_is_found_through_its_socket(postgres_server: PostgresServer, schema: str) -> None:
    url = f"postgresql://memory@/memory?host={postgres_server.data}&port={postgres_server.port}&schema={schema}"
    log = PostgresLog(PostgresConnection(url))
    assert log.append(ALICE, [draft(1)])[0].fresh
    log.close()


def test_a_role_that_owns_no_table_is_enough_and_what_it_cannot_clean_is_said(
    memory: HybridMemory, url: str, schema: str, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The DBA's role made schema and tables, and granted the rest."""
    memory.close()
    for statement in (
        f"CREATE ROLE {schema} LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {schema}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {schema}",
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO {schema}",
    ):
        postgres_server.execute(statement)
    granted = MemoryConfig.of({"url": url.replace("//memory@", f"//{schema}@"), **QUIET})
    with open_memory(granted) as same:
        alice = same.scoped(tenant="acme", user="alice")
        alice.remember("My secret quagga.", id="quagga")
        assert "My secret quagga." in texts(alice.recall("quagga"))
        caplog.clear()
        alice.forget(query="quagga")
        assert any("permission denied to vacuum" in message for message in caplog.messages)


def test_a_schema_made_by_another_role_is_used(postgres_server: PostgresServer, url: str, schema: str) -> None:
    postgres_server.execute(f"CREATE ROLE {schema} LOGIN")
    postgres_server.execute(f"CREATE SCHEMA {schema}")
    postgres_server.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {schema}")
    url = f"{url.replace('//memory@', f'//{schema}@')}&options=-c%20statement_timeout%3D9000"
    log = PostgresLog(PostgresConnection(url))
    assert log.append(ALICE, [draft(1)])[0].fresh
    ((name,),) = log._db.query("SELECT current_setting('application_name')")
    assert name == "hybrid-memory"
    log.close()


def test_positions_go_on_after_a_switch_over_that_copied_no_sequence(
    postgres_server: PostgresServer, url: str, schema: str
) -> None:
    """Neither in what is open nor in what is opened then, for owners old and new."""
    log = PostgresLog(PostgresConnection(url))
    last = log.append(ALICE, [draft(number) for number in range(9)])[-1].position
    for owner in (ALICE, Scope(user="new")):
        postgres_server.execute(f"ALTER SEQUENCE {schema}.positions RESTART")
        last, before = log.append(owner, [draft(10)])[0].position, last
        assert last > before
    postgres_server.execute(f"SELECT setval('{schema}.positions', 2)")
    PostgresConnection(url).close()
    assert postgres_server.execute(f"SELECT last_value FROM {schema}.positions") == [(last,)]  # noqa: S608
    log.close()


def test_a_server_without_free_connections_is_asked_again_and_told_of(
    postgres_server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.engines.postgres.connection.FULL_PAUSES", (0, 0))
    asked: list[object] = []

    def refused(*_: object, **__: object) -> None:
        asked.append(1)
        raise psycopg.OperationalError("FATAL:  sorry, too many clients already")

    monkeypatch.setattr("hybrid_memory.engines.postgres.connection.PatientConnection.connect", refused)
    with pytest.raises(StoreUnavailableError, match="too many clients already; raise its max_connections"):
        PostgresConnection(url)
    assert len(asked) == 3


# --- a second server ---


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A server, and one that follows it: each commit waits for both."""
    with PostgresServer(tmp_path / "one") as first, first.standby(tmp_path / "two") as second:
        first.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        first.execute("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
        first.execute("SELECT pg_reload_conf()")
        wait_until(lambda: first.execute("SELECT sync_state FROM pg_stat_replication") == [("sync",)])
        yield first, second


def test_a_replica_is_read_and_takes_over_when_it_is_promoted(two: tuple[PostgresServer, PostgresServer]) -> None:
    first, second = two
    both = f"postgresql://memory@127.0.0.1:{first.port},127.0.0.1:{second.port}/memory"
    config = MemoryConfig.of({"url": f"{both}?target_session_attrs=read-write", **QUIET})
    with open_memory(config) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("My zebra is called Zoe.", id="zebra")
        assert texts(alice.recall("zebra")) == ["My zebra is called Zoe."]
        with open_memory(MemoryConfig.of({"url": second.url, **QUIET}), read_only=True) as replica:
            assert texts(replica.scoped(user="alice").recall("zebra")) == ["My zebra is called Zoe."]
            alice.remember("My cat is called Pixel.", id="cat")
            memory.flush()
            assert texts(replica.scoped(user="alice").recall("what is my cat called", k=1)) == [
                "My cat is called Pixel."
            ]
            with pytest.raises(HybridMemoryError):
                replica.scoped(user="alice").remember("no")
        first.kill()
        with pytest.raises(StoreUnavailableError):
            alice.remember("Said while nobody could write.", id="lost")
        second.promote()
        second.execute("ALTER SYSTEM SET synchronous_commit = 'on'")
        second.execute("SELECT pg_reload_conf()")
        until_there(lambda: alice.remember("My dog is called Rex.", id="dog"))
        assert [message.id for message in alice.history()] == ["zebra", "cat", "dog"]
        assert texts(alice.recall("what is my dog called", k=1)) == ["My dog is called Rex."]
        assert memory.stats().unindexed == 0
