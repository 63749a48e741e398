"""What a memory recalls, as documents of LangChain and nodes of LlamaIndex: the same words, for the same reasons."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from hybrid_memory import HybridMemory, RecordKind
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory import HybridMemoryRetriever as LangChainRetriever
from llamaindex_hybrid_memory import HybridMemoryRetriever as LlamaIndexRetriever

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
SISTER, CAT, CHINESE = "My sister lives in Lisbon.", "My cat sleeps on the sofa.", "我妹妹住在里斯本。"


@dataclass(frozen=True)
class Found:
    text: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Host:
    """A framework's retriever, and how it is asked; LangChain's names for the options stand in ``names``."""

    kind: Any
    ask: Callable[[Any, str], list[Any]]
    text: Callable[[Any], str]
    names: dict[str, str]

    def found(self, memory: HybridMemory, query: str, *, user: str = "alice", **options: Any) -> list[Found]:
        named = {self.names.get(name, name): value for name, value in options.items()}
        hits = self.ask(self.kind(memory=memory, user=user, **named), query)
        return [Found(self.text(hit), hit.metadata) for hit in hits]

    def texts(self, memory: HybridMemory, query: str, **options: Any) -> set[str]:
        return {one.text for one in self.found(memory, query, **options)}


async def inside(retriever: LlamaIndexRetriever, query: str) -> list[Any]:
    return retriever.retrieve(query)


def on_the_loop(method: str, retriever: Any, query: str) -> list[Any]:
    with blockbuster_ctx():
        return asyncio.run(getattr(retriever, method)(query))


LANGCHAIN = partial(
    Host,
    LangChainRetriever,
    text=lambda one: one.page_content,
    names={"metadata": "filter", "min_confidence": "score_threshold"},
)
LLAMAINDEX = partial(
    Host,
    LlamaIndexRetriever,
    text=lambda one: one.text,
    names={"k": "similarity_top_k", "min_confidence": "similarity_cutoff"},
)
HOSTS = {
    "langchain": LANGCHAIN(LangChainRetriever.invoke),
    "langchain async": LANGCHAIN(partial(on_the_loop, "ainvoke")),
    "llamaindex": LLAMAINDEX(LlamaIndexRetriever.retrieve),
    "llamaindex in a loop": LLAMAINDEX(lambda retriever, query: asyncio.run(inside(retriever, query))),
    "llamaindex async": LLAMAINDEX(partial(on_the_loop, "aretrieve")),
}


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


@pytest.fixture
def told(memory: HybridMemory) -> HybridMemory:
    """Alice's two sessions, and Bob's one."""
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(SISTER, at=MAY, id="m1", metadata={"topic": "family", "score": "high", "tags": ["one"]})
    alice.remember(CAT, role="assistant", at=MAY.replace(month=6), metadata={"topic": "pets"})
    memory.scoped(user="alice", session="s2").remember(CHINESE, at=MAY.replace(month=7))
    memory.scoped(user="bob").remember("My sister lives in Porto.")
    return memory


def test_a_hit_says_what_and_why(told: HybridMemory, host: Host) -> None:
    (found,) = host.found(told, "Where does my sister live?", k=1)
    (hit,) = told.scoped(user="alice").recall("Where does my sister live?", k=1)
    assert found.text == SISTER
    assert found.metadata["score"] == pytest.approx(hit.score)
    assert found.metadata["confidence"] == pytest.approx(hit.confidence)
    assert found.metadata["signals"].keys() == asdict(hit.signals).keys()
    plan = "read as a question for a fact ('Where'); compared: up to 48 turns by meaning, 48 by words"
    assert f"; from #1; {plan}" in found.metadata["why"]
    rest = {key: value for key, value in found.metadata.items() if key not in ("score", "confidence", "signals", "why")}
    assert rest == {
        "topic": "family", "tags": ["one"], "speaker": "user", "origin": "user", "at": "2024-05-01T12:00:00+00:00",
        "sources": ["m1"], "kind": "turn", "session": "s1",
    }  # fmt: skip
    assert json.loads(json.dumps(found.metadata)) == found.metadata


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {SISTER, CAT, CHINESE}), ({"user": "carol"}, set()), ({"scope": "session"}, {SISTER, CAT}),
        ({"since": MAY.replace(month=7)}, {CHINESE}), ({"until": MAY.replace(month=6)}, {SISTER}),
        ({"metadata": {"topic": "pets"}}, {CAT}), ({"kinds": ["fact"]}, set()),
        ({"kinds": [RecordKind.TURN], "k": 1}, {SISTER}), ({"categories": ["task"]}, set()),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",  # a set has no order
)  # fmt: skip
def test_owner_and_filters_count(told: HybridMemory, host: Host, options: dict[str, Any], expected: set[str]) -> None:
    assert host.texts(told, "My sister lives where?", session="s1", **options) == expected


@pytest.mark.parametrize("spaces", [["team"], "all"])
def test_shared_spaces_are_searched_and_named(told: HybridMemory, host: Host, spaces: Any) -> None:
    told.scoped(user="alice").space("team").create().remember("The sister project launches on Friday.")
    (shared,) = [one for one in host.found(told, "sister project", spaces=spaces) if "space" in one.metadata]
    assert shared.metadata["space"] == "team"
    assert "alice" in shared.metadata["author"]


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_question_finds_nothing(told: HybridMemory, host: Host, query: str) -> None:
    assert host.found(told, query) == []


def test_what_is_not_sure_to_answer_is_left_out(told: HybridMemory, host: Host) -> None:
    told.scoped(user="alice").remember(["My boat lies in Porto.", "The dentist moved to noon."])
    assert host.texts(told, "What is the capital of Mongolia?", min_confidence=0.0)
    assert host.texts(told, "What is the capital of Mongolia?", min_confidence=0.5) == set()
    assert SISTER in host.texts(told, "Where does my sister live?", min_confidence=0.5)


@pytest.mark.parametrize(
    "find",
    [
        lambda memory: LangChainRetriever(memory=memory).invoke("sister"),
        lambda memory: LlamaIndexRetriever(memory=memory),
    ],
    ids=["langchain", "llamaindex"],
)
def test_somebody_is_named(told: HybridMemory, find: Callable[[HybridMemory], Any]) -> None:
    with pytest.raises(InvalidScopeError, match=r"no (?:user|owner) given"):
        find(told)
