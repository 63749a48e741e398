"""The archive in ClickHouse's own engine, inside this process: it can have one folder, so all tests share one."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb
import clickhouse_connect
import lz4.frame  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.engines.clickhouse import ClickHouseArchive
from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.testing.archive import ArchiveContract
from hybrid_memory.testing.drafts import ALICE, NAMES, NOON, archived, draft
from hybrid_memory.testing.event_log import EventLogContract
from tests.doubles import wait_until

BOB = Scope(user="bob")
NOTE = draft(1000, kind=EventKind.ERASED, payload={})
OpenArchive = Callable[..., ClickHouseArchive]
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clickhouse") / "it's a folder 你"


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Any]:
    """A client that keeps the engine running, and looks into it."""
    client = clickhouse_connect.get_client(interface="chdb", path=str(folder))
    yield client
    client.close()


@pytest.fixture
def table() -> str:
    return f"test_{next(numbers)}"


@pytest.fixture
def open_archive(engine: Any, folder: Path, table: str) -> Iterator[OpenArchive]:
    """Opens archives on this test's table."""
    opened: list[ClickHouseArchive] = []

    def open_one(**options: Any) -> ClickHouseArchive:
        opened.append(ClickHouseArchive(f"chdb:///{folder}?table={table}", **options))
        return opened[-1]

    yield open_one
    for archive in opened:
        archive.close()
    engine.command(f"DROP TABLE IF EXISTS {table} SYNC")


class TestClickHouseArchive(ArchiveContract):
    @pytest.fixture
    def archive(self, open_archive: OpenArchive) -> ClickHouseArchive:
        return open_archive()


class TestLogOverClickHouse(EventLogContract):
    @pytest.fixture
    def log(self, open_archive: OpenArchive) -> ArchivedLog:
        return ArchivedLog(InMemoryLog(), open_archive())


class Front(BaseHTTPRequestHandler):
    """The embedded engine behind as much of ClickHouse's HTTP interface as its client speaks."""

    protocol_version = "HTTP/1.1"
    connection_to_engine: Any
    turn = threading.Lock()

    def do_POST(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body, kind = self._body(), self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            form: Any = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=HTTP)
            for part in form.iter_parts():
                given[part.get_param("name", header="content-disposition")] = part.get_payload(decode=True).decode()
            body = given.pop("query").encode()
        sql, rows = body, b""
        if body.startswith(b"INSERT"):
            sql, _, rows = body.partition(b"FORMAT Native\n")
        try:
            answer = self._run(sql.decode(), rows, {k[6:]: v for k, v in given.items() if k.startswith("param_")})
            status = 200
        except RuntimeError as error:
            status, answer = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return lz4.frame.decompress(body) if self.headers.get("Content-Encoding") == "lz4" else body

    def _run(self, sql: str, rows: bytes, parameters: dict[str, str]) -> bytes:
        with self.turn, NamedTemporaryFile() as file:
            if rows:
                file.write(rows)
                file.flush()
                sql = f"{sql} FROM INFILE '{file.name}' FORMAT Native"
            answer: bytes = self.connection_to_engine.query(sql, "TabSeparated", params=parameters).bytes()
            return answer

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class FrontOfOneAnswer(Front):
    """Keeps no connection open, so that it is away when its server is."""

    protocol_version = "HTTP/1.0"


@contextmanager
def serving(port: int, front: type[Front]) -> Iterator[int]:
    """A server on this port, or on a free one, which is given."""
    with ThreadingHTTPServer(("127.0.0.1", port), front) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def served(engine: Any, folder: Path) -> Iterator[int]:
    """The port of the engine's server."""
    connect: Any = chdb.connect
    Front.connection_to_engine = connect(str(folder))
    with serving(0, Front) as port:
        yield port
    Front.connection_to_engine.close()


class TestClickHouseArchiveOverHttp(ArchiveContract):
    @pytest.fixture
    def archive(self, served: int, engine: Any, table: str) -> Iterator[ClickHouseArchive]:
        archive = ClickHouseArchive(f"clickhouse://127.0.0.1:{served}/default?table={table}")
        yield archive
        archive.close()
        engine.command(f"DROP TABLE IF EXISTS {table} SYNC")


def test_a_server_that_comes_back_is_used_again(served: int, engine: Any, table: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    archive = ClickHouseArchive(f"clickhouse://127.0.0.1:{port}/default?table={table}")
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            archive.put([archived(1)])
        with serving(port, FrontOfOneAnswer):
            archive.put([archived(1)])
            assert archive.read(ALICE) == [archived(1)]
    archive.close()
    engine.command(f"DROP TABLE {table} SYNC")


def test_reopening_finds_everything(open_archive: OpenArchive) -> None:
    events = [archived(n) for n in range(1, 4)]
    first = open_archive()
    first.put(events)
    first.close()
    assert open_archive().read(ALICE) == events


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
instants = st.datetimes(datetime(1900, 1, 1), datetime(2290, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - made aware
payloads = st.dictionaries(texts, st.recursive(st.none() | st.booleans() | st.integers() | texts, st.lists), max_size=4)


def test_any_event_comes_back_as_it_was(open_archive: OpenArchive) -> None:
    archive = open_archive()
    positions = itertools.count(1)

    @settings(max_examples=60)
    @given(id=texts.filter(bool), at=instants, payload=payloads, sources=st.lists(texts, max_size=3), author=texts,
           session=st.sampled_from([None, *NAMES]))  # fmt: skip
    def check(session: str | None, sources: list[str], **fields: Any) -> None:
        position = next(positions)
        event = archived(position, replace(ALICE, session=session), sources=tuple(sources), **fields)
        archive.put([event])
        assert archive.read(event.scope, after=position - 1, since=event.at) == [event]
        assert archive.read(ALICE, after=position - 1, until=event.at) == []
        assert event in archive.get(event.scope, [event.id])

    check()


def test_what_was_erased_leaves_the_disk(open_archive: OpenArchive, engine: Any, table: str) -> None:
    archive = open_archive()
    archive.put([archived(n, payload={"content": f"words {n}"}) for n in range(1, 6)])
    archive.put([archived(n, payload={"content": f"words {n}"}) for n in range(3, 8)])
    archive.erase(ALICE, [3, 4], {5: {"content": "new"}, 6: {"content": "new"}})
    rows = engine.query(f"SELECT position, payload FROM {table} ORDER BY position").result_rows  # noqa: S608 - every version
    assert {position: payload for position, payload in rows if position > 2} == {
        5: '{"content":"new"}', 6: '{"content":"new"}', 7: '{"content":"words 7"}',
    }  # fmt: skip
    old = "SELECT count() FROM system.parts WHERE table = {t:String} AND NOT active"
    wait_until(lambda: engine.query(old, parameters={"t": table}).result_rows == [(0,)])


def test_messages_expire_into_clickhouse_and_are_read_with_the_hot_ones(open_archive: OpenArchive) -> None:
    hot, plain = InMemoryLog(), InMemoryLog()
    log = ArchivedLog(hot, open_archive())
    drafts = [draft(n, session=f"s{n % 3}", payload={"content": f"说了 {n}"}) for n in range(300)]
    for part in (log, plain):
        part.append(ALICE, drafts)
        part.append(BOB, drafts[:10])
    assert log.expire(ALICE, NOON + timedelta(minutes=200), 64) == 200
    assert hot.count(ALICE) == 100
    for scope in (ALICE, BOB, replace(ALICE, session="s1")):
        for options in (
            {}, {"limit": 150, "newest": True}, {"after": 20, "upto": 260, "limit": 70}, {"kinds": [EventKind.CLAIM]},
            {"since": NOON + timedelta(minutes=190), "until": NOON + timedelta(minutes=210)},
        ):  # fmt: skip
            chosen: dict[str, Any] = options
            assert log.read(scope, **chosen) == plain.read(scope, **chosen), options
        assert log.get(scope, ["e3", "e5", "e250"]) == plain.get(scope, ["e3", "e5", "e250"])
        assert log.count(scope, after=7) == plain.count(scope, after=7)
    for part in (log, plain):
        part.erase(ALICE, [1, 150, 250], {2: {"content": "new"}, 251: {"content": "new"}}, NOTE)
    found: list[Event] = log.read(ALICE)
    assert found == plain.read(ALICE)
    assert (log.size().events, log.size().sessions) == (plain.size().events, plain.size().sessions)
