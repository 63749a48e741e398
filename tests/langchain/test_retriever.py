"""A LangChain retriever over a memory, and documents that are shortened; see tests/adapters."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
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
