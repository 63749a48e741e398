"""LlamaIndex: the block of long-term memory, and BM25 and vectors fused."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult
from pydantic import PrivateAttr

from benchmarks.peers.systems import Embedder, Turn


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


class TextStore(SimpleVectorStore):
    """The simple store, which keeps no texts, with the texts that the block asks for."""

    stores_text: bool = True
    _nodes: dict[str, BaseNode] = PrivateAttr(default_factory=dict)
    _found: list[str] = PrivateAttr(default_factory=list)

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add vectors, and keep the nodes."""
        self._nodes |= {node.node_id: node for node in nodes}
        return super().add(nodes, **kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nearest, with their nodes."""
        result = super().query(query, **kwargs)
        self._found = list(result.ids or [])
        result.nodes = [self._nodes[id_] for id_ in self._found]
        return result

    @property
    def newest(self) -> str:
        """The id of the node that was added last."""
        return next(reversed(self._nodes))

    @property
    def found(self) -> list[str]:
        """The ids of the last query's nodes."""
        return self._found


class Block:
    """`VectorMemoryBlock`, one message at a time; of what it answers, a text, the store knows the nodes."""

    def __init__(self, embedder: Embedder, _folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._store = TextStore()
        self._block = VectorMemoryBlock(vector_store=self._store, embed_model=AsLlamaIndex(embedder))
        self._ids: dict[str, str] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        """Put one message after the other."""
        self._loop.run_until_complete(self._add(turns))

    async def _add(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            await self._block.aput([ChatMessage(role=turn.role, content=turn.text)])
            self._ids[self._store.newest] = turn.id

    def search(self, query: str, k: int) -> list[str]:
        """Ask as for a prompt."""
        self._block.similarity_top_k = k
        self._loop.run_until_complete(self._block.aget([ChatMessage(role="user", content=query)]))
        return [self._ids[id_] for id_ in self._store.found]

    def close(self) -> None:
        """Close the loop."""
        self._loop.close()


class Fusion:
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

    def close(self) -> None:
        """Nothing to let go of."""
