"""The example of a configuration file, on real servers and with mistakes in it."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid_memory import MemoryConfig, Weights, aopen_memory, open_memory
from hybrid_memory.errors import InvalidConfigError, StoreUnavailableError
from hybrid_memory.ports import Floats
from hybrid_memory.text.tokenize import terms

if TYPE_CHECKING:
    from tests.engines.conftest import Url

EXAMPLE = """\
memory_system:
  tiers:
    l1_context: {{max_tokens: 128000, compression_threshold: 100000, keep_ratio: 0.3}}
    l2_semantic: {{vector_store: milvus, url: "{index}", embedding_model: text-embedding-v4, index_type: IVF_FLAT, nlist: 1024}}
    l3_episodic: {{kv_store: redis, url: "{log}", {archive}}}
  orchestration:
    max_concurrent_tasks: 10
    embedding_batch_size: 32
    cache: {{enabled: true, max_size: 10000, ttl_seconds: 3600}}
  retrieval:
    default_strategy: hybrid
    weights: {{exact_match: 0.3, semantic: 0.5, temporal: 0.2}}
    cache_ttl_seconds: 300
"""  # noqa: E501 - as it is documented
ARCHIVE = 'ttl_days: 30, backup: clickhouse, backup_url: "{url}"'
SAID = ["My order is number A-4711.", "我昨天把自行车停在了北京西站。", "The concert is in the Elbphilharmonie."]


def embed(texts: Sequence[str]) -> Floats:
    """What a model behind an API might be: a callable from texts to rows."""
    rows = np.full((len(texts), 64), 1e-3, dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for term in terms(text):
            row[hashlib.blake2b(term.encode(), digest_size=1).digest()[0] % 64] += 1
    return rows


@pytest.fixture
def file(tmp_path: Path, new_url: Url) -> Path:
    """The example, for a Redis and a Milvus that run."""
    file = tmp_path / "memory.yaml"
    file.write_text(EXAMPLE.format(index=new_url("milvus"), log=new_url("redis"), archive="backup: null"), "utf-8")
    return file


def test_the_example_starts_a_memory_on_real_servers(file: Path) -> None:
    with open_memory(file, embedder=embed) as memory:
        alice = memory.scoped(user="alice", session="s")
        for text in SAID:
            alice.remember(text)
        (hit,) = alice.recall("where did I leave 自行车?", k=1)
        assert hit.record.text == SAID[1]
        assert hit.note == ""
        assert hit.weights.vector == Weights.routed().vector
        (hit,) = alice.recall("what is in A-4711?", k=1)
        assert (hit.record.text, hit.signals.exact) == (SAID[0], 1.0)
        assert SAID[2] in alice.assemble("What about the concert?").text
        stats = memory.stats()
        assert (stats.embedder, stats.events > 2, stats.records) == ("text-embedding-v4", True, 3)
    with open_memory(str(file), embedder=embed) as memory:
        assert [message.text for message in memory.scoped(user="alice").history()] == SAID


async def test_the_example_starts_a_memory_off_the_event_loop(file: Path) -> None:
    async with await aopen_memory(file, embedder=embed) as memory:
        alice = memory.scoped(user="alice", session="s")
        await alice.aremember(SAID[2])
        assert [hit.record.text for hit in await alice.arecall("the concert")] == [SAID[2]]


def test_the_example_is_written_as_it_was_read(file: Path, tmp_path: Path) -> None:
    read = MemoryConfig.from_yaml(file)
    again = tmp_path / "again.yaml"
    again.write_text(read.to_yaml(), "utf-8")
    assert MemoryConfig.from_yaml(again) == read


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port at which all servers of a file are said to be; who connects to it is noticed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield listener


def example(listener: socket.socket) -> str:
    """The example with all its servers at the port of the listener, and an outbox."""
    at = f"127.0.0.1:{listener.getsockname()[1]}"
    archive = ARCHIVE.format(url=f"clickhouse://{at}/default") + ", outbox: outbox.db"
    return EXAMPLE.format(index=f"milvus://{at}", log=f"redis://{at}/0", archive=archive)


BROKEN = [
    ("vector_store: milvus", "vector_store: pinecone", "vector_store", "'pinecone'", "faiss, memory, redis, milvus"),
    ("IVF_FLAT", "IVF_PQ", "index_type", "'IVF_PQ'", "FLAT, HNSW, IVF_FLAT"),
    ("nlist: 1024", "nlist: 0", "nlist", "0", "from 1 to 65536"),
    ("kv_store: redis", "kv_store: rediss", "kv_store", "'rediss'", "sqlite, memory, redis"),
    ("redis://127", "http://127", "l3_episodic.url", "'http://127", "begins with redis://"),
    ("backup: clickhouse", "backup: s3", "backup", "'s3'", "clickhouse, chdb"),
    ("ttl_days: 30", "ttl_days: -1", "ttl_days", "-1", "a number of days above 0"),
    ("100000", "200000", "compression_threshold", "200000", "from 1 to max_tokens, 128000"),
    ("keep_ratio: 0.3", "keep_ratio: 30%", "keep_ratio", "'30%'", "a number above 0, below 1"),
    ("max_concurrent_tasks: 10", "max_concurrent_tasks: ten", "max_concurrent_tasks", "'ten'", "from 1 to 1000"),
    ("enabled: true", "enabled: 7", "cache.enabled", "7", "true or false"),
    ("strategy: hybrid", "strategy: hybird", "default_strategy", "'hybird'", "hybrid, vector, text"),
    ("semantic: 0.5", "semantic: -0.5", "weights.semantic", "-0.5", "0 or more"),
]


@pytest.mark.parametrize("mistake", BROKEN, ids=[row[2] for row in BROKEN])
def test_a_mistake_is_told_before_anything_is_opened(
    mistake: tuple[str, str, str, str, str], listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong, key, value, allowed = mistake
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "memory.yaml"
    whole = example(listener)
    assert whole.count(right) == 1
    file.write_text(whole.replace(right, wrong), "utf-8")
    with pytest.raises(InvalidConfigError) as caught:
        open_memory(file, embedder=embed)
    (told,) = str(caught.value).splitlines()
    line = 1 + whole[: whole.index(right)].count("\n")
    assert f"{file} line {line}: memory_system." in told
    assert f"{key}: {value}" in told
    assert allowed in told
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert list(tmp_path.iterdir()) == [file]


def test_the_whole_example_connects_to_its_servers(listener: socket.socket, tmp_path: Path) -> None:
    """Otherwise the test above would show nothing."""
    file = tmp_path / "memory.yaml"
    file.write_text(example(listener), "utf-8")
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(StoreUnavailableError, match=f"Redis at 127.0.0.1:{port}"):
        open_memory(file, embedder=embed)


def test_a_model_by_name_must_be_given(file: Path) -> None:
    with pytest.raises(InvalidConfigError, match=r"'text-embedding-v4' is none of ours.*open_memory\(embedder="):
        open_memory(file)
