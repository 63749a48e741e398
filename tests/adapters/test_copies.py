"""Copies and pickles of what holds a memory: by URL and scope, in this process and in another."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import langchain_hybrid_memory as lc
import llamaindex_hybrid_memory as li
from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError
from tests.faces import Open

FACT = "My sister lives in Lisbon."
QUESTION = "Where does my sister live?"


def li_tools(memory: HybridMemory) -> Any:
    return li.HybridMemoryToolSpec(memory=memory, user="ann", names=["memory_recall"])


CASES: dict[str, tuple[Callable[[HybridMemory], Any], Callable[[Any], str]]] = {
    "lc retriever": (
        lambda memory: lc.HybridMemoryRetriever(memory=memory, user="ann", k=3),
        lambda one: str(one.invoke(QUESTION)[0].page_content),
    ),
    "lc history": (
        lambda memory: lc.HybridChatMessageHistory(memory, user="ann", session="s"),
        lambda one: str(one.messages[0].text),
    ),
    "lc chat": (
        lambda memory: lc.HybridChatMemory(memory=memory, user="ann", session="s"),
        lambda one: str(one.load_memory_variables({"input": QUESTION})),
    ),
    "lc compressor": (
        lambda memory: lc.HybridDocumentCompressor(memory=memory),
        lambda one: f"{one.memory.scoped(user='ann').history()[0].text} {one.max_tokens}",
    ),
    "li retriever": (
        lambda memory: li.HybridMemoryRetriever(memory=memory, user="ann"),
        lambda one: str(one.retrieve(QUESTION)[0].text),
    ),
    "li tools": (li_tools, lambda one: str(one.to_tool_list()[0].call(query=QUESTION).content)),
}


@pytest.fixture
def told(opened: Open) -> HybridMemory:
    memory = opened(embedder="none")
    memory.scoped(user="ann", session="s").remember(FACT)
    memory.scoped(user="ben", session="s").remember("My sister lives in Porto.")
    return memory


WAYS: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "deeply": copy.deepcopy,
    "pickled": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - our own
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_copy_works_on_the_same_store(told: HybridMemory, name: str, way: str) -> None:
    make, use = CASES[name]
    there = WAYS[way](make(told))
    assert FACT in use(there)
    assert "Porto" not in use(there)


def test_a_closed_store_in_a_file_is_opened_again(opened: Open) -> None:
    with opened(embedder="none") as memory:
        memory.scoped(user="ann").remember(FACT)
        pickled = pickle.dumps(lc.HybridMemoryRetriever(memory=memory, user="ann"))
    there = pickle.loads(pickled)  # noqa: S301 - our own
    assert not there.memory.closed
    assert there.memory is not memory
    assert there.invoke(QUESTION)[0].page_content == FACT


def test_nothing_that_is_read_only_is_opened_to_be_written(told: HybridMemory) -> None:
    retriever = lc.HybridMemoryRetriever(memory=told.as_read_only(), user="ann")
    assert copy.deepcopy(retriever).memory is retriever.memory
    with pytest.raises(InvalidConfigError, match="read-only"):
        pickle.dumps(retriever)
