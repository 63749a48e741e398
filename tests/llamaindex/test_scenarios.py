"""What LlamaIndex's own tests expect of a memory, as scenarios: for ours, and for the stock one on top of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import (
    BaseMemory,
    InsertMethod,
    Memory,
)
from llama_index.core.storage.chat_store.base_db import MessageStatus
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from hybrid_memory import HybridMemory
from hybrid_memory.context.layout import MEMORY_HEADINGS
from llamaindex_hybrid_memory import (
    HybridChatMemory,
    HybridChatStore,
    HybridMemoryBlock,
)
from tests.llamaindex.conftest import assistant, user, words

HEADING = MEMORY_HEADINGS["en"]

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
Make = Callable[..., BaseMemory]


def call(number: int, **arguments: Any) -> ChatMessage:
    block = ToolCallBlock(tool_call_id=f"c{number}", tool_name="weather", tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[block])


def result(number: int, text: str = "rain") -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": f"c{number}"})


def turns(count: int) -> list[ChatMessage]:
    pairs = [
        (user(f"Question number {n}, is it so?"), assistant(f"Answer number {n}, so it is.")) for n in range(count)
    ]
    return [message for pair in pairs for message in pair]


def tool_turns(count: int) -> list[ChatMessage]:
    return [
        message
        for n in range(count)
        for message in (user(f"Weather in town {n}?"), call(n), result(n, f"rain in {n}"), assistant(f"Rain in {n}."))
    ]


def roles(messages: Sequence[ChatMessage]) -> list[str]:
    return [message.role.value for message in messages if message.role is not MessageRole.SYSTEM]


def spoken(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Without summary and notes."""
    bare = []
    for message in messages:
        text = message.content or ""
        if message.role is MessageRole.SYSTEM:
            continue
        noted = text.startswith((HEADING, "\n<memory>", "<memory>"))
        bare.append(user(text.rpartition("\n")[2]) if noted else message)
    return bare


@pytest.fixture
async def engines() -> AsyncIterator[Callable[[], AsyncEngine]]:
    """For the stock store: one connection each, closed after the test."""
    made: list[AsyncEngine] = []

    def make() -> AsyncEngine:
        made.append(create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool))
        return made[-1]

    yield make
    for engine in made:
        await engine.dispose()


@pytest.fixture(params=["chat memory", "block in stock memory", "store of stock memory", "both in stock memory"])
def make(request: pytest.FixtureRequest, store: HybridMemory, engines: Callable[[], AsyncEngine]) -> Make:
    """Makes a memory of the session s1, or another."""

    def chat_memory(limit: int = 3000, session: str = "s1", user: str = "alice") -> BaseMemory:
        return HybridChatMemory.from_defaults(user=user, session=session, memory=store, token_limit=limit)

    def stock(limit: int = 3000, session: str = "s1", user: str = "alice") -> BaseMemory:
        block = HybridMemoryBlock.from_defaults(user=user, memory=store, token_limit=min(limit, 100))
        chats = HybridChatStore.from_defaults(user=user, memory=store)
        wanted: dict[str, Any] = {"token_limit": limit, "token_flush_size": limit // 10, "session_id": session}
        wanted |= {"memory_blocks": [block]} if "store" not in request.param else {}
        wanted |= {"async_engine": engines()} if "block" in request.param else {"chat_store": chats}
        return Memory.from_defaults(**wanted, insert_method=InsertMethod.USER)

    return chat_memory if request.param == "chat memory" else stock


class TestCuts:
    @pytest.mark.parametrize("history", [turns(12), tool_turns(8)], ids=["turns", "tool turns"])
    async def test_the_users_turn_is_the_first_that_is_left(self, make: Make, history: list[ChatMessage]) -> None:
        memory = make(limit=250)
        for message in history:
            await memory.aput(message)
            # In the midst of a round of tools the stock queue may begin anywhere; after an answer it may not.
            if message.role is MessageRole.ASSISTANT and message.content:
                shown = spoken(await memory.aget())
                assert roles(shown)[:1] == ["user"]
                assert shown[-1] == message

        assert len(spoken(await memory.aget())) < len(history)


class TestConcurrentPuts:
    async def test_block_and_store_together_keep_each_message_once(self, store: HybridMemory) -> None:
        block = HybridMemoryBlock.from_defaults(user="alice", memory=store)
        chats = HybridChatStore.from_defaults(user="alice", memory=store)
        memory = Memory.from_defaults(
            session_id="s1", token_limit=100, token_flush_size=30, chat_store=chats, memory_blocks=[block]
        )
        texts = [f"this is the message with number {n}" for n in range(24)]
        await asyncio.gather(*(memory.aput(user(text)) for text in texts))

        kept = [message.text for message in store.scoped(user="alice", session="s1").history()]
        assert kept == words(await memory.aget_all())
        assert sorted(kept) == sorted(texts)
        assert await memory.aget_all(status=ARCHIVED)
