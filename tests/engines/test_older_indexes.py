"""An index apart from its log, as it was written before records had an origin, and positions an anchor."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from pymilvus import MilvusClient
from redis import Redis

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.engines.milvus.connection import Address
from hybrid_memory.engines.milvus.rows import digest as milvus_digest
from hybrid_memory.engines.milvus.state import anchor_of
from hybrid_memory.engines.redis.layout import NONE, digest
from hybrid_memory.index.derive import index_terms
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.origin import Origin
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.store import indexing
from hybrid_memory.store.engine import anchored
from hybrid_memory.store.indexing import TextIndex
from tests.engines.conftest import Config

QUIET: dict[str, Any] = {"orchestration": {"background": False}}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "My cat is called Pixel.", "metadata": {"place": "home"}},
    {"role": "assistant", "content": "A cat called Pixel, how nice."},
    {"role": "tool", "name": "fetch_page", "content": "Ten names for a cat.", "tool_call_id": "1"},
    {"role": "user", "content": "An old cat.", "origin": "imported"},
]


class Counting(HashingEmbedder):
    """Counts the texts that it is given."""

    asked = 0

    def embed_documents(self, texts: Any) -> Any:
        self.asked += len(texts)
        return super().embed_documents(texts)


def age_sqlite(url: str) -> None:
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE records SET origin = 'imported'")
        connection.execute("UPDATE index_state SET anchor = ''")
    connection.close()


def age_redis(url: str) -> None:
    address, _, prefix = url.partition("?prefix=")
    labels = {digest(f"\0origin {origin}").encode() for origin in Origin}
    with Redis.from_url(address) as client:
        for key in client.keys(f"{prefix}:record:*"):
            meta, data = client.hmget(key, "meta", "data")
            kept = b",".join(label for label in meta.split(b",") if label not in labels)
            client.hset(key, mapping={"meta": kept or NONE, "data": json.dumps(json.loads(data)[:-1])})
        for key in client.keys(f"{prefix}:index:*:state"):
            client.hdel(key, "anchor")


def age_milvus(url: str) -> None:
    address = Address.read(url)
    client = MilvusClient(address.uri)
    labels = {milvus_digest("origin", origin) for origin in Origin}
    for name in ("records", "vectors"):
        rows = client.query(f"{address.prefix}_{name}", filter="id >= 0", output_fields=["*"])
        for row in rows:
            row.pop("sparse", None)
            row["metadata"] = [label for label in row["metadata"] if label not in labels]
            if name == "records":
                values = json.loads("".join(row["doc"]))
                del values["origin"]
                row["doc"] = [json.dumps(values)]
        client.upsert(f"{address.prefix}_{name}", rows)
    client.delete(f"{address.prefix}_state", filter=f'id like "{anchor_of("")}%"')
    client.close()


AGE: dict[str, Callable[[str], None]] = {"sqlite": age_sqlite, "redis": age_redis, "milvus": age_milvus}


def found(memory: HybridMemory, *origins: Any) -> set[str]:
    hits = memory.scoped(user="alice").recall("cat", k=9, origins=origins)
    assert {hit.note for hit in hits} <= {""}
    return {hit.record.text for hit in hits}


@pytest.mark.parametrize("index", list(AGE))
def test_an_older_index_learns_from_the_log_whose_words_it_holds(index: str, new_config: Config) -> None:
    """At the first search of an owner, in one pass over the log, without another vector."""
    config, embedder = new_config(f"sqlite+{index}", **QUIET), Counting()
    with open_memory(config, embedder=embedder) as memory:
        memory.scoped(user="alice").remember(SAID)
        memory.scoped(user="bob").remember("My cat is called Kitty.")
        memory.flush()
        before = {origin: found(memory, origin) for origin in Origin}
    AGE[index](str(config.index.url))
    asked = embedder.asked
    with open_memory(config, embedder=embedder) as memory:
        assert {origin: found(memory, origin) for origin in Origin} == before
        assert len(before[Origin.USER]) == len(before[Origin.WEB]) == len(before[Origin.IMPORTED]) == 1
        assert [one.origin for one in memory._runtime.services.index.get([1, 3])] == [Origin.USER, Origin.WEB]
        assert memory.scoped(user="bob").recall("cat", origins=["user"])[0].record.origin is Origin.USER
        status = memory._runtime.services.index.status(memory.scoped(user="alice").scope)
        mark = memory._runtime.services.log.mark(memory.scoped(user="alice").scope, status.applied)
        assert anchored(status)[0] == mark
    assert embedder.asked == asked


def test_it_is_done_once(new_config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    upgraded = TextIndex._upgraded

    def counted(self: TextIndex, *args: Any) -> Any:
        done.append(args[2])
        return upgraded(self, *args)

    monkeypatch.setattr(TextIndex, "_upgraded", counted)
    config: MemoryConfig = new_config("sqlite+sqlite", **QUIET)
    for round_ in range(3):
        with open_memory(config, embedder=HashingEmbedder()) as memory:
            memory.scoped(user="alice").remember([{**one, "id": f"{round_}-{n}"} for n, one in enumerate(SAID)])
            found(memory, "user")
        if round_ == 0:
            AGE["sqlite"](str(config.index.url))
    assert len(done) == 1


def with_the_turn_before(record: Record, cleaning: Any) -> str:
    return index_terms(record, cleaning) + (" rain" if record.text == "Dry." else "")


@pytest.mark.parametrize("index", list(AGE))
def test_an_older_index_forgets_that_turns_had_words_of_the_turn_before(
    index: str, new_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first search of an owner, without another vector."""
    config, embedder = new_config(f"sqlite+{index}", **QUIET), Counting()
    with monkeypatch.context() as older:
        older.setattr(TextIndex, "version", "")
        older.setattr(indexing, "index_terms", with_the_turn_before)
        with open_memory(config, embedder=embedder) as memory:
            alice = memory.scoped(user="alice")
            alice.remember([*SAID, "Rain today?", {"role": "assistant", "content": "Dry."}])
            memory.flush()
            vectors = memory._runtime.services.index.vectors(range(1, 7), alice.scope)
    asked = embedder.asked
    with open_memory(config, embedder=embedder) as memory:
        services, alice = memory._runtime.services, memory.scoped(user="alice")
        assert len(alice.recall("Pixel", k=6)) == len(vectors) == 6
        assert services.index.matching(["rain"], Where(alice.scope.owner), 9).ids.tolist() == [5]
        kept = services.index.vectors(range(1, 7), alice.scope)
        assert all((kept[number] == vector).all() for number, vector in vectors.items())
        status = services.index.status(alice.scope)
        assert anchored(status) == (services.log.mark(alice.scope, status.applied), TextIndex.version)
    assert embedder.asked == asked
