"""A LangChain retriever over a memory, and documents and conversations that are shortened; see tests/adapters."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError
from langchain_hybrid_memory import HybridDocumentCompressor, HybridMemoryRetriever


@pytest.fixture
def told(memory: HybridMemory) -> HybridMemory:
    alice = memory.scoped(user="alice")
    alice.remember("My sister lives in Lisbon.", id="m1", metadata={"topic": "family"})
    alice.remember("My cat sleeps on the sofa.", metadata={"topic": "pets"})
    return memory


def test_what_is_wrong_is_refused(told: HybridMemory) -> None:
    with pytest.raises(ValidationError, match="limit"):
        HybridMemoryRetriever(memory=told, user="alice", limit=3)  # type: ignore[call-arg]
    retriever = HybridMemoryRetriever(memory=told, user="alice")
    with pytest.raises(InvalidInputError, match="unknown filter limit"):
        retriever.invoke("sister", limit=3)
    with pytest.raises(InvalidInputError, match="k must be"):
        retriever.invoke("sister", k=0)


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


DOCUMENTS = [
    Document("It rains in Berlin. The train is late.", metadata={"page": 1}, id="a"),
    Document("The hotel has 40 rooms. My sister lives in Lisbon. Breakfast is at 7.", metadata={"page": 2}, id="b"),
    Document("我妹妹喜欢喝茶。今天天气很好。", metadata={"page": 3, "tags": ["zh"]}),
]


class Shelf(BaseRetriever):
    """Returns the same documents for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return DOCUMENTS


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_documents_are_shortened_to_a_budget_that_they_share(memory: HybridMemory, way: str) -> None:
    compressor = HybridDocumentCompressor(memory=memory, max_tokens=9)
    retriever = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=Shelf())
    before = deepcopy(DOCUMENTS)
    question = "Where does my sister live?"
    if way == "invoke":
        (left,) = retriever.invoke(question)
    else:
        with blockbuster_ctx():
            (left,) = asyncio.run(retriever.ainvoke(question))
    assert before == DOCUMENTS
    assert (left.page_content, left.id) == ("My sister lives in Lisbon.", "b")
    condensed = memory.condense([document.page_content for document in DOCUMENTS], query=question, max_tokens=9)
    assert left.metadata == {"page": 2, "original_tokens": condensed.before[1], "compressed_tokens": condensed.after[1]}


def paired(messages: Sequence[BaseMessage]) -> bool:
    """Whether every result has its call somewhere before it, and every call its result behind it."""
    waiting: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        waiting |= {call["id"] for call in getattr(message, "tool_calls", ())}
    return not waiting


def edit(memory: HybridMemory, messages: list[AnyMessage], max_tokens: int) -> list[AnyMessage]:
    """The messages as an edit leaves them, from copies."""
    edited = deepcopy(messages)
    HybridDocumentCompressor(memory=memory, max_tokens=max_tokens).apply(
        edited, count_tokens=count_tokens_approximately
    )
    return edited


LONG = " ".join(f"Sentence number {row} tells of the weather." for row in range(80))


turns = st.lists(
    st.one_of(
        st.builds(HumanMessage, st.sampled_from(["Hi.", LONG[:900], "我住在上海。" * 40])),
        st.builds(AIMessage, st.sampled_from(["Yes.", LONG[:900]])),
        st.integers(1, 3),  # calls in parallel
        st.just(SystemMessage("Mind the gap.")),
    ),
    max_size=12,
)
MEMORY = open_memory(MemoryConfig(url="memory://", embedder="none"))


def conversation(parts: list[Any]) -> list[AnyMessage]:
    """A conversation that a provider accepts: every call is answered, now and then after somebody else spoke."""
    messages: list[AnyMessage] = [SystemMessage("Be brief."), HumanMessage("Hello.")]
    for place, part in enumerate(parts):
        if not isinstance(part, int):
            messages.append(part)
            continue
        names = [f"{place}-{call}" for call in range(part)]
        calls = [{"name": "look_up", "args": {}, "id": name} for name in names]
        results = [ToolMessage(LONG[:900] if row % 2 else "short", tool_call_id=name) for row, name in enumerate(names)]
        messages += [AIMessage("", tool_calls=calls), *results[:1]]
        if place % 3 == 0:
            messages.append(HumanMessage("Hurry."))
        messages += results[1:]
    return [message.model_copy(update={"id": str(row)}) for row, message in enumerate(messages)]


@settings(max_examples=50)
@given(turns, st.integers(1, 1500))
def test_no_edit_orphans_a_result_or_loses_what_must_stay(parts: list[Any], max_tokens: int) -> None:
    messages = conversation(parts)
    before = deepcopy(messages)
    edited = edit(MEMORY, messages, max_tokens)
    assert messages == before
    assert paired(edited)
    ids = [message.id for message in edited]
    assert ids == sorted(ids, key=lambda name: int(name or 0))
    by_id = {message.id: message for message in messages}
    for message in edited:
        if not isinstance(message, ToolMessage):
            assert message == by_id[message.id]
        else:
            assert message.content
    assert {message.id for message in messages if isinstance(message, SystemMessage)} <= set(ids)
    asked = [message.id for message in messages if isinstance(message, HumanMessage)]
    assert asked[-1] in ids
    assert isinstance(next(m for m in edited if not isinstance(m, SystemMessage)), HumanMessage)
    if count_tokens_approximately(edited) > max_tokens:  # then nothing is left that could go
        assert len([message for message in edited if isinstance(message, HumanMessage | AIMessage)]) <= 3
        assert all(len(str(message.content)) < 200 for message in edited if isinstance(message, ToolMessage))
