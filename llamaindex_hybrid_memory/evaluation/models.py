"""The model and the embedder of a setting, and a store of vectors, as LlamaIndex's memories ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult
from pydantic import PrivateAttr

from hybrid_memory import Message
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, as_embedder
from hybrid_memory.ports import Embedder, LanguageModel
from llamaindex_hybrid_memory.messages import from_chat_message

EMBEDDED = 1_500
"""Characters of a text that are embedded, about what the models of LlamaIndex's guides read: 512 tokens.
The block asks at each prompt, by its last five messages of any length."""


class WritingModel(CustomLLM):
    """An LLM over a `LanguageModel`.

    What it was asked before it answers as before: each question of an evaluation folds the same turns, and a model
    would be paid for every one.
    """

    _model: LanguageModel = PrivateAttr()
    _instructed: bool = PrivateAttr()
    _answers: dict[tuple[str, ...], str] = PrivateAttr(default_factory=dict)

    def __init__(self, model: LanguageModel, *, instructed: bool) -> None:
        super().__init__()
        self._model = model
        self._instructed = instructed

    @property
    def metadata(self) -> LLMMetadata:
        """A chat model without tools."""
        return LLMMetadata(is_chat_model=True, model_name=self._model.name)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """What the model answers; without instructions, to the last message alone."""
        asked = [from_chat_message(message) for message in (messages if self._instructed else messages[-1:])]
        return ChatResponse(message=ChatMessage(role="assistant", content=self._answer(asked)))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """What the model answers to a text."""
        return CompletionResponse(text=self._answer([Message(content=prompt)]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """The memories ask for none."""
        raise NotImplementedError

    def _answer(self, asked: Sequence[Message]) -> str:
        key = tuple(f"{message.role}: {message.text}" for message in asked)
        if key not in self._answers:
            self._answers[key] = self._model.complete(asked)
        return self._answers[key]


class Embedding(BaseEmbedding):
    """The setting's embedder, or the local one; of a long query its end is embedded, where the question stands."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, given: Any) -> None:
        if given == "none":
            raise InvalidInputError("a memory of vectors needs an embedder, and the setting has none")
        embedder = _embedder(given)
        super().__init__(model_name=embedder.name)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in self._embedder.embed_query(query[-EMBEDDED:])]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(number) for number in self._embedder.embed_documents([text[:EMBEDDED]])[0]]


def _embedder(given: Any) -> Embedder:
    if given == "hashing":
        return HashingEmbedder()
    return _local() if given is None or isinstance(given, str) else as_embedder(given)


@cache
def _local() -> LocalEmbedder:
    return LocalEmbedder()


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
