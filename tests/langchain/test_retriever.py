"""What a memory recalls, as LangChain's documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from hybrid_memory.errors import InvalidInputError, InvalidScopeError
from langchain_hybrid_memory import HybridMemoryRetriever

if TYPE_CHECKING:
    from tests.faces import Open

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
Ask = Callable[..., list[Document]]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Invokes a retriever, blocking or on a loop that must not be blocked."""

    def later(retriever: BaseRetriever, query: str, **options: Any) -> list[Document]:
        return asyncio.run(retriever.ainvoke(query, **options))

    if request.param == "sync":
        yield lambda retriever, query, **options: retriever.invoke(query, **options)
    else:
        with blockbuster_ctx():
            yield later


@pytest.fixture
def told(memory: HybridMemory) -> HybridMemory:
    """Alice's two sessions, and Bob's one."""
    alice = memory.scoped(user="alice", session="s1")
    alice.remember("My sister lives in Lisbon.", at=MAY, id="m1", metadata={"topic": "family", "score": "high"})
    alice.remember("My cat sleeps on the sofa.", role="assistant", at=MAY.replace(month=6), metadata={"topic": "pets"})
    memory.scoped(user="alice", session="s2").remember("我妹妹住在里斯本。", at=MAY.replace(month=7))
    memory.scoped(user="bob").remember("My sister lives in Porto.")
    return memory


def contents(documents: list[Document]) -> set[str]:
    return {document.page_content for document in documents}


def test_a_document_says_what_and_why(told: HybridMemory, ask: Ask) -> None:
    retriever = HybridMemoryRetriever(memory=told, user="alice", k=1)
    (found,) = ask(retriever, "Where does my sister live?")
    (hit,) = told.scoped(user="alice").recall("Where does my sister live?", k=1)
    assert (found.page_content, found.id) == ("My sister lives in Lisbon.", "m1")
    assert found.metadata["score"] == pytest.approx(hit.score)
    assert found.metadata["signals"].keys() == asdict(hit.signals).keys()
    assert "; from m1; fact ('Where'); vector 48; text 48" in found.metadata["why"]
    rest = {key: value for key, value in found.metadata.items() if key not in ("score", "signals", "why")}
    assert rest == {
        "topic": "family",
        "speaker": "user",
        "at": "2024-05-01T12:00:00+00:00",
        "sources": ["m1"],
        "kind": "turn",
        "session": "s1",
    }
    assert json.loads(json.dumps(found.metadata)) == found.metadata


def test_documents_can_be_changed_without_harm(told: HybridMemory, ask: Ask) -> None:
    retriever = HybridMemoryRetriever(memory=told, user="alice", k=1)
    ask(retriever, "sister")[0].metadata["topic"] = "changed"
    assert ask(retriever, "sister")[0].metadata["topic"] == "family"


def test_only_the_owners_memory_is_found(told: HybridMemory, ask: Ask) -> None:
    everything = ask(HybridMemoryRetriever(memory=told, user="alice", k=9), "sister 妹妹")
    assert contents(everything) == {"My sister lives in Lisbon.", "My cat sleeps on the sofa.", "我妹妹住在里斯本。"}
    assert contents(ask(HybridMemoryRetriever(memory=told, user="carol"), "sister")) == set()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"within": "session"}, ["My sister lives in Lisbon.", "My cat sleeps on the sofa."]),
        ({"since": MAY.replace(month=7)}, ["我妹妹住在里斯本。"]),
        ({"until": MAY.replace(month=6)}, ["My sister lives in Lisbon."]),
        ({"filter": {"topic": "pets"}}, ["My cat sleeps on the sofa."]),
        ({"kinds": ["fact"]}, []),
        ({"k": 1}, ["My sister lives in Lisbon."]),
    ],
    ids=str,
)
def test_filters_count_in_the_constructor_and_in_the_call(
    told: HybridMemory, ask: Ask, options: dict[str, Any], expected: list[str]
) -> None:
    fixed = HybridMemoryRetriever(memory=told, user="alice", session="s1", **options)
    assert contents(ask(fixed, "My sister lives where?")) == set(expected)
    free = HybridMemoryRetriever(memory=told, user="alice", session="s1")
    assert contents(ask(free, "My sister lives where?", **options)) == set(expected)


def test_weights_are_handed_on(told: HybridMemory, ask: Ask) -> None:
    words = HybridMemoryRetriever(memory=told, user="alice", weights=Weights(vector=0, text=1, neighbours=0, segment=0))
    assert " vector" not in ask(words, "sister", k=1)[0].metadata["why"].split(";")[0]


def test_shared_spaces_are_searched_and_named(told: HybridMemory, ask: Ask) -> None:
    team = told.scoped(user="alice").create_space("team")
    team.remember("The sister project launches on Friday.")
    retriever = HybridMemoryRetriever(memory=told, user="alice", spaces=["team"])
    (shared,) = [found for found in ask(retriever, "sister project") if "space" in found.metadata]
    assert shared.metadata["space"] == "team"
    assert "alice" in shared.metadata["author"]


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_question_finds_nothing(told: HybridMemory, ask: Ask, query: str) -> None:
    assert ask(HybridMemoryRetriever(memory=told, user="alice"), query) == []


def test_what_is_wrong_is_refused(told: HybridMemory, ask: Ask) -> None:
    with pytest.raises(InvalidScopeError, match="whose memory"):
        HybridMemoryRetriever(memory=told)
    with pytest.raises(ValidationError, match="limit"):
        HybridMemoryRetriever(memory=told, user="alice", limit=3)  # type: ignore[call-arg]
    retriever = HybridMemoryRetriever(memory=told, user="alice")
    with pytest.raises(InvalidInputError, match="no filter limit"):
        ask(retriever, "sister", limit=3)
    with pytest.raises(InvalidInputError, match="k must be"):
        ask(retriever, "sister", k=0)


async def test_it_runs_in_a_chain(told: HybridMemory) -> None:
    retriever = HybridMemoryRetriever(memory=told, user="alice", k=1)
    chain = retriever | RunnableLambda(contents)
    assert chain.invoke("sister in Lisbon") == {"My sister lives in Lisbon."}
    assert await chain.abatch(["sister in Lisbon", "cat on the sofa"]) == [
        {"My sister lives in Lisbon."},
        {"My cat sleeps on the sofa."},
    ]
    events = [event["event"] async for event in retriever.astream_events("sister", version="v2")]
    assert (events[0], events[-1]) == ("on_retriever_start", "on_retriever_end")


SHARED = open_memory(MemoryConfig(url="memory://", embedder="hashing"))
SHARED.scoped(user="alice").remember(
    ["My cat sleeps.", "It rains in Berlin.", "The launch is on Friday.", "我住在上海。"]
)


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own tests."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HybridMemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": SHARED, "user": "alice"}

    @property
    def retriever_query_example(self) -> str:
        return "Where is the cat?"


def test_a_store_is_read_again_after_a_restart(opened: Open, ask: Ask) -> None:
    with opened() as memory:
        memory.scoped(user="alice").remember("My sister lives in Lisbon.")
    (found,) = ask(HybridMemoryRetriever(memory=opened(), user="alice"), "sister")
    assert found.page_content == "My sister lives in Lisbon."
