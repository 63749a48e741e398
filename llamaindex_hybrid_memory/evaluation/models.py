"""The model and the embedder of a setting, and a store of vectors, as LlamaIndex's memories ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult
from pydantic import PrivateAttr

from hybrid_memory import Message
from hybrid_memory.apps.evaluation import Writer
from hybrid_memory.ports import Embedder
from llamaindex_hybrid_memory.messages import from_chat_message

EMBEDDED = 1_500
"""Characters of a text that are embedded, about what the models of LlamaIndex's guides read: 512 tokens.
The block asks at each prompt, by its last five messages of any length."""


class WritingModel(CustomLLM):
    """An LLM over the writer of a replay."""

    _writer: Writer = PrivateAttr()

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    @property
    def metadata(self) -> LLMMetadata:
        """A chat model without tools."""
        return LLMMetadata(is_chat_model=True, model_name=self._writer.model.name)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """What the model answers; without instructions, to the last message alone."""
        asked = [from_chat_message(message) for message in (messages if self._writer.instructed else messages[-1:])]
        return ChatResponse(message=ChatMessage(role="assistant", content=self._writer(asked)))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """What the model answers to a text."""
        return CompletionResponse(text=self._writer([Message(content=prompt)]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """The memories ask for none."""
        raise NotImplementedError


class Embedding(BaseEmbedding):
    """An embedder; of a long query the end is embedded, where the question stands."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in self._embedder.embed_query(query[-EMBEDDED:])]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(number) for number in self._embedder.embed_documents([text[:EMBEDDED]])[0]]


class TextStore(SimpleVectorStore):
    """LlamaIndex's store in memory, with the texts that `VectorMemoryBlock` asks of one."""

    stores_text: bool = True
    _nodes: dict[str, BaseNode] = PrivateAttr(default_factory=dict)

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> list[str]:
        """Keep vectors and texts."""
        for node in nodes:
            # The id decides between two that are equally near: a random one would change from run to run.
            node.node_id = f"{len(self._nodes):06}"
            self._nodes[node.node_id] = node
        return super().add(nodes, **add_kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nearest, with their texts."""
        found = super().query(query, **kwargs)
        found.nodes = [self._nodes[id_] for id_ in found.ids or ()]
        return found
