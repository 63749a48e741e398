"""The example of a configuration file, on real servers."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hybrid_memory import Weights, open_memory
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.ports import Floats
from hybrid_memory.text.tokenize import terms
from tests.engines.conftest import Url

EXAMPLE = """\
url: "{log}"
index: {{url: "{index}", algorithm: ivf_flat, nlist: 1024}}
archive: {{{archive}}}
embedder: text-embedding-v4
compaction: {{max_tokens: 128000, flush: 0.78, keep_ratio: 0.3}}
orchestration: {{concurrency: 10, batch: 32, cache: 10000, cache_ttl: 1 hour}}
recall:
  weights: {{exact: 0.15, vector: 0.5, temporal: 0.2, text: 0.15, neighbours: 0, segment: 0, importance: 0}}
  cache_ttl: 5 minutes
"""
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
    file.write_text(EXAMPLE.format(index=new_url("milvus"), log=new_url("redis"), archive="url: null"), "utf-8")
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


def test_a_model_by_name_must_be_given(file: Path) -> None:
    with pytest.raises(InvalidConfigError, match=r"'text-embedding-v4' is none of ours.*open_memory\(embedder="):
        open_memory(file)
