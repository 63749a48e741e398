"""What LlamaIndex's own tests expect of a memory, as scenarios: for ours, and for the stock one on top of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import (
    BaseMemory,
    BaseMemoryBlock,
    InsertMethod,
    Memory,
)
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.tools import FunctionTool
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
Run = Callable[..., Any]
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


class TestReadingAndWriting:
    async def test_put_get_set_and_reset(self, make: Make) -> None:
        memory = make()
        with blockbuster_ctx():
            await self.used(memory)

    async def used(self, memory: BaseMemory) -> None:
        await memory.aput(user("hi"))
        await memory.aput_messages([assistant("hello"), user("how are you?")])
        assert await memory.aget_all() == [user("hi"), assistant("hello"), user("how are you?")]
        assert spoken(await memory.aget()) == await memory.aget_all()

        await memory.aset([user("other"), assistant("words")])
        assert await memory.aget_all() == [user("other"), assistant("words")]
        await memory.aput(user("more"))
        assert words(await memory.aget_all()) == ["other", "words", "more"]

        await memory.areset()
        assert await memory.aget_all() == []
        await memory.aput(user("new"))
        assert words(await memory.aget_all()) == ["new"]

    async def test_the_blocking_face_works_inside_a_running_loop(self, make: Make) -> None:
        memory = make()
        if isinstance(memory, Memory) and not isinstance(memory.sql_store, HybridChatStore):
            pytest.skip("the stock store binds its connection to the first loop")
        memory.put(user("hi"))
        memory.put_messages([assistant("hello"), user("how are you?")])
        assert memory.get_all() == await memory.aget_all() == [user("hi"), assistant("hello"), user("how are you?")]
        assert spoken(memory.get()) == memory.get_all()
        memory.set([user("other")])
        assert memory.get_all() == [user("other")]
        memory.reset()
        assert memory.get_all() == []


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


class TestQueue:
    """What the stock ``Memory`` makes of our store."""

    @pytest.fixture
    def chats(self, store: HybridMemory) -> HybridChatStore:
        return HybridChatStore.from_defaults(user="alice", memory=store)

    async def test_a_seeded_history_is_set_outside_a_loop_and_inside(self, chats: HybridChatStore) -> None:
        inside = Memory.from_defaults(session_id="in", chat_history=turns(1), chat_store=chats)
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(Memory.from_defaults, session_id="out", chat_history=turns(2), chat_store=chats)
            outside = await asyncio.wrap_future(making)

        assert await inside.aget_all() == turns(1)
        assert await outside.aget_all() == turns(2)


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

    def test_of_several_threads_with_loops_of_their_own(self, store: HybridMemory) -> None:
        chats = HybridChatStore.from_defaults(user="alice", memory=store)
        memories: list[BaseMemory] = [
            Memory.from_defaults(session_id="s1", chat_store=chats),
            HybridChatMemory.from_defaults(user="alice", session="s2", memory=store),
        ]
        for memory in memories:
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda n, to=memory: asyncio.run(to.aput(user(str(n)))), range(12)))
                list(pool.map(lambda n, to=memory: to.put(user(str(n))), range(12, 24)))
            assert sorted(words(memory.get_all()), key=int) == list(map(str, range(24)))


class TestScopes:
    async def recalled(self, memory: BaseMemory) -> str:
        return "\n".join(words(await memory.aget(input="what is the code of the safe?")))

    async def test_nobody_is_told_what_others_said(self, make: Make) -> None:
        alice, again, bob = make(limit=300), make(limit=300, session="s2"), make(limit=300, user="bob", session="s3")
        await alice.aput_messages([user("The code of the safe is 4711."), assistant("Noted."), *turns(30)])
        await again.aput(user("Hello."))
        await bob.aput(user("Hello."))

        assert "4711" not in await self.recalled(bob)
        if not isinstance(alice, Memory) or alice.memory_blocks:
            assert "4711" in await self.recalled(again)


class TestBlocks:
    @pytest.fixture
    async def block(self, store: HybridMemory) -> HybridMemoryBlock:
        await store.scoped(user="alice", session="s0").aremember(["My cat is called Pixel.", "I work as a nurse."])
        return HybridMemoryBlock.from_defaults(user="alice", memory=store, token_limit=100)

    @pytest.fixture
    def host(self, block: HybridMemoryBlock, engines: Callable[[], AsyncEngine]) -> Callable[..., Memory]:
        def make(*others: BaseMemoryBlock[Any], **wanted: Any) -> Memory:
            blocks = [block, *others]
            return Memory.from_defaults(session_id="s1", memory_blocks=blocks, async_engine=engines(), **wanted)

        return make

    @pytest.mark.parametrize("method", list(InsertMethod))
    async def test_it_is_inserted_where_the_host_wants_it(
        self, host: Callable[..., Memory], method: InsertMethod
    ) -> None:
        memory = host(insert_method=method)
        await memory.aput_messages([user("hi"), assistant("hello"), user("what is my cat called?")])

        shown = await memory.aget()

        place = 0 if method is InsertMethod.SYSTEM else -1
        assert roles(shown) == ["user", "assistant", "user"]
        assert shown[place].role.value == method.value
        assert ["Pixel" in (message.content or "") for message in shown].count(True) == 1
        assert "Pixel" in (shown[place].content or "")
        assert [len(message.blocks) for message in await memory.aget_all()] == [1, 1, 1]

    @pytest.mark.parametrize("priority", [0, 1, 2])
    async def test_at_the_limit_it_loses_lines_and_never_half_a_line(
        self, store: HybridMemory, engines: Callable[[], AsyncEngine], priority: int
    ) -> None:
        block = HybridMemoryBlock.from_defaults(
            user="alice", memory=store, token_limit=200, priority=priority, profile=""
        )
        facts = [f"My cat number {n} is called Pixel the {n}th of Bern." for n in range(8)]
        await store.scoped(user="alice", session="s0").aremember(facts)
        memory = Memory.from_defaults(
            session_id="s1",
            token_limit=100,
            chat_history_token_ratio=0.9,
            memory_blocks=[block],
            async_engine=engines(),
        )
        await memory.aput(user("what is my cat called?"))

        text = words(await memory.aget())[0]

        lines = [line for line in text.splitlines() if line.startswith(("- ", "["))]
        shown = [words for line in lines for words in line.partition("] ")[2].removeprefix("user: ").split(" / ")]
        assert set(shown) <= set(facts)
        assert len(shown) == len(set(shown)) > 0
        assert priority == 0 or len(shown) < 5


class TestOurChatMemory:
    async def test_the_question_may_be_a_message(self, store: HybridMemory) -> None:
        await store.scoped(user="alice", session="s0").aremember("My cat is called Pixel.")
        chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store)

        assert await chat.aget(input=user("my cat?")) == await chat.aget(input="my cat?")
        assert "Pixel" in (await chat.aget(input=user("my cat?")))[0].content  # type: ignore[operator]


class TestAgentsAndEngines:
    """The stock ``Memory`` with our block and our store, as agents and chat engines use it."""

    @pytest.fixture
    async def memory(self, store: HybridMemory) -> Memory:
        await store.scoped(user="alice", session="s0").aremember(["My cat is called Pixel.", "I live in Bern."])
        block = HybridMemoryBlock.from_defaults(user="alice", memory=store, profile="")
        chats = HybridChatStore.from_defaults(user="alice", memory=store)
        return Memory.from_defaults(
            session_id="s1", chat_store=chats, memory_blocks=[block], insert_method=InsertMethod.USER
        )

    async def test_an_agent_recalls_once_a_run_and_leaks_no_state(
        self, memory: Memory, scripted: Callable[..., Any], recollections: list[str]
    ) -> None:
        tool = FunctionTool.from_defaults(fn=lambda: "rain", name="weather", description="The weather.")
        llm = scripted(call(1), call(2), "Pixel is inside, it rains.")
        agent = FunctionAgent(llm=llm, tools=[tool], initial_state={"mood": "secret"})

        with blockbuster_ctx():
            await agent.run("where is my cat?", memory=memory)

        assert recollections == ["where is my cat?"]
        assert all("My cat is called Pixel." in str(prompt) for prompt in llm.seen)
        kept = await memory.aget_all()
        assert roles(kept) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert "secret" not in str(kept)
        assert kept[0] == user("where is my cat?")

    def test_a_chat_engine_outside_a_loop(self, memory: Memory, scripted: Callable[..., Any]) -> None:
        llm = scripted("Pixel.", "Bern.")
        engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        engine.chat("what is my cat called?")
        engine.chat("where do I live?")

        assert ["Pixel" in str(llm.seen[0]), "I live in Bern." in str(llm.seen[1][-1])] == [True, True]
        assert words(engine.chat_history) == ["what is my cat called?", "Pixel.", "where do I live?", "Bern."]
        engine.reset()
        assert engine.chat_history == []
