import asyncio
import inspect
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.documents.items import FindItems
from llamaindex_hybrid_memory import HybridChatStore
from llamaindex_hybrid_memory.chat_store import AGENT
from tests.llamaindex.conftest import words

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text) for text in texts]


def chat_store(memory: HybridMemory, user: str = "alice") -> HybridChatStore:
    return HybridChatStore.from_defaults(user=user, memory=memory)


@pytest.fixture
def chats(store: HybridMemory) -> HybridChatStore:
    return chat_store(store)


class TestAsTheStockStore:
    """What the stock store does on one task, ours does; operations are drawn, and the stock store is the oracle."""

    operations = st.lists(
        st.one_of(
            st.tuples(st.just("add_message"), st.sampled_from("abc"), st.sampled_from([ACTIVE, ARCHIVED])),
            st.tuples(st.just("add_messages"), st.sampled_from(["ab", "ca"]), st.sampled_from([ACTIVE, ARCHIVED])),
            st.tuples(st.just("set_messages"), st.sampled_from(["", "a", "abc", "ca"]), st.sampled_from([ACTIVE])),
            st.tuples(st.just("set_messages"), st.sampled_from(["ab", "ca"]), st.sampled_from([ARCHIVED])),
            st.tuples(st.just("delete_messages"), st.sampled_from([None, ACTIVE, ARCHIVED])),
            st.tuples(st.just("delete_oldest_messages"), st.integers(0, 3)),
            st.tuples(st.just("archive_oldest_messages"), st.integers(0, 3)),
        ),
        max_size=8,
    )

    @settings(max_examples=8)
    @given(drawn=operations)
    def test_any_operations(self, drawn: list[tuple[Any, ...]]) -> None:
        async def compare() -> None:
            engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
            with open_memory(MemoryConfig(url="memory://", embedder="none")) as store:
                pair = (chat_store(store), SQLAlchemyChatStore("t", async_engine=engine))
                for name, *arguments in drawn:
                    results = [words(await self.done(stores, name, *arguments)) for stores in pair]
                    assert results[0] == results[1], name
                    for status in (None, ACTIVE, ARCHIVED):
                        ours, stock = [await stores.get_messages("k", status) for stores in pair]
                        assert ours == stock, (name, status)
                        assert await pair[0].count_messages("k", status) == len(stock)
                    ours_keys, stock_keys = [await stores.get_keys() for stores in pair]
                    assert ours_keys == stock_keys
            await engine.dispose()

        asyncio.run(compare())

    @staticmethod
    async def done(store: AsyncDBChatStore, name: str, *arguments: Any) -> Any:
        first, *rest = arguments
        if name == "add_message":
            first = said(first)[0]
        elif name in ("add_messages", "set_messages"):
            first = said(*first)
        return await getattr(store, name)("k", first, *rest)

    def test_every_method_of_the_interface_has_the_same_arguments(self) -> None:
        names = [name for name in vars(AsyncDBChatStore) if "message" in name or "keys" in name]
        assert len(names) == 10
        for name in names:
            theirs = list(inspect.signature(getattr(AsyncDBChatStore, name)).parameters)
            assert list(inspect.signature(getattr(HybridChatStore, name)).parameters) == theirs, name


class TestMessages:
    async def test_one_can_be_deleted_by_its_place(self, chats: HybridChatStore) -> None:
        await chats.add_messages("k", said(*"abc"))
        await chats.archive_oldest_messages("k", 1)

        gone = await chats.delete_message("k", 1)

        assert gone == said("b")[0]
        assert await chats.delete_message("k", 2) is None
        assert await chats.delete_message("k", -1) is None
        assert words(await chats.get_messages("k", None)) == ["a", "c"]
        assert words(await chats.get_messages("k", ARCHIVED)) == ["a"]


class TestKeys:
    @pytest.mark.parametrize(
        "other", [{"user": "bob"}, {"user": "alice", "tenant": "t"}, {"user": "alice", "agent": "a"}]
    )
    async def test_nobody_else_sees_or_changes_it(
        self, chats: HybridChatStore, store: HybridMemory, other: dict[str, str]
    ) -> None:
        await chats.add_messages("k", said("a", "b"))
        await chats.archive_oldest_messages("k", 1)
        stranger = HybridChatStore.from_defaults(**other, memory=store)

        assert await stranger.get_messages("k", None) == []
        assert await stranger.archive_oldest_messages("k", 9) == []
        assert await stranger.delete_oldest_messages("k", 9) == []
        await stranger.delete_messages("k")
        assert words(await chats.get_messages("k", None)) == ["a", "b"]

    async def test_what_stays_when_a_user_is_forgotten_names_nobody(
        self, chats: HybridChatStore, store: HybridMemory
    ) -> None:
        await chats.add_messages("k", said("a", "b"))
        await chats.archive_oldest_messages("k", 1)
        store.forget(user="alice")

        assert await chats.get_messages("k", None) == []
        items = store.items(AGENT).batch([FindItems(limit=99)])[0]
        assert isinstance(items, list)
        assert len(items) == 2
        assert "alice" not in str(items)


class TestConcurrency:
    @pytest.mark.parametrize("kind", ["sqlite", "store"])
    async def test_adding_and_archiving_at_once_lose_nothing(self, kind: str, request: pytest.FixtureRequest) -> None:
        memory: HybridMemory = request.getfixturevalue(kind)
        stores = [chat_store(memory) for _ in range(2)]
        archived: list[str] = []

        async def archive(number: int) -> None:
            archived.extend(words(await stores[number % 2].archive_oldest_messages("k", 2)))

        with blockbuster_ctx():
            await asyncio.gather(
                *(stores[n % 2].add_message("k", said(str(n))[0]) for n in range(30)), *(archive(n) for n in range(5))
            )
            active, put_away, everything = [
                words(await stores[0].get_messages("k", status)) for status in (ACTIVE, ARCHIVED, None)
            ]

        assert sorted(everything) == sorted(map(str, range(30)))
        assert everything == [*put_away, *active]
        assert set(archived) == set(put_away)

    async def test_what_comes_between_the_look_and_the_deletion_is_kept(
        self, chats: HybridChatStore, store: HybridMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await chats.add_messages("k", said("a", "b"))
        session = store.scoped(user="alice", session="k")
        real = ScopedMemory.areset
        late = iter(["c", "d"])

        async def reset(self: ScopedMemory, **wanted: Any) -> None:
            if text := next(late, None):
                await session.aremember(text)
            await real(self, **wanted)

        monkeypatch.setattr(ScopedMemory, "areset", reset)

        assert words(await chats.delete_oldest_messages("k", 1)) == ["a"]
        assert words(await chats.get_messages("k")) == ["b", "c", "d"]
