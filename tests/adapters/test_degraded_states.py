"""Every way to read, in every state in which something is missing: an answer, or an error that is ours."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.errors import HybridMemoryError, StoreUnavailableError
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder
from langchain_hybrid_memory import HybridChatMemory as LangChainMemory
from langchain_hybrid_memory import HybridMemoryMiddleware
from langchain_hybrid_memory import HybridMemoryRetriever as LangChainRetriever
from llamaindex_hybrid_memory import HybridChatMemory as LlamaIndexMemory
from llamaindex_hybrid_memory import HybridMemoryBlock
from llamaindex_hybrid_memory import HybridMemoryRetriever as LlamaIndexRetriever
from tests.doubles import line_to
from tests.faces import Open
from tests.langchain.conftest import ScriptedChat

TURNS = ["My cat is called Momo.", "Alright.", "Where is Cannes?", *(f"Note {number} on rain" for number in range(5))]
QUESTION = "what is my cat called?"


class Embedder:
    """Stands in for the local embedder, whose vectors the library knows how to read; `answers` may be changed."""

    name = LocalEmbedder.name

    def __init__(self) -> None:
        self.answers: Callable[[Sequence[str]], Any] = HashingEmbedder(LocalEmbedder.dim).embed_documents

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self.answers(texts)

    def embed_query(self, text: str) -> Any:
        return self.answers([text])[0]


@dataclass
class Store:
    memory: HybridMemory
    embedder: Embedder
    opened: Open
    patch: pytest.MonkeyPatch
    gate: threading.Event

    @property
    def alice(self) -> ScopedMemory:
        return self.memory.scoped(user="alice", session="s1")

    def remember(self, *, indexed: bool = True) -> None:
        self.alice.remember(TURNS)
        if indexed:
            self.memory.flush()

    def none_at_once(self) -> None:
        """No recall makes vectors itself, as with thousands to make."""
        self.patch.setattr("hybrid_memory.store.indexing.AT_ONCE", -1)


def no_vectors(store: Store) -> None:
    store.none_at_once()
    store.remember(indexed=False)


def without_embedder(store: Store) -> None:
    with store.opened(embedder="none") as before:
        before.scoped(user="alice", session="s1").remember(TURNS)
        before.flush()
    store.none_at_once()


def some_vectors(store: Store) -> None:
    store.remember()
    store.none_at_once()
    store.alice.remember(["My cat sleeps.", "Good morning!"])


def vectors_of_a_space_only(store: Store) -> None:
    store.alice.space("team").create().remember("The cat of the team")
    store.memory.flush()
    no_vectors(store)


def read_only(store: Store) -> None:
    no_vectors(store)
    store.alice.recall(QUESTION)
    store.memory = store.memory.as_read_only()


def empty(store: Store) -> None:
    """Nothing was ever written."""


def index_behind(store: Store) -> None:
    store.remember()
    store.alice.remember(["My cat sleeps."] * 3)


def index_emptied(store: Store) -> None:
    store.remember()
    store.memory._runtime.services.index.delete(None)


def other_width(store: Store) -> None:
    store.remember()
    store.embedder.answers = lambda texts: [[1.0, 2.0]] * len(texts)


def other_width_when_pending(store: Store) -> None:
    some_vectors(store)
    store.embedder.answers = lambda texts: [[1.0, 2.0]] * len(texts)


def half_rebuilt(store: Store) -> None:
    """Another embedder's vectors are wanted, and none is made yet."""
    store.remember()
    store.memory.rebuild(embedder=HashingEmbedder(32))
    store.none_at_once()
    store.memory._runtime.services.index.delete(None)


def failing(store: Store) -> None:
    def fails(_: Any) -> Any:
        raise ConnectionError("offline")

    store.embedder.answers = fails
    store.remember(indexed=False)


def failing_later(store: Store) -> None:
    store.remember()
    failing(store)


def hanging(store: Store) -> None:
    store.embedder.answers = lambda _: store.gate.wait(60)
    store.remember(indexed=False)


def answering(answer: Any) -> Callable[[Store], None]:
    def state(store: Store) -> None:
        store.embedder.answers = answer
        store.remember(indexed=False)

    return state


def engine_away(store: Store) -> None:
    store.remember()
    line_to(store.memory, "index").error = StoreUnavailableError("no route")


STATES: dict[str, Callable[[Store], None]] = {
    state.__name__: state
    for state in (
        no_vectors, without_embedder, some_vectors, vectors_of_a_space_only, read_only, empty, index_behind,
        index_emptied, other_width, other_width_when_pending, half_rebuilt, failing, failing_later, hanging,
        engine_away,
    )
} | {
    "answers []": answering(lambda _: []),
    "answers [[]]": answering(lambda texts: [[] for _ in texts]),
    "answers zeros": answering(lambda texts: [[0.0] * LocalEmbedder.dim for _ in texts]),
}  # fmt: skip


def ask_agent(store: Store) -> Any:
    agent = create_agent(ScriptedChat(answers=["fine"]), middleware=[HybridMemoryMiddleware(store.memory)])
    thread: Any = {"configurable": {"user_id": "alice", "thread_id": "s2"}}
    return agent.invoke({"messages": [HumanMessage(QUESTION)]}, thread)


def chat(store: Store) -> Any:
    return LlamaIndexMemory.from_defaults(user="alice", session="s2", memory=store.memory).get(QUESTION)


def block(store: Store) -> Any:
    asked = [ChatMessage(role="user", content=QUESTION)]
    block = HybridMemoryBlock.from_defaults(memory=store.memory, user="alice")
    return asyncio.run(block.aget(asked, session_id="s2"))


READS: dict[str, Callable[[Store], Any]] = {
    "recall": lambda store: store.alice.recall(QUESTION),
    "recall by words": lambda store: store.alice.recall("Momo", k=50),
    "recall with spaces": lambda store: store.alice.recall(QUESTION, spaces=store.alice.spaces()),
    "assemble": lambda store: store.memory.scoped(user="alice", session="s2").assemble(QUESTION),
    "why": lambda store: store.alice.why("likes"),
    "recall from then": lambda store: store.alice.as_of(3).recall(QUESTION),
    "summary": lambda store: store.alice.summary(),
    "events": lambda store: store.alice.events(),
    "history": lambda store: store.alice.history(),
    "facts": lambda store: store.alice.facts(),
    "profile": lambda store: store.alice.profile(),
    "records": lambda store: store.memory.records(store.alice.scope, [1, 2]),
    "stats": lambda store: store.memory.stats(),
    "LangChain retriever": lambda s: LangChainRetriever(memory=s.memory, user="alice").invoke(QUESTION),
    "LangChain memory": lambda s: LangChainMemory(
        memory=s.memory, user="alice", session="s2"
    ).load_memory_variables({"input": QUESTION}),
    "LangChain agent": ask_agent,
    "LlamaIndex retriever": lambda s: LlamaIndexRetriever(memory=s.memory, user="alice").retrieve(QUESTION),
    "LlamaIndex memory": chat,
    "LlamaIndex block": block,
}  # fmt: skip

FINDS = {"recall", "LangChain retriever", "LlamaIndex retriever"}
REFUSED = {
    "read_only": {"LangChain agent"},  # it writes its turns
    "empty": {"recall from then"},  # there is no such position
    "engine_away": {"records", "stats"},  # they ask the index itself
    "other_width": READS.keys(),  # only a rebuild helps, and they say so
    "other_width_when_pending": READS.keys(),
}


@pytest.fixture
def store(opened: Open, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    embedder, gate = Embedder(), threading.Event()
    memory = opened(embedder=embedder, orchestration={"model_timeout": timedelta(milliseconds=5), "cache": 0})
    yield Store(memory, embedder, opened, monkeypatch, gate)
    gate.set()


@pytest.mark.parametrize("state", STATES)
def test_whatever_is_missing_every_way_to_read_answers(store: Store, state: str) -> None:
    STATES[state](store)
    wrong = {}
    for name, read in READS.items():
        try:
            result = read(store)
        except Exception as error:  # noqa: BLE001 - whatever it is
            if not (isinstance(error, HybridMemoryError) and name in REFUSED.get(state, ())):
                wrong[name] = repr(error)
        else:
            if name in FINDS and state != "empty" and "Momo" not in str(result):
                wrong[name] = f"found {result}"
    assert wrong == {}
