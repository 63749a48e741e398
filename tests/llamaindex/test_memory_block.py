import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from hybrid_memory import HybridMemory, Message
from hybrid_memory.context.layout import MEMORY_HEADINGS
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.text.tokens import estimate_tokens
from llamaindex_hybrid_memory import HybridChatStore, HybridMemoryBlock, from_chat_message
from llamaindex_hybrid_memory.memory_block import fresh
from tests.doubles import line_to
from tests.llamaindex.conftest import assistant, user

HEADING = MEMORY_HEADINGS["en"]

LOGGER = "llamaindex_hybrid_memory"


def chatter(count: int, start: int = 0) -> list[ChatMessage]:
    numbers = range(start, start + count)
    return [turn for n in numbers for turn in (user(f"How much is {n} and one?"), assistant(f"It is {n + 1}, friend."))]


def written(store: HybridMemory) -> list[Message]:
    return store.scoped(user="alice", session="s1").history()


def texts(messages: Sequence[Any]) -> list[str]:
    return [message.content or "" for message in messages]


def flush(block: HybridMemoryBlock, messages: list[ChatMessage], session: str = "s1") -> Awaitable[None]:
    """As the stock ``Memory`` does it."""
    copies = [message.model_copy(deep=True) for message in messages]
    return block.aput(copies, from_short_term_memory=True, session_id=session)


def ask(block: HybridMemoryBlock, *queue: ChatMessage, session: str = "s1") -> Awaitable[str]:
    return block.aget(list(queue), session_id=session)


@pytest.fixture(autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    with blockbuster_ctx() as blockbuster:
        # LlamaIndex reads its tokenizer's tables where it stands.
        for function in blockbuster.functions.values():
            function.can_block_in("llama_index/core/utils.py", {"get_tokenizer"})
        yield


@pytest.fixture
def block(store: HybridMemory) -> HybridMemoryBlock:
    return HybridMemoryBlock.from_defaults(user="alice", memory=store)


@pytest.fixture
def broken(store: HybridMemory) -> Callable[[bool], None]:
    """Lets the store fail, or not any more."""
    log = line_to(store, "log")
    log.hits = lambda name, _: name == "append"
    return lambda broken: setattr(log, "error", StoreUnavailableError("the disk is full") if broken else None)


class TestWhatIsFlushed:
    @settings(max_examples=25)
    @given(cuts=st.lists(st.integers(1, 5), max_size=6), again=st.lists(st.integers(0, 6), max_size=4))
    def test_any_cuts_keep_everything_in_order(self, cuts: list[int], again: list[int]) -> None:
        log: list[Message] = []
        said = [from_chat_message(chat) for chat in chatter(15)]
        stretches, start = [], 0
        for size in cuts:
            stretches.append(said[start : start + 2 * size])
            start += 2 * size
        for number, stretch in enumerate(stretches):
            log += fresh(log, stretch)
            for back in again:
                log += fresh(log, stretches[min(back, number)])

        assert texts(log) == texts(said[:start])
        assert len({message.id for message in log}) == len(log)

    async def test_what_the_chat_store_holds_is_not_written_again(
        self, block: HybridMemoryBlock, store: HybridMemory
    ) -> None:
        chat_store = HybridChatStore.from_defaults(user="alice", memory=store)
        memory = Memory.from_defaults(
            session_id="s1", token_limit=200, token_flush_size=40, memory_blocks=[block], chat_store=chat_store
        )
        for message in chatter(20):
            await memory.aput(message)

        assert texts(written(store)) == texts(chatter(20))

    async def test_one_that_cannot_be_stored_does_not_take_the_others_along(
        self, block: HybridMemoryBlock, store: HybridMemory, caplog: pytest.LogCaptureFixture
    ) -> None:
        await flush(block, [user("a"), user("\ud800"), user("b")])

        assert texts(written(store)) == ["a", "b"]
        assert "cannot hold" in caplog.text


class TestAFailingStore:
    async def test_nothing_is_raised_and_nothing_lost(
        self,
        block: HybridMemoryBlock,
        store: HybridMemory,
        broken: Callable[[bool], None],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
        memory = Memory.from_defaults(
            session_id="s1", token_limit=150, token_flush_size=40, memory_blocks=[block], async_engine=engine
        )
        with caplog.at_level(logging.WARNING, LOGGER):
            broken(True)
            for message in chatter(8):
                await memory.aput(message)
            assert "the disk is full" in caplog.text
            assert written(store) == []
            broken(False)
            for message in chatter(8, start=8):
                await memory.aput(message)

        left = len(await memory.aget_all()) - len(written(store))
        assert 0 < left < 16
        assert texts(written(store)) == texts(chatter(16))[:-left]
        await engine.dispose()


class TestContent:
    async def test_profile_summary_and_what_is_recalled(self, store: HybridMemory) -> None:
        block = HybridMemoryBlock.from_defaults(user="alice", memory=store, token_limit=300)
        await flush(block, [user("My name is Anna. My cat is called Pixel."), assistant("Noted.")], "s0")
        await flush(block, [user("We decided to paint the house blue."), assistant("Blue it is."), *chatter(20)])

        text = await ask(block, user("what is my cat called?"))

        assert estimate_tokens(text) <= 300
        profile, summary, note = text.split("\n\n")
        assert profile.startswith("<user_profile>\n")
        assert "My name is Anna." in profile
        assert summary.startswith("<summary>\n")
        assert "paint the house blue" in summary
        assert note.startswith(f"<memory>\n{HEADING}")
        assert "My cat is called Pixel." in note
