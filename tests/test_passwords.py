"""No password of a URL is shown: in no representation, error, log, page or file, whatever characters it has."""

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.engines.clickhouse import ClickHouseArchive
from hybrid_memory.engines.clickhouse import parsed as parsed_clickhouse
from hybrid_memory.engines.milvus.catalog import parsed as parsed_milvus
from hybrid_memory.engines.postgres import PostgresConnection
from hybrid_memory.engines.postgres.connection import parsed as parsed_postgres
from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.errors import HybridMemoryError, InvalidConfigError
from hybrid_memory.urls import cleaned, shown_url, without_passwords
from tests.servers import RedisServer, free_port
from tests.world import column, rows

SPECIAL = "/@#%?:&=+[]\\'\" ~é密\n"
PASSWORDS = st.text(st.sampled_from("Zq7" + SPECIAL), min_size=1, max_size=12).map(lambda text: f"Zq{text}7X")
FORMS = column("passwords.tsv", "forms")
URLS = st.builds(
    lambda form, scheme, password, encoded: (
        form.format(scheme=scheme, password=quote(password, safe="") if encoded else password),
        password,
    ),
    st.sampled_from(FORMS),
    st.sampled_from(["redis", "rediss", "milvus", "milvus+tls", "clickhouse", "clickhouse+tls", "postgresql", "x"]),
    PASSWORDS,
    st.booleans(),
)


def assert_hidden(text: str, password: str) -> None:
    """Neither the password nor a stretch of it, as it is or encoded; all of them begin and end like no other text."""
    for form in (password, quote(password, safe="")):
        assert form not in text
    assert "Zq" not in text
    assert "7X" not in text


def told(error: BaseException) -> str:
    behind = {id(one): one for one in (error.__cause__, error.__context__) if one is not None}
    return "".join([*traceback.format_exception_only(error), *map(told, behind.values())])


@given(URLS)
@settings(max_examples=80, deadline=None)
def test_no_part_of_a_password_is_in_a_url_as_it_is_shown(case: tuple[str, str]) -> None:
    url, password = case
    assert_hidden(shown_url(url), password)
    assert_hidden(repr(shown_url(url)), password)
    assert shown_url(shown_url(url)) == shown_url(url)


@given(URLS)
@settings(max_examples=25, deadline=None)
def test_settings_and_errors_show_no_password(case: tuple[str, str]) -> None:
    """Whether the URL can be read or not, and wherever among the settings it stands."""
    url, password = case
    config = MemoryConfig.of({"url": url, "index": {"url": url}, "archive": {"url": url}, "outbox": url})
    for shown in (repr(config), str(config), config.to_yaml(), repr(config.index)):
        assert_hidden(shown, password)
    assert MemoryConfig.of(json.loads(config.model_dump_json())) == config
    readers: tuple[Callable[[str], object], ...] = (
        lambda url: MemoryConfig.of({"ulr": url}), lambda url: MemoryConfig.of({"index": url}),
        lambda url: parsed_milvus(url)[0], lambda url: parsed_clickhouse(url)[0], parsed_postgres,
    )  # fmt: skip
    for read in readers:
        try:
            assert_hidden(repr(read(url)), password)
        except HybridMemoryError as error:
            assert_hidden(told(error), password)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scheme", ["redis", "milvus", "clickhouse", "postgresql", "nobody"])
@pytest.mark.parametrize("password", ["Zq/7X", "Zq@7X", "Zq#7X", "Zq%407X", "Zq?a=7X"])
def test_a_store_that_cannot_be_opened_shows_no_password(
    form: str, scheme: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(f"no way to {form} with {password}")

    monkeypatch.setattr("socket.create_connection", refused)
    monkeypatch.setattr("socket.getaddrinfo", refused)
    monkeypatch.setattr("socket.socket.connect", refused)
    url = form.format(scheme=scheme, password=password).replace("host", "127.0.0.1")
    with pytest.raises(HybridMemoryError) as caught:
        open_memory(MemoryConfig(url=url, embedder="none"))
    assert_hidden(told(caught.value), password)


OPENS: dict[str, Callable[[str], object]] = {
    "clickhouse": ClickHouseArchive, "milvus": parsed_milvus, "postgres": PostgresConnection, "redis": RedisConnection,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "url", "match"), [(kind, *row) for kind in OPENS for row in rows("passwords.tsv", kind)]
)
def test_a_wrong_url_is_refused_without_its_password(kind: str, url: str, match: str) -> None:
    with pytest.raises(InvalidConfigError, match=match) as caught:
        OPENS[kind](url)
    assert "secret" not in str(caught.value)


def test_what_was_shown_cannot_be_opened_by_mistake(tmp_path: object) -> None:
    with pytest.raises(HybridMemoryError, match="add them"):
        open_memory(shown_url("redis://user:secret@host:6379/0"))


def test_what_is_no_password_is_shown() -> None:
    for url in column("passwords.tsv", "open"):
        assert shown_url(url) == url
    assert shown_url("redis://ann:secret@host:6379/0?prefix=n") == "redis://***@host:6379/0?prefix=n"
    assert without_passwords({"to": ["read a@b, then c"]}) == {"to": ["read a@b, then c"]}


def test_errors_of_clients_are_cleaned_with_what_is_behind_them() -> None:
    inner = ValueError("AUTH default Zq7X")
    outer = OSError("cannot open redis://:Zq%2F7X@h")
    outer.__cause__ = inner
    outer.__context__ = ValueError("while asking with Zq7X")
    assert_hidden(told(cleaned(outer, ["Zq/7X", "Zq7X", None])), "Zq/7X")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        with Redis(port=server.port) as client:
            client.config_set("requirepass", "Zq/@:7X")
        yield server


def test_an_open_memory_shows_no_password(
    guarded: RedisServer, caplog: pytest.LogCaptureFixture, tmp_path: object
) -> None:
    where = guarded.url.removeprefix("redis://")
    url = f"redis://:{quote('Zq/@:7X', safe='')}@{where}/0"
    config = MemoryConfig.of({"url": url, "index": {"url": f"sqlite:///{tmp_path}/i.db"}, "embedder": "none"})
    with caplog.at_level(logging.DEBUG), open_memory(config) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("I live in Lisbon.")
        shown = [repr(memory), str(memory), memory.url, repr(alice)]
        shown += [repr(memory.stats()), str(memory.stats()), repr(memory.config)]
        guarded.kill()
        with pytest.raises(HybridMemoryError) as caught:
            alice.remember("And work there.")
        shown += [told(caught.value), repr(memory)]
    for text in (*shown, caplog.text):
        assert_hidden(text, "Zq/@:7X")


def test_a_wrong_password_is_not_shown(guarded: RedisServer) -> None:
    guarded.start()
    with Redis(port=guarded.port) as client:
        client.config_set("requirepass", "Zq/@:7X")
    for user in ("", "ann"):
        with pytest.raises(HybridMemoryError) as caught:
            RedisConnection(f"redis://{user}:Zqwrong7X@127.0.0.1:{guarded.port}/0")
        assert_hidden(told(caught.value), "Zqwrong7X")
    with pytest.raises(HybridMemoryError) as caught:
        RedisConnection(f"redis://:Zqwrong7X@127.0.0.1:{free_port()}/0")
    assert_hidden(told(caught.value), "Zqwrong7X")
