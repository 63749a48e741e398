"""LlamaIndex: BM25 and vectors fused."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import TextNode
from pydantic import PrivateAttr

from benchmarks.peers.systems import Embedder, System, Turn


class AsLlamaIndex(BaseEmbedding):
    """Our embedder as LlamaIndex's."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name, embed_batch_size=2048)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        row: list[float] = self._embedder.embed_query(query).tolist()
        return row

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return rows


class Fusion(System):
    """`QueryFusionRetriever` over an index and `BM25Retriever`, by reciprocal ranks, no further queries."""

    def __init__(self, embedder: Embedder, _folder: Path) -> None:
        self._model = AsLlamaIndex(embedder)
        self._nodes: list[TextNode] = []
        self._index: VectorStoreIndex | None = None
        self._words: Any = None

    def add(self, turns: Sequence[Turn]) -> None:
        """Add nodes; BM25 can only be made anew."""
        nodes = [TextNode(id_=turn.id, text=turn.text) for turn in turns]
        self._nodes += nodes
        if self._index is None:
            self._index = VectorStoreIndex(nodes, embed_model=self._model)
        else:
            self._index.insert_nodes(nodes)
        bm25 = importlib.import_module("llama_index.retrievers.bm25").BM25Retriever
        self._words = bm25.from_defaults(nodes=self._nodes, similarity_top_k=min(20, len(self._nodes)))

    def search(self, query: str, k: int) -> list[str]:
        """Each finds k; of the fusion the first k."""
        if self._index is None:
            return []
        self._words.similarity_top_k = min(k, len(self._nodes))
        fusion = QueryFusionRetriever(
            [self._index.as_retriever(similarity_top_k=k), self._words],
            llm=MockLLM(), mode=FUSION_MODES.RECIPROCAL_RANK, similarity_top_k=k, num_queries=1, use_async=False,
        )  # fmt: skip
        return [node.node.node_id for node in fusion.retrieve(query)]
