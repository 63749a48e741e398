from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pymilvus import MilvusClient

from hybrid_memory import Scope
from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.milvus import MilvusIndex, catalog, tables
from hybrid_memory.engines.milvus import index as milvus_index
from hybrid_memory.engines.milvus.catalog import parsed
from hybrid_memory.engines.milvus.rows import owner_key
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    EMBEDDER,
    assert_same_ranking,
    entry_of,
    ids,
    make_record,
    random_corpus,
    unit,
)
from hybrid_memory.text.tokenize import terms
from tests.servers import MilvusServer

ALL = 10_000
VECTOR = unit(np.ones(DIM))


@pytest.fixture
def index(milvus_server: MilvusServer) -> Iterator[MilvusIndex]:
    index = MilvusIndex(milvus_server.url)
    index.delete(None)
    yield index
    index.close()


def fill(index: MilvusIndex, count: int, owner: Scope = ALICE, first: int = 1) -> None:
    """So many records with vectors that differ."""
    entries = [entry_of(make_record(number, "a cat", scope=owner)) for number in range(first, first + count)]
    assert index.upsert(owner, entries, after=index.status(owner).applied, upto=first + count)
    vectors = {b"%d" % number: leaning(number) for number in range(first, first + count)}
    index.put_vectors(EMBEDDER, {number: b"%d" % number for number in range(first, first + count)}, vectors)


def leaning(number: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return unit(np.eye(DIM)[0] + (number + 1) * 1e-3 * np.eye(DIM)[1])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("milvus://localhost", ("http://localhost:19530", "localhost", 19530, "", "", "", "hybrid_memory")),
        ("milvus://ann:p%40ss@[::1]:7/n?prefix=app_1", ("http://[::1]:7", "::1", 7, "ann", "p@ss", "/n", "app_1")),
        ("milvus+tls://db.example:443", ("https://db.example:443", "db.example", 443, "", "", "", "hybrid_memory")),
        ("milvus:///some/folder.db?prefix=x", ("some/folder.db", "", 19530, "", "", "/some/folder.db", "x")),
        ("milvus:////var/folder.db", ("/var/folder.db", "", 19530, "", "", "//var/folder.db", "hybrid_memory")),
    ],
)
def test_urls_are_read(url: str, expected: tuple[str | int, ...]) -> None:
    at, uri = parsed(url)
    assert (uri, at.host, at.port, at.user, at.password, at.path, at.name) == expected


def test_without_a_server_it_says_so() -> None:
    with pytest.raises(StoreUnavailableError, match="is the server running"):
        MilvusIndex("milvus://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("IVF_FLAT", {"nlist": 1024})),
        ({"nlist": 64}, ("IVF_FLAT", {"nlist": 64})),
        ({"index_type": "HNSW"}, ("HNSW", {"M": 16, "efConstruction": 200})),
        ({"index_type": "FLAT"}, ("FLAT", None)),
    ],
)
def test_the_parameters_of_the_index_reach_the_server(
    milvus_server: MilvusServer, options: dict[str, Any], expected: tuple[str, dict[str, int] | None]
) -> None:
    index = MilvusIndex(f"{milvus_server.url}?prefix=parameters", **options)
    index.delete(None)
    fill(index, 30)
    client = MilvusClient(milvus_server.url.replace("milvus", "http"))
    described = client.describe_index("parameters_vectors", "vector")
    assert (described["index_type"], described.get("params")) == expected
    assert described["metric_type"] == "IP"
    assert index.search(VECTOR, Where(ALICE), 99).ids.tolist() == list(range(30, 0, -1))
    client.close()
    index.close()


def test_embedded_lite_keeps_everything_for_the_next_time(tmp_path: Path) -> None:
    url = f"milvus:///{tmp_path}/deep/memory.db"
    corpus, oracle = random_corpus(5, size=60), InMemoryIndex()
    corpus.fill(oracle)
    index = MilvusIndex(url)
    corpus.fill(index)
    index.close()
    again = MilvusIndex(url)
    assert again.size() == oracle.size()
    assert_same_ranking(again.search(VECTOR, Where(ALICE), 7), oracle.search(VECTOR, Where(ALICE), ALL), 7)
    words = terms("marathon cat 北京")
    assert_same_ranking(again.search(words, Where(ALICE), 7), oracle.search(words, Where(ALICE), ALL), 7)
    again.close()


def test_a_folder_of_another_process_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "memory.db"
    with MilvusServer(folder), pytest.raises(StoreUnavailableError, match="no other process"):
        MilvusIndex(f"milvus:///{folder}")
    index = MilvusIndex(f"milvus:///{folder}")
    assert index.size().records == 0
    index.close()


def test_hidden_stretches_are_sifted_out(index: MilvusIndex) -> None:
    """They are sifted out of growing pages, until as many are left as were asked for."""
    fill(index, 450)
    far = tuple((number, number + 1) for number in range(10_000, 10_400, 3))
    single = tuple((number, number) for number in range(20_000, 24_100, 2))
    for many in (far, single):
        where = Where(ALICE, hidden=((6, 450), *many))
        assert index.search(VECTOR, where, 5).ids.tolist() == [5, 4, 3, 2, 1]
        assert sorted(index.search(["cat"], where, 5).ids.tolist()) == [1, 2, 3, 4, 5]
        assert index.latest(where, 3).tolist() == [5, 4, 3]
        assert index.columns(ids(5, 6), where, 0).ids.tolist() == [5]


@pytest.mark.parametrize("index_type", ["IVF_FLAT", "HNSW"])
def test_an_approximate_index_still_gives_as_many_as_asked_for(
    milvus_server: MilvusServer, index_type: Literal["IVF_FLAT", "HNSW"]
) -> None:
    """The ten that are allowed are those farthest from the query."""
    index = MilvusIndex(f"{milvus_server.url}?prefix=approximate", index_type=index_type, nlist=64)
    index.delete(None)
    chance = np.random.default_rng(0)
    rows = {b"%d" % number: unit(chance.normal(size=DIM)) for number in range(1, 501)}
    far = sorted(range(1, 501), key=lambda number: float(rows[b"%d" % number] @ VECTOR))[:10]
    entries = [entry_of(make_record(n, "cat", category="task" if n in far else None)) for n in range(1, 501)]
    index.upsert(ALICE, entries, after=0, upto=500)
    index.put_vectors(EMBEDDER, {number: b"%d" % number for number in range(1, 501)}, rows)
    index.train(ALICE)
    assert index.search(VECTOR, Where(ALICE, categories=frozenset({"task"})), 10).ids.tolist() == far[::-1]
    assert len(index.search(VECTOR, Where(ALICE), 450).ids) == 450
    index.close()


def test_more_records_than_a_query_hands_out(index: MilvusIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window of a server is 16,384 rows."""
    for module in (catalog, tables, milvus_index):
        monkeypatch.setattr(module, "WINDOW", 100)
    fill(index, 250)
    newest = list(range(250, 0, -1))
    assert index.search(VECTOR, Where(ALICE), 220).ids.tolist() == newest[:220]
    assert index.search(VECTOR, Where(ALICE, hidden=((50, 250),)), 60).ids.tolist() == newest[201:]
    assert index.latest(Where(ALICE), 999).tolist() == newest
    assert len(index.search(["cat"], Where(ALICE), 999).ids) == 100
    index._catalog.put_documents({f"sum:{owner_key(ALICE)}": None})
    index.train(ALICE)
    assert index.status(ALICE, sums=True).vectors == 250
    waiting = [entry_of(make_record(number, "dog")) for number in range(251, 501)]
    index.upsert(ALICE, waiting, after=index.status(ALICE).applied, upto=500)
    assert [record.id for record, _ in index.pending(ALICE, 230)] == list(range(251, 481))


def test_two_clients_see_what_the_other_wrote(index: MilvusIndex, milvus_server: MilvusServer) -> None:
    other = MilvusIndex(milvus_server.url)
    fill(index, 5)
    fill(other, 5, BOB, first=6)
    assert other.status(ALICE).applied == index.status(ALICE).applied == 6
    assert other.search(VECTOR, Where(ALICE), 9).ids.tolist() == [5, 4, 3, 2, 1]
    mine, theirs = (one.search(["cat"], Where(BOB), 9) for one in (index, other))
    assert mine.ids.tolist() == theirs.ids.tolist() == [6, 7, 8, 9, 10]
    assert mine.scores.tolist() == theirs.scores.tolist()
    assert not other.upsert(ALICE, [entry_of(make_record(20))], after=0, upto=20)
    other.delete([5])
    assert index.search(VECTOR, Where(ALICE), 9).ids.tolist() == [4, 3, 2, 1]
    other.delete(None)
    assert index.size().records == 0
    fill(index, 2)
    assert other.search(VECTOR, Where(ALICE), 9).ids.tolist() == [2, 1]
    other.close()


def test_a_very_long_text_comes_back_whole(index: MilvusIndex) -> None:
    text = "我的猫叫咪咪 cat " * 20_000
    record = replace(make_record(1, text), metadata={f"key {n}": "long " * 50 for n in range(500)})
    index.upsert(ALICE, [entry_of(record)], after=0, upto=1)
    assert index.get([1]) == [record]
    assert index.search(["cat"], Where(ALICE), 5).ids.tolist() == [1]


NUMBERS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture
def url(server: MilvusServer) -> str:
    return f"{server.url}?prefix=index_{next(NUMBERS)}"


def test_after_a_restart_the_same_object_works_on(server: MilvusServer, url: str) -> None:
    """Meanwhile every call says that the server is away."""
    index = MilvusIndex(url)
    corpus, oracle = random_corpus(1, size=60), InMemoryIndex()
    corpus.fill(index)
    corpus.fill(oracle)
    server.kill()
    for call in (
        lambda: index.search(VECTOR, Where(ALICE), 5),
        lambda: index.search(["cat"], Where(ALICE), 5),
        lambda: index.upsert(ALICE, [], after=0, upto=1),
        lambda: index.get([1]),
        index.size,
        lambda: index.delete(None),
    ):
        with pytest.raises(StoreUnavailableError, match="is the server running"):
            call()
    server.start()
    assert index.size() == oracle.size()
    assert_same_ranking(index.search(VECTOR, Where(ALICE), ALL), oracle.search(VECTOR, Where(ALICE), ALL), ALL)
    words = terms("marathon cat 北京")
    assert_same_ranking(index.search(words, Where(BOB), ALL), oracle.search(words, Where(BOB), ALL), ALL)
    everything = ids(*range(1, 61))
    assert (
        index.columns(everything, Where(ALICE), 1).ids.tolist()
        == oracle.columns(everything, Where(ALICE), 1).ids.tolist()
    )
    index.close()
