"""Whose memory it is, and in which store: the same for all that LlamaIndex holds as plain data."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from hybrid_memory import HybridMemory
from llamaindex_hybrid_memory import HybridBufferStore, HybridChatMemory, HybridChatStore, HybridMemoryBlock
from llamaindex_hybrid_memory.bound import Bound
from tests.llamaindex.conftest import user, words

CODE = "The code of the safe is 4711."
KINDS: list[type[Bound]] = [HybridChatMemory, HybridChatStore, HybridBufferStore, HybridMemoryBlock]


def made(kind: type[Bound], **whose: Any) -> Any:
    session: dict[str, Any] = {"session": "s1"} if kind is HybridChatMemory else {}
    return kind.from_defaults(**{"user": "alice", **session, **whose})


async def put(one: Any, text: str) -> None:
    if isinstance(one, HybridChatMemory):
        await one.aput(user(text))
    elif isinstance(one, HybridBufferStore):
        await one.async_add_message("s1", user(text))
    elif isinstance(one, HybridChatStore):
        await one.add_message("s1", user(text))
    else:
        await one.aput([user(text)], from_short_term_memory=True, session_id="s1")


async def read(one: Any, question: str = "What is the code of the safe?") -> str:
    if isinstance(one, HybridChatMemory):
        return "\n".join(words(await one.aget(input=question)))
    if isinstance(one, HybridBufferStore):
        return "\n".join(words(await one.aget_messages("s1")))
    if isinstance(one, HybridChatStore):
        return "\n".join(words(await one.get_messages("s1", None)))
    return str(await one.aget([user(question)], session_id="s1"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [{"user": "bob"}, {"tenant": "t"}, {"agent": "a"}], ids=str)
async def test_nobody_else_sees_it(store: HybridMemory, kind: type[Bound], other: dict[str, str]) -> None:
    await put(made(kind, memory=store), CODE)
    assert await read(made(kind, memory=store, **other)) == ""


@pytest.mark.parametrize("kind", KINDS)
async def test_it_travels_as_ids_and_a_url(
    kind: type[Bound], travel: Callable[[Any], Any], sqlite: HybridMemory
) -> None:
    one = made(kind, memory=sqlite)
    await put(one, CODE)
    await read(one)
    assert CODE.encode() not in pickle.dumps(one)
    assert CODE not in one.model_dump_json()
    there = travel(one)
    assert there.model_dump() == one.model_dump()
    assert "4711" in await read(there)
    await put(there, "The safe is red.")
    assert "red" in await read(one, "Which colour is the safe?")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_first_use_of_a_url_does_not_block_the_loop(config: str, kind: type[Bound]) -> None:
    one = made(kind, url=config)
    with blockbuster_ctx():
        await put(one, CODE)
        assert "4711" in await read(one)
