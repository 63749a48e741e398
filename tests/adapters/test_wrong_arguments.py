"""What every class of both adapters refuses when it is made, and what it says to do."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

import langchain_hybrid_memory as lc
import llamaindex_hybrid_memory as li
from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError, InvalidScopeError, MissingDependencyError
from tests.world import cases

URL = "sqlite:///memory.db"
NAIVE = datetime(2026, 5, 1)  # noqa: DTZ001 - without a zone on purpose
MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
WHOSE = {"user": "ann", "session": "monday"}

MADE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "lc chat": (lc.HybridChatMemory, WHOSE),
    "lc history": (lc.HybridChatMessageHistory, WHOSE),
    "lc document compressor": (lc.HybridDocumentCompressor, {}),
    "lc middleware": (lc.HybridMemoryMiddleware, WHOSE),
    "lc retriever": (lc.HybridMemoryRetriever, WHOSE),
    "lc store": (lc.HybridMemoryStore, {}),
    "lc tools": (lc.memory_tools, WHOSE),
    "li chat": (li.HybridChatMemory.from_defaults, WHOSE),
    "li chat store": (li.HybridChatStore.from_defaults, {"user": "ann"}),
    "li block": (li.HybridMemoryBlock.from_defaults, {"user": "ann"}),
    "li compression": (li.CompressionPostprocessor, {}),
    "li retriever": (li.HybridMemoryRetriever, WHOSE),
    "li tools": (li.HybridMemoryToolSpec, WHOSE),
}

with suppress(MissingDependencyError):  # deep agents want a newer LangChain than the oldest that we admit
    MADE["lc backend"] = (lc.HybridMemoryBackend, {"user": "ann"})


BY_URL = [name for name in MADE if name.startswith("li") and name != "li compression"]
"""What opens a store by its URL."""


@pytest.fixture(scope="module")
def memory() -> Iterator[HybridMemory]:
    """One for all: nothing is written."""
    with open_memory(MemoryConfig(url="memory://", embedder="none")) as opened:
        yield opened


def public(module: Any) -> set[Any]:
    backend = set() if "lc backend" in MADE else {"HybridMemoryBackend"}
    return {value for name in set(module.__all__) - backend if isinstance(value := getattr(module, name), type)}


def test_no_class_is_left_out() -> None:
    made = {getattr(make, "__self__", make) for make, _ in MADE.values()}
    assert public(lc) | public(li) <= made


@pytest.mark.parametrize("name", MADE)
def test_a_url_in_place_of_a_memory_is_answered_with_what_to_give(name: str) -> None:
    make, given = MADE[name]
    with pytest.raises((InvalidInputError, ValidationError), match=r"memory\n?.*must be|should be") as error:
        make(memory=URL, **given)
    assert "open_memory(url)" in str(error.value) or "url=" in str(error.value)


@pytest.mark.parametrize("wrong", ["memory.db", "C:\\memory", "", 7], ids=repr)
@pytest.mark.parametrize("name", BY_URL)
def test_what_is_no_url_is_refused_before_it_is_opened(name: str, wrong: Any) -> None:
    make, given = MADE[name]
    with pytest.raises((InvalidInputError, ValidationError), match="url"):
        make(url=wrong, **given)


KEPT = ("li chat", "li chat store", "li block")
"""What LlamaIndex keeps as plain data."""

WRONG: list[tuple[str, dict[str, Any], str]] = [
    *cases("adapters/wrong_arguments.json", "wrong"),
    *((name, {"user": 7}, "user") for name, (_, given) in MADE.items() if given),
    *((name, {"user": ""}, "user") for name, (_, given) in MADE.items() if given),
    *((name, {"user": None}, "no (?:user|owner)") for name in MADE if name in KEPT),
    *((name, {"sesion": "s1"}, "sesion") for name in MADE if name in KEPT),
    *((name, {"url": URL}, "not both") for name in BY_URL),
    *((name, {"session": "a\x00"}, "session") for name, (_, given) in MADE.items() if "session" in given),
    ("lc retriever", {"since": NAIVE}, "since"),
    ("lc retriever", {"since": JUNE, "until": MAY}, "since .* is after until"),
    ("li retriever", {"since": NAIVE}, "since"),
    ("li retriever", {"since": JUNE, "until": MAY}, "since .* is after until"),
]


@pytest.mark.parametrize(("name", "wrong", "told"), WRONG, ids=[f"{name} {wrong}" for name, wrong, _ in WRONG])
def test_what_is_wrong_is_refused_when_given(memory: HybridMemory, name: str, wrong: dict[str, Any], told: str) -> None:
    make, given = MADE[name]
    make(memory=memory, **given)
    with pytest.raises((InvalidInputError, ValidationError), match=told):
        make(memory=memory, **{**given, **wrong})


@pytest.mark.parametrize("make", [lc.HybridMemoryMiddleware, lc.HybridChatMessageHistory, lc.memory_tools])
def test_a_malformed_name_is_an_error_of_the_scope(memory: HybridMemory, make: Callable[..., Any]) -> None:
    with pytest.raises(InvalidScopeError):
        make(memory, user="")


@pytest.mark.parametrize("tool", range(5))
def test_the_arguments_of_a_tool_are_seen(memory: HybridMemory, tool: int) -> None:
    theirs = lc.memory_tools(memory, user="ann")[tool]
    ours = li.HybridMemoryToolSpec(memory=memory, user="ann").to_tool_list()[tool]
    schema = ours.metadata.get_parameters_dict()["properties"]
    assert list(theirs.args) == list(schema)
    assert all("description" in argument for argument in schema.values())
