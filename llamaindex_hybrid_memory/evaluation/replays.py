"""One conversation with each of LlamaIndex's memories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import (
    BaseMemory,
    ChatMemoryBuffer,
    ChatSummaryMemoryBuffer,
    Memory,
    VectorMemoryBlock,
)
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from hybrid_memory import Message, Role
from hybrid_memory.apps.evaluation import VERBATIM, Replay, Setting, StockReplay, Writer, embedder_of
from hybrid_memory.ports import TokenCounter
from llamaindex_hybrid_memory.evaluation.models import Embedding, TextStore, WritingModel
from llamaindex_hybrid_memory.messages import from_chat_message, to_chat_message

BUFFER = 0.75
"""Share of the room that is the limit of a buffer; what LlamaIndex takes of a model's window."""

FLUSH = 0.1
"""Share of a queue's limit that it hands on at a time; LlamaIndex's own share where its 3,000 tokens are too many."""

_Run = Callable[[Coroutine[Any, Any, Any]], Any]
_Maker = Callable[[int, TokenCounter], BaseMemory]
"""Makes a memory for so many tokens."""


@contextmanager
def replaying(name: str, setting: Setting) -> Iterator[Replay]:
    """An empty conversation with the memory of this name, whose async side runs in a thread of its own."""
    # The caller's thread may have a loop that runs already, as in a notebook.
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()
        engine = create_async_engine("sqlite+aiosqlite:///:memory:")
        try:
            made = _maker(name, setting, engine)
            yield LlamaIndexReplay(setting, made, lambda job: thread.submit(runner.run, job).result())
        finally:
            thread.submit(runner.run, engine.dispose()).result()
            thread.submit(runner.close).result()


class LlamaIndexReplay(StockReplay):
    """A conversation that an agent holds with a memory."""

    def __init__(self, setting: Setting, made: _Maker, run: _Run) -> None:
        super().__init__(setting)
        self._made = made
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
        return self._made(self._room, self._count)


def _copied(memory: BaseMemory) -> BaseMemory:
    """One that may be changed: to be asked changes a memory that summarises. `Memory` only reads."""
    store = getattr(memory, "chat_store", None)
    return memory if store is None else memory.model_copy(update={"chat_store": store.model_copy(deep=True)})


def _tokenizer(count: TokenCounter) -> Callable[[str], Any]:
    return lambda text: range(count(text))


class _Buffer(ChatMemoryBuffer):
    """Counts each message by itself: the stock one joins all that are left, anew for each that it drops."""

    def _token_count_for_messages(self, messages: list[ChatMessage]) -> int:
        return sum(len(self.tokenizer_fn(str(message.content))) for message in messages)


def _maker(name: str, setting: Setting, engine: AsyncEngine) -> _Maker:
    """Makes the memory of this name.

    The limit of a buffer is of the turns, and a summary comes on top. Of that of ``Memory`` seven tenths are for its
    queue, the rest for blocks and what it does not count. The block has its default priority: it is never cut, and
    brings many prompts over the limit. With any other it is left out wherever it does not fit, nearly always.
    """
    if name == "llamaindex-buffer":
        return lambda room, count: _Buffer.from_defaults(token_limit=int(BUFFER * room), tokenizer_fn=_tokenizer(count))
    if name == "llamaindex-summary-buffer":
        return lambda room, count: ChatSummaryMemoryBuffer.from_defaults(
            llm=WritingModel(Writer(setting, room)), token_limit=int(VERBATIM * room), tokenizer_fn=_tokenizer(count)
        )
    vectors = name == "llamaindex-memory-vector"
    embedding = [Embedding(embedder_of(setting))] if vectors else []
    return lambda room, count: Memory.from_defaults(
        token_limit=room,
        token_flush_size=max(1, int(FLUSH * room)),
        tokenizer_fn=_tokenizer(count),
        memory_blocks=[VectorMemoryBlock(vector_store=TextStore(), embed_model=one) for one in embedding],
        async_engine=engine,
    )
