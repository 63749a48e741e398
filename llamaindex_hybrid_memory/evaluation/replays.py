"""A conversation with each of LlamaIndex's memories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import (
    BaseMemory,
    ChatMemoryBuffer,
    ChatSummaryMemoryBuffer,
    Memory,
    VectorMemoryBlock,
)
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult
from pydantic import PrivateAttr
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from hybrid_memory import Message, Role
from hybrid_memory.ports import Embedder
from hybrid_memory_evaluation import VERBATIM, Replay, Setting, StockReplay, Writer, embedder_of
from llamaindex_hybrid_memory.messages import from_chat_message, to_chat_message

EMBEDDED = 1_500
"""How many characters of a text are embedded: about 512 tokens, the limit of the models in LlamaIndex's guides.
The block queries for each prompt, with its last five messages of any length."""


class WritingModel(CustomLLM):
    """An LLM that answers with the replay's writer."""

    _writer: Writer = PrivateAttr()

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, model_name=self._writer.name)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        asked = [from_chat_message(message) for message in (messages if self._writer.instructed else messages[-1:])]
        return ChatResponse(message=ChatMessage(role="assistant", content=self._writer(asked)))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=self._writer([Message(content=prompt)]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


class Embedding(BaseEmbedding):
    """An embedder; of a long query it embeds the end, which contains the question."""

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
    """LlamaIndex's store in memory, with the texts that `VectorMemoryBlock` requires."""

    stores_text: bool = True
    _nodes: dict[str, BaseNode] = PrivateAttr(default_factory=dict)

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> list[str]:
        for node in nodes:
            # The id decides between two that are equally near: a random one would change from run to run.
            node.node_id = f"{len(self._nodes):06}"
            self._nodes[node.node_id] = node
        return super().add(nodes, **add_kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        found = super().query(query, **kwargs)
        found.nodes = [self._nodes[id_] for id_ in found.ids or ()]
        return found


BUFFER = 0.75
"""The limit of a buffer as a share of the room; LlamaIndex's own share of a model's window."""

FLUSH = 0.1
"""The share of its limit that a queue flushes at a time; LlamaIndex's own share, if its 3,000 tokens are too many."""

_Run = Callable[[Coroutine[Any, Any, Any]], Any]


@contextmanager
def replaying(name: str, setting: Setting) -> Iterator[Replay]:
    """An empty conversation with the memory of this name, whose async methods run in a separate thread."""
    # The caller's thread may have a loop that runs already, as in a notebook.
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()
        engine = create_async_engine("sqlite+aiosqlite:///:memory:")
        try:
            yield LlamaIndexReplay(name, setting, engine, lambda job: thread.submit(runner.run, job).result())
        finally:
            thread.submit(runner.run, engine.dispose()).result()
            thread.submit(runner.close).result()


class LlamaIndexReplay(StockReplay):
    """A conversation of an agent with a memory."""

    def __init__(self, name: str, setting: Setting, engine: AsyncEngine, run: _Run) -> None:
        super().__init__(setting)
        self._name = name
        self._embedding = [Embedding(embedder_of(setting))] if name == "llamaindex-memory-vector" else []
        self._engine = engine
        self._run = run
        self._scratchpad: list[Message] = []

    def _add(self, message: Message) -> None:
        self._scratchpad.append(message)
        if message.role in (Role.USER, Role.SYSTEM) or (message.role is Role.ASSISTANT and not message.tool_calls):
            put = [to_chat_message(part) for part in self._scratchpad]
            self._scratchpad = []
            self._run(self._memory.aput_messages(put))

    def _shown(self, question: Message | None) -> list[Message]:
        if question is None:
            shown = self._run(self._memory.aget())
        else:
            shown = self._run(_copied(self._memory).aget(input=question.text))
        asked = [] if question is None else [question]
        return [*self._front, *map(from_chat_message, shown), *self._scratchpad, *asked]

    @cached_property
    def _memory(self) -> BaseMemory:
        """An empty memory with the limit that the conversation has.

        The limit of a buffer covers the turns; a summary is extra. ``Memory`` uses seven tenths of its limit for the
        queue, the rest for blocks and what it does not count. The block has its default priority: it is never cut, and
        many prompts exceed the limit. With any other priority it is dropped if it does not fit, which is nearly always.
        """
        room, count = self._room, self._count
        tokenizer: Any = {"tokenizer_fn": lambda text: range(count(text))}
        if self._name == "llamaindex-buffer":
            return _Buffer.from_defaults(token_limit=int(BUFFER * room), **tokenizer)
        if self._name == "llamaindex-summary-buffer":
            llm = WritingModel(Writer(self._setting, room))
            return ChatSummaryMemoryBuffer.from_defaults(llm=llm, token_limit=int(VERBATIM * room), **tokenizer)
        return Memory.from_defaults(
            token_limit=room,
            token_flush_size=max(1, int(FLUSH * room)),
            memory_blocks=[VectorMemoryBlock(vector_store=TextStore(), embed_model=one) for one in self._embedding],
            async_engine=self._engine,
            **tokenizer,
        )


def _copied(memory: BaseMemory) -> BaseMemory:
    """A copy that may change: a question changes a memory that summarises. `Memory` only reads."""
    store = getattr(memory, "chat_store", None)
    return memory if store is None else memory.model_copy(update={"chat_store": store.model_copy(deep=True)})


class _Buffer(ChatMemoryBuffer):
    """A buffer that counts messages one by one: the original joins all remaining ones again for each that it drops."""

    def _token_count_for_messages(self, messages: list[ChatMessage]) -> int:
        return sum(len(self.tokenizer_fn(str(message.content))) for message in messages)
