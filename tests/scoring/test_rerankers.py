"""Rerankers of LangChain, LlamaIndex and anybody's own as ``ranker=``: what they are asked, what their scores do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from hybrid_memory import HybridMemory, MemoryConfig, RecallConfig, Record, Scope, open_memory
from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.rerankers import to_unit

TEAS = ["Tea with lemon and a spoon of honey.", "Tea.", "Tea with milk."]
BY_LENGTH = sorted(TEAS, key=len)


class ByLength(BaseCrossEncoder):
    """A cross-encoder that likes brief texts."""

    def score(self, text_pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [1 / len(text) for _, text in text_pairs]


class Predicts:
    """As a ``CrossEncoder`` of sentence-transformers, which can be called, too, with something else."""

    def predict(self, sentences: list[tuple[str, str]]) -> Any:
        return np.array([-len(text) / 10 for _, text in sentences], dtype=np.float32)

    def __call__(self, *_: Any) -> None:
        raise AssertionError("a forward pass")


class Hosted(BaseDocumentCompressor):
    """As those of hosted rerankers: the best few, with a score in the metadata."""

    model: str = "rank-1"
    top_n: int = 2

    def compress_documents(self, documents: Sequence[Document], *_: Any, **__: Any) -> list[Document]:
        best = sorted(documents, key=lambda document: len(document.page_content))[: self.top_n]
        scores = [0.9, 0.4, 0.1]
        return [
            Document(one.page_content, metadata=one.metadata | {"relevance_score": score})
            for one, score in zip(best, scores, strict=False)
        ]


class Sorting(BaseNodePostprocessor):
    """Only puts nodes in another order, with the scores that they had."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        return sorted(nodes, key=lambda node: len(node.text))


def opened(ranker: Any, /, **recall: Any) -> HybridMemory:
    config = MemoryConfig(url="memory://", embedder="hashing", recall=RecallConfig(**recall))
    memory = open_memory(config, ranker=ranker)
    memory.scoped(user="ann").remember(TEAS)
    return memory


def texts(ranker: Any, /, **recall: Any) -> list[str]:
    with opened(ranker, **recall) as memory:
        return [hit.record.text for hit in memory.scoped(user="ann").recall("tea")]


def by_length(query: str, texts: list[str]) -> list[float]:
    return [1 / (1 + len(text)) for text in texts]


@pytest.mark.parametrize(
    "model",
    [
        by_length,
        lambda query, texts: (1 / len(text) for text in texts),
        ByLength(),
        Predicts(),
        CrossEncoderReranker(model=ByLength()),
        CrossEncoderReranker(model=ByLength(), top_n=1),
        Hosted(),
        Sorting(),
    ],
    ids=["callable", "generator", "cross-encoder", "predict", "in order", "the best", "scored", "nodes"],
)
def test_whatever_ranks_texts_orders_the_hits(model: Any) -> None:
    assert texts(model)[0] == "Tea."
    assert set(texts(model)) == set(TEAS), "what a reranker leaves out stays behind"
    assert texts(model)[1:] == BY_LENGTH[1:] or getattr(model, "top_n", 0) == 1


def test_a_hit_says_who_scored_it_and_what_we_had() -> None:
    with opened(None) as memory:
        before = {hit.record.text: hit for hit in memory.scoped(user="ann").recall("tea")}
    with opened(Hosted()) as memory:
        first, second, last = memory.scoped(user="ann").recall("tea")
    assert [first.score, second.score] == [0.9, 0.4]
    for hit in (first, second, last):
        ours = before[hit.record.text]
        assert hit.own == pytest.approx(ours.score)
        assert hit.why().startswith(f"{hit.score:.3f} by {hit.reranker}; before it {ours.arithmetic}")
    assert first.reranker == "Hosted/rank-1"
    assert last.reranker == "its place behind what Hosted/rank-1 scored"
    assert last.score == pytest.approx(0.4 * before[last.record.text].score)


def test_it_is_asked_for_the_best_candidates_alone_once() -> None:
    asked: list[tuple[str, list[str]]] = []

    def note(query: str, texts: list[str]) -> list[float]:
        asked.append((query, texts))
        return by_length(query, texts)

    with opened(note, rerank_candidates=2) as memory, opened(None) as plain:
        before = [hit.record.text for hit in plain.scoped(user="ann").recall("tea")]
        ann = memory.scoped(user="ann")
        assert [hit.record.text for hit in ann.recall("tea")] == [*sorted(before[:2], key=len), before[2]]
        ann.recall("tea")
    assert asked == [("tea", before[:2])], "and the second time the answer was known"


def test_what_an_index_has_of_somebody_else_is_not_shown_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def note(query: str, texts: list[str]) -> list[float]:
        shown.extend(texts)
        return by_length(query, texts)

    get = InMemoryIndex.get

    def astray(index: InMemoryIndex, ids: Sequence[int]) -> list[Record]:
        read = get(index, ids)
        return [replace(one, scope=Scope(user="bob")) if one.text == "Tea." else one for one in read]

    monkeypatch.setattr(InMemoryIndex, "get", astray)
    with opened(note) as memory:
        found = {hit.record.text for hit in memory.scoped(user="ann").recall("tea")}
    assert set(shown) == found == set(TEAS) - {"Tea."}


@pytest.mark.parametrize(
    ("given", "scores"),
    [
        ([0.25, 1, 0], [0.25, 1, 0]), ([8, 4, 0], [1, 0.5, 0]), ([-1000, 0, 1000], [0, 0.5, 1]),
        ([2, float("nan"), 4], [0.5, float("nan"), 1]), ([], []), ([float("nan")], [float("nan")]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_numbers_of_any_scale_are_brought_to_0_to_1(given: list[float], scores: list[float]) -> None:
    np.testing.assert_allclose(to_unit(np.array(given, dtype=np.float64)), scores, atol=1e-12)


class Invents(BaseDocumentCompressor):
    """Gives back a text of its own."""

    def compress_documents(self, documents: Sequence[Document], *_: Any, **__: Any) -> list[Document]:
        return [Document("nothing that was said")]


def fails(query: str, texts: list[str]) -> list[float]:
    raise OSError("no network")


@pytest.mark.parametrize(
    "model",
    [
        fails, Invents(), lambda query, texts: [0.5], lambda query, texts: [float("nan")] * len(texts),
        lambda query, texts: [float("inf")] * len(texts), lambda query, texts: "three",
        lambda query, texts: [[0.1, 0.9]] * len(texts),
    ],
    ids=["raises", "invents", "too few", "NaN", "infinite", "words", "two each"],
)  # fmt: skip
def test_where_it_fails_our_order_stands(model: Any) -> None:
    with opened(model) as memory:
        hits = memory.scoped(user="ann").recall("tea")
    assert [hit.record.text for hit in hits] == texts(None)
    assert all("not reranked, reranker" in hit.note and hit.own is None and not hit.reranker for hit in hits)


@pytest.mark.parametrize("wrong", [7, object(), Hosted])
def test_what_cannot_rank_is_refused_when_a_memory_is_opened(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot rank|is a class"):
        opened(wrong)
