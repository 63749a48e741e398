from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.documents.items import FindItems
from hybrid_memory.errors import InvalidMessageError, InvalidScopeError
from llamaindex_hybrid_memory import HybridBufferStore, HybridChatMemory, HybridChatStore
from llamaindex_hybrid_memory.keyed_log import AGENT
from tests.llamaindex.conftest import Run, words

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

    @settings(max_examples=16)
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

    @pytest.mark.parametrize(
        ("ours", "base"), [(HybridChatStore, AsyncDBChatStore), (HybridBufferStore, BaseChatStore)]
    )
    def test_every_method_of_the_interface_has_the_same_arguments(self, ours: type[Any], base: type[Any]) -> None:
        names = [name for name in vars(base) if "message" in name or "keys" in name]
        assert len(names) in (10, 14)
        for name in names:
            theirs = list(inspect.signature(getattr(base, name)).parameters)
            assert list(inspect.signature(getattr(ours, name)).parameters) == theirs, name


class TestMessages:
    async def test_what_is_returned_can_be_changed_without_harm(self, chats: HybridChatStore) -> None:
        await chats.add_message("k", ChatMessage(role="user", content="hi", additional_kwargs={"list": [1]}))
        for found in (await chats.get_messages("k"), await chats.archive_oldest_messages("k", 1)):
            found[0].blocks[0].text = "changed"  # type: ignore[union-attr]
            found[0].additional_kwargs["list"].append(2)
            found.clear()

        (kept,) = await chats.get_messages("k", None)
        assert kept.content == "hi"
        assert kept.additional_kwargs == {"list": [1]}

    async def test_a_page(self, chats: HybridChatStore) -> None:
        await chats.add_messages("k", said(*"abcdef"))
        await chats.archive_oldest_messages("k", 2)

        assert words(await chats.get_messages("k", limit=2)) == ["c", "d"]
        assert words(await chats.get_messages("k", limit=2, offset=1)) == ["d", "e"]
        assert words(await chats.get_messages("k", None, offset=4)) == ["e", "f"]
        assert await chats.get_messages("k", offset=9) == []
        assert await chats.get_messages("k", limit=0) == []

    @pytest.mark.parametrize("count", [0, 1, 20, 149, 151, 399, 500])
    async def test_a_queue_of_any_length_behind_what_is_archived(self, chats: HybridChatStore, count: int) -> None:
        texts = [str(n) for n in range(500)]
        await chats.add_messages("k", said(*texts))
        await chats.archive_oldest_messages("k", 10)
        await chats.archive_oldest_messages("k", max(0, count - 10))
        await chats.add_message("k", said("put away")[0], ARCHIVED)
        archived = max(10, count)

        assert words(await chats.get_messages("k")) == texts[archived:]
        assert words(await chats.get_messages("k", ARCHIVED)) == [*texts[:archived], "put away"]

    async def test_one_can_be_deleted_by_its_place(self, chats: HybridChatStore) -> None:
        await chats.add_messages("k", said(*"abc"))
        await chats.archive_oldest_messages("k", 1)

        gone = await chats.delete_message("k", 1)

        assert gone == said("b")[0]
        assert await chats.delete_message("k", 2) is None
        assert await chats.delete_message("k", -1) is None
        assert words(await chats.get_messages("k", None)) == ["a", "c"]
        assert words(await chats.get_messages("k", ARCHIVED)) == ["a"]

    async def test_nothing_leaves_the_log(self, chats: HybridChatStore, store: HybridMemory) -> None:
        await chats.add_messages("k", said("My cat is called Pixel.", "b", "c", "d"))
        await chats.archive_oldest_messages("k", 1)
        await chats.delete_oldest_messages("k", 1)
        await chats.set_messages("k", said("x"))
        await chats.delete_messages("k")

        scoped = store.scoped(user="alice", session="k")
        assert [message.text for message in scoped.history()] == ["My cat is called Pixel.", "b", "c", "d", "x"]
        assert scoped.history(current=True) == []
        assert "Pixel" in scoped.recall("what is the cat called?", k=1)[0].record.text

    async def test_a_history_sent_with_every_request_is_stored_once(
        self, chats: HybridChatStore, store: HybridMemory
    ) -> None:
        history = said(*"abc")
        for _ in range(3):
            await chats.set_messages("k", history)
            await chats.archive_oldest_messages("k", 2)
            await chats.set_messages("k", history)
            assert await chats.get_messages("k") == history

        assert len(store.scoped(user="alice", session="k").history()) == 3

    async def test_a_message_that_cannot_be_stored_changes_nothing(self, chats: HybridChatStore) -> None:
        await chats.add_messages("k", said("a", "b"))
        await chats.archive_oldest_messages("k", 1)
        for change in (chats.add_messages, chats.set_messages):
            with pytest.raises(InvalidMessageError):
                await change("k", said("c", "\ud800"))

        assert words(await chats.get_messages("k")) == ["b"]
        assert words(await chats.get_messages("k", ARCHIVED)) == ["a"]

    async def test_an_archived_turn_stays_in_the_session(self, chats: HybridChatStore, store: HybridMemory) -> None:
        await chats.add_messages("k", said("a", "b"))
        await chats.archive_oldest_messages("k", 1)

        same = HybridChatMemory.from_defaults(user="alice", session="k", memory=store)
        assert words(await same.aget_all()) == ["a", "b"]


class TestKeys:
    async def test_keys_that_hold_something(self, chats: HybridChatStore, store: HybridMemory) -> None:
        await chats.add_messages("s2", said("a"))
        await chats.add_messages("s1", said("a"))
        await chats.add_messages("s3", [])
        await chat_store(store, "bob").add_messages("s4", said("a"))
        await chats.delete_messages("s2")

        assert await chats.get_keys() == ["s1"]
        assert await chat_store(store).get_keys() == ["s1"]
        assert HybridBufferStore.from_defaults(user="alice", memory=store).get_keys() == ["s1"]

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

    def test_threads_may_share_one(self, store: HybridMemory) -> None:
        buffer = HybridBufferStore.from_defaults(user="alice", memory=store)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: buffer.add_message("k", said(str(n))[0]), range(60)))

        assert sorted(words(buffer.get_messages("k"))) == sorted(map(str, range(60)))


class TestTheBufferStore:
    def test_it_does_as_the_stock_one(self, store: HybridMemory, run: Run) -> None:
        pair = (HybridBufferStore.from_defaults(user="alice", memory=store), SimpleChatStore())
        steps: list[tuple[Any, ...]] = [
            ("get_messages", "k"),
            ("add_message", "k", said("a")[0]),
            ("set_messages", "k", said(*"abcde")),
            ("get_messages", "k"),
            ("delete_message", "k", 1),
            ("delete_message", "k", 9),
            ("delete_last_message", "k"),
            ("get_messages", "k"),
            ("get_keys",),
            ("add_message", "k", said("f")[0]),
            ("get_messages", "k"),
            ("delete_messages", "k"),
            ("get_messages", "k"),
            ("delete_last_message", "k"),
            ("get_keys",),
        ]
        for step in steps:
            ours, stock = [run(each, *step) for each in pair]
            assert ours == stock, step

    def test_it_backs_the_chat_memory_buffer(self, store: HybridMemory, run: Run) -> None:
        buffer = HybridBufferStore.from_defaults(user="alice", memory=store)
        memory = ChatMemoryBuffer.from_defaults(chat_store=buffer, chat_store_key="s1", token_limit=1000)
        run(memory, "put", said("hi")[0])
        run(memory, "set", said("hi", "there"))

        again = ChatMemoryBuffer.from_defaults(chat_store=buffer, chat_store_key="s1")
        assert run(again, "get") == run(again, "get_all") == said("hi", "there")
        run(memory, "reset")
        assert run(again, "get_all") == []
        assert len(store.scoped(user="alice", session="s1").history()) == 2

    async def test_both_stores_show_the_same(self, store: HybridMemory, chats: HybridChatStore) -> None:
        buffer = HybridBufferStore.from_defaults(user="alice", memory=store)
        await chats.add_messages("k", said("a", "b"))
        await chats.archive_oldest_messages("k", 1)

        assert await buffer.aget_messages("k") == said("a", "b")
        await buffer.async_add_message("k", said("c")[0])
        assert await chats.get_messages("k") == said("b", "c")


class TestBinding:
    async def test_a_key_that_is_none_is_refused(self, chats: HybridChatStore) -> None:
        for key in ("", "x" * 5000):
            with pytest.raises(InvalidScopeError):
                await chats.add_messages(key, said("a"))
        assert await chats.get_keys() == []

    async def test_a_store_of_nobody_fails(self, store: HybridMemory) -> None:
        with pytest.raises(InvalidScopeError):
            await HybridChatStore(url=chat_store(store).url).get_messages("k")


@pytest.fixture
def memory(chats: HybridChatStore) -> Memory:
    return Memory.from_defaults(session_id="s1", token_limit=100, token_flush_size=30, chat_store=chats)


async def test_the_stock_memory_stands_on_it(memory: Memory, chats: HybridChatStore, store: HybridMemory) -> None:
    turns = [ChatMessage(role=role, content=f"{role} {n}") for n in range(20) for role in ("user", "assistant")]
    with blockbuster_ctx():
        for turn in turns:
            await memory.aput(turn)

    active = await memory.aget()
    assert active[0].role == "user"
    assert 0 < len(active) < 40
    assert active == turns[-len(active) :]
    assert await memory.aget_all(status=ARCHIVED) == turns[: -len(active)]
    assert await memory.aget_all() == turns
    assert await Memory.from_defaults(session_id="s1", chat_store=chats).aget_all() == turns
    await memory.areset()
    assert await memory.aget_all() == []
    assert len(store.scoped(user="alice", session="s1").history()) == 40
