"""What a run shows of the memories that it uses: in ``astream_events``, to callbacks, and what it does not show."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run

from hybrid_memory import HybridMemory
from hybrid_memory.errors import StoreUnavailableError
from langchain_hybrid_memory import HybridChatMemory, HybridMemoryMiddleware, memory_tools
from tests.doubles import line_to
from tests.langchain.conftest import THREAD, Invoke, ScriptedChat, calls

FRUIT = "My favourite fruit is the quince, and I live in Porto."
ASKED = "Which fruit is my favourite?"
PRIVATE = ("quince", "porto", "favourite", "alice")


class Runs(BaseTracer):
    """Keeps the runs whose names are ours, with the names of their parents."""

    def __init__(self) -> None:
        super().__init__(_schema_format="original+chat")
        self.seen: dict[str, Run] = {}

    def _persist_run(self, run: Run) -> None:
        pass

    def _on_run_create(self, run: Run) -> None:
        self.seen[str(run.id)] = run

    @property
    def own(self) -> list[Run]:
        return [run for run in self.seen.values() if run.name.startswith("hybrid_memory.")]

    def beneath(self, run: Run) -> str:
        return self.seen[str(run.parent_run_id)].name

    def named(self, name: str) -> list[Run]:
        return [run for run in self.own if run.name == f"hybrid_memory.{name}"]

    def text(self) -> str:
        told = [(run.inputs, run.outputs, run.error, run.extra, run.tags) for run in self.own]
        return str(told).replace("'user_id': 'alice'", "").lower()  # of the run's own configuration


def watching(runs: Runs) -> RunnableConfig:
    return {**THREAD, "callbacks": [runs]}


def agent_of(memory: HybridMemory, *answers: Any, tools: Any = (), **options: Any) -> Any:
    layer = HybridMemoryMiddleware(memory, **options)
    return create_agent(ScriptedChat(answers=list(answers)), tools=list(tools), middleware=[layer])


def asks(text: str = ASKED) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


@pytest.mark.in_pairs("invoke", "memory")
def test_a_recall_of_an_agent_is_a_retriever_run_in_its_step(memory: HybridMemory, invoke: Invoke) -> None:
    memory.scoped(user="alice", session="before").remember(FRUIT)
    runs = Runs()
    invoke(agent_of(memory, "the quince"), asks(), watching(runs))
    (run,) = runs.named("recall")
    assert run.run_type == "retriever"
    assert runs.beneath(run) == "model"
    assert run.inputs == {"query": ""}
    assert run.outputs is not None
    (found,) = run.outputs["documents"]
    assert (found.page_content, found.id, found.metadata["chars"]) == ("", "#1", len(FRUIT))
    assert 0 < found.metadata["score"] <= 1
    assert run.end_time is not None


def test_nothing_private_is_shown_unless_asked(memory: HybridMemory, invoke: Invoke) -> None:
    memory.scoped(user="alice", session="before").remember(FRUIT)
    runs = Runs()
    search = calls(("memory_recall", {"query": "favourite fruit"}))
    invoke(agent_of(memory, search, "the quince", tools=memory_tools(memory)), asks(), watching(runs))
    assert len(runs.named("recall")) >= 2
    assert {runs.beneath(run) for run in runs.named("recall")} == {"model", "memory_recall"}
    assert [word for word in PRIVATE if word in runs.text()] == []


def test_an_error_ends_the_run_without_its_words(memory: HybridMemory, invoke: Invoke) -> None:
    chat = HybridChatMemory(memory=memory, user="alice", session="now", window=4)
    memory.scoped(user="alice", session="now").remember(FRUIT)
    runs = Runs()
    line = line_to(memory, "log")
    line.hits = lambda name, _: name == "state" and bool(runs.named("recall"))
    line.error = StoreUnavailableError("the log of alice is away")
    load = RunnableLambda(chat.load_memory_variables, afunc=chat.aload_memory_variables)
    with pytest.raises(StoreUnavailableError):
        invoke(load, {"input": ASKED}, {"callbacks": [runs]})
    (run,) = runs.named("recall")
    assert "StoreUnavailableError" in str(run.error)
    assert "alice" not in str(run.error)
