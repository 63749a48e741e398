"""`FunctionAgent` and `SimpleChatEngine`: a chat memory for each thread."""

import asyncio
import base64
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.core.tools import FunctionTool

from benchmarks.acting.media import DOCUMENT, PICTURE, encoded
from benchmarks.acting.models import ScriptedLLM
from benchmarks.acting.surroundings import USER, Surroundings
from benchmarks.acting.tasks import Say
from llamaindex_hybrid_memory import HybridChatMemory

ENDLESS = 1_000_000
"""Tokens of a buffer that forgets nothing."""


class FunctionConversations:
    """Of `FunctionAgent`."""

    def __init__(self, around: Surroundings) -> None:
        tools: list[Any] = [FunctionTool.from_defaults(run) for run in around.world.tools(around.task.tools)]
        self._agent = FunctionAgent(
            llm=_model(around), tools=tools, system_prompt=around.task.identity, streaming=False, timeout=None
        )
        self._chats = _Chats(around)
        self._loop = asyncio.Runner()

    def say(self, step: Say) -> str:
        """The answer."""
        return self._loop.run(self._asked(step))

    def close(self) -> None:
        """Close its stores and its event loop."""
        self._loop.run(self._chats.disposed())
        self._loop.close()

    async def _asked(self, step: Say) -> str:
        said = step.text if not step.media else _message(step)
        return str(await self._agent.run(said, memory=self._chats.of(step.thread), max_iterations=100))


class EngineConversations:
    """Of `SimpleChatEngine`."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._chats = _Chats(around)
        # LlamaIndex would make a loop and leave it open.
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def say(self, step: Say) -> str:
        """The answer."""
        engine = SimpleChatEngine.from_defaults(
            llm=_model(self._around), memory=self._chats.of(step.thread), system_prompt=self._around.task.identity
        )
        return str(engine.chat(step.text))

    def close(self) -> None:
        """Close its stores and its event loop."""
        self._loop.run_until_complete(self._chats.disposed())
        asyncio.set_event_loop(None)
        self._loop.close()


class _Chats:
    """The memory of each thread, made when it is first needed."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._made: dict[str, Any] = {}

    def of(self, thread: str) -> Any:
        if thread not in self._made:
            self._made[thread] = self._new(thread)
        return self._made[thread]

    async def disposed(self) -> None:
        """Close the databases of stock memories, whose threads would outlive the event loop."""
        for made in self._made.values():
            if isinstance(made, Memory) and isinstance(made.sql_store, SQLAlchemyChatStore):
                engine, _ = await made.sql_store._setup_connections()  # noqa: SLF001 - no other way
                await engine.dispose()

    def _new(self, thread: str) -> Any:
        if self._around.chat_memory is not None:
            return self._around.chat_memory(thread, self._around)
        limit = self._around.task.max_tokens
        budget: dict[str, Any] = {} if limit is None else {"token_limit": limit}
        match self._around.system:
            case "ours":
                return HybridChatMemory.from_defaults(memory=self._around.memory, user=USER, session=thread, **budget)
            case "stock":
                return Memory.from_defaults(session_id=thread, **budget)
        return ChatMemoryBuffer.from_defaults(token_limit=ENDLESS)


def _model(around: Surroundings) -> ScriptedLLM:
    return ScriptedLLM(watched=around.watched, told=around.task.window)


def _message(step: Say) -> ChatMessage:
    data = base64.b64decode(encoded(step.media, document=step.document))
    shown = (
        DocumentBlock(data=data, document_mimetype=DOCUMENT, title="notes.txt")
        if step.document
        else ImageBlock(image=data, image_mimetype=PICTURE)
    )
    return ChatMessage(role="user", blocks=[TextBlock(text=step.text), shown])
