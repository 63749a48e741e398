"""An index of an older version is derived again from the log, once, when it is next followed."""

from typing import Any

import numpy as np
import pytest

from hybrid_memory import HybridMemory, open_memory
from hybrid_memory.index.derive import anchored, index_terms
from hybrid_memory.index.record import Where
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.store import indexing
from hybrid_memory.store.indexing import TextIndex
from tests.engines.conftest import Config

QUIET: dict[str, Any] = {"orchestration": {"background": False}}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "My cat is called Pixel.", "metadata": {"place": "home"}},
    {"role": "user", "content": "An old cat.", "origin": "imported"},
    {"role": "assistant", "content": "Dry."},
]


@pytest.mark.parametrize("index", ["sqlite", "redis", "milvus"])
def test_an_index_of_another_version_is_derived_again(
    index: str, new_config: Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = new_config(f"sqlite+{index}", **QUIET)
    with monkeypatch.context() as older:
        older.setattr(TextIndex, "version", "")
        older.setattr(indexing, "index_terms", lambda record, cleaning: f"{index_terms(record, cleaning)} rain")
        with open_memory(config, embedder=HashingEmbedder()) as memory:
            memory.scoped(user="alice").remember(SAID)
            memory.scoped(user="alice").recall("cat")
            memory.flush()
            assert matching(memory, "rain") == [1, 2, 3]
    for later in range(2):
        with open_memory(config, embedder=HashingEmbedder()) as memory:
            services, alice = memory._runtime.services, memory.scoped(user="alice")
            assert [hit.record.id for hit in alice.recall("Pixel", k=1)] == [1]
            assert matching(memory, "rain") == []
            status = services.index.status(alice.scope)
            assert anchored(status.anchor) == (services.log.mark(alice.scope, status.applied), TextIndex.version)
            assert services.index.vector_rows(alice.scope, np.arange(1, 4))[1].all()
            assert services.index.get([1])[0].uses == 1 + later
    assert caplog.text.count("of another version: 3 records were dropped") == 1


def matching(memory: HybridMemory, term: str) -> list[int]:
    services, where = memory._runtime.services, Where(memory.scoped(user="alice").scope.owner)
    return sorted(services.index.search([term], where, 9).ids.tolist())
