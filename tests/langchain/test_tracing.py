"""What a run shows of the memories that it uses: in ``astream_events``, to callbacks, and what it does not show."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory
from hybrid_memory.errors import StoreUnavailableError
from langchain_hybrid_memory import HybridChatMemory, HybridMemoryMiddleware, HybridMemoryRetriever, memory_tools
from langchain_hybrid_memory import tracing as ours
from tests.doubles import line_to
from tests.langchain.conftest import THREAD, ScriptedChat, calls

if TYPE_CHECKING:
    from tests.faces import Open
    from tests.langchain.conftest import Invoke

pytestmark = pytest.mark.in_pairs("invoke", "memory")

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


def test_learning_in_a_run_is_a_chain_run(memory: HybridMemory, invoke: Invoke) -> None:
    runs = Runs()
    invoke(agent_of(memory, "nice"), asks("I am a baker and live in Porto."), watching(runs))
    (run, *_) = runs.named("learn")
    assert (run.run_type, run.inputs) == ("chain", {"messages": 1, "model": False})
    assert run.outputs is not None
    assert run.outputs["count"] > 0


def test_the_digests_of_a_prompt_are_chain_runs(memory: HybridMemory, invoke: Invoke) -> None:
    @tool
    def report(part: int) -> str:
        """A long report."""
        return "\n".join(f"{part}: line {row} says nothing new of the harvest" for row in range(300))

    runs = Runs()
    steps = [calls(("report", {"part": part}), start=part) for part in range(4)]
    agent = create_agent(
        ScriptedChat(answers=[*steps, "done", "again"]),
        tools=[report],
        middleware=[HybridMemoryMiddleware(memory, max_tokens=1500)],
        checkpointer=InMemorySaver(),
    )
    invoke(agent, asks(), watching(runs))
    assert runs.named("digest")
    digest = runs.named("digest")[0]
    assert digest.outputs is not None
    assert digest.outputs["chars"] > 1000
    assert all(run.end_time is not None for run in runs.own)


def test_a_chat_that_no_longer_fits_shows_its_compaction(memory: HybridMemory, invoke: Invoke) -> None:
    runs = Runs()
    model = ScriptedChat(answers=[f"Answer {row}: " + "it rained on the fields. " * 20 for row in range(12)])
    agent = create_agent(
        model, tools=[], middleware=[HybridMemoryMiddleware(memory, max_tokens=900)], checkpointer=InMemorySaver()
    )
    for row in range(12):
        invoke(agent, asks(f"Question {row}: " + "how was the weather? " * 20), watching(runs))
    run = runs.named("compact")[0]
    assert runs.beneath(run) == "model"
    assert run.outputs is not None
    assert run.outputs["messages"] > 0


def test_nothing_private_is_shown_unless_asked(memory: HybridMemory, invoke: Invoke) -> None:
    memory.scoped(user="alice", session="before").remember(FRUIT)
    runs = Runs()
    search = calls(("memory_recall", {"query": "favourite fruit"}))
    invoke(agent_of(memory, search, "the quince", tools=memory_tools(memory)), asks(), watching(runs))
    assert len(runs.named("recall")) >= 2
    assert {runs.beneath(run) for run in runs.named("recall")} == {"model", "memory_recall"}
    assert [word for word in PRIVATE if word in runs.text()] == []


def test_the_settings_of_the_memory_show_content(opened: Open, invoke: Invoke) -> None:
    memory = opened(url="memory://", trace_content=True)
    memory.scoped(user="alice", session="before").remember(FRUIT)
    runs = Runs()
    invoke(agent_of(memory, "the quince"), asks(), watching(runs))
    (run,) = runs.named("recall")
    assert run.inputs == {"query": ASKED}
    assert run.outputs is not None
    (found,) = run.outputs["documents"]
    assert isinstance(found, Document)
    assert found.page_content == FRUIT
    assert {"score", "why", "sources"} <= set(found.metadata)


def test_a_chat_memory_shows_its_recall_in_the_chain_that_it_is_part_of(memory: HybridMemory, invoke: Invoke) -> None:
    memory.scoped(user="alice", session="before").remember(FRUIT)
    for window in (None, 4):
        chat = HybridChatMemory(memory=memory, user="alice", session="now", window=window)
        load = RunnableLambda(chat.load_memory_variables, afunc=chat.aload_memory_variables)
        runs = Runs()
        invoke(load, {"input": ASKED}, {"callbacks": [runs], "run_name": "load"})
        (run,) = runs.named("recall")
        assert runs.beneath(run) == "load"
        assert run.outputs is not None
        assert len(run.outputs["documents"]) == 1


def test_a_retriever_has_one_run_as_any_retriever(memory: HybridMemory, invoke: Invoke) -> None:
    memory.scoped(user="alice").remember(FRUIT)
    runs = Runs()
    invoke(HybridMemoryRetriever(memory=memory, user="alice"), ASKED, {"callbacks": [runs]})
    assert [(run.run_type, run.name) for run in runs.seen.values()] == [("retriever", "HybridMemoryRetriever")]


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


async def test_astream_events_shows_what_the_memory_does(memory: HybridMemory) -> None:
    await memory.scoped(user="alice", session="before").aremember(FRUIT)
    agent = agent_of(memory, "the quince")
    events = [event async for event in agent.astream_events(asks(), THREAD, version="v2")]
    own = [(event["event"], event["name"]) for event in events if event["name"].startswith("hybrid_memory.")]
    assert own == [
        ("on_chain_start", "hybrid_memory.learn"),
        ("on_chain_end", "hybrid_memory.learn"),
        ("on_retriever_start", "hybrid_memory.recall"),
        ("on_retriever_end", "hybrid_memory.recall"),
    ]
    (found,) = [event for event in events if event["event"] == "on_retriever_end"]
    assert "quince" not in str(found["data"])


async def test_runs_at_once_show_their_own_recalls_only(memory: HybridMemory) -> None:
    for row in range(4):
        await memory.scoped(user=f"user {row}", session="before").aremember([FRUIT] * (row + 1))
    model = ScriptedChat(answer=lambda _: AIMessage("yes"))
    agent: Any = create_agent(model, middleware=[HybridMemoryMiddleware(memory)])
    watched = [Runs() for _ in range(4)]
    settings: list[RunnableConfig] = [
        {"configurable": {"thread_id": "now", "user_id": f"user {row}"}, "callbacks": [runs]}
        for row, runs in enumerate(watched)
    ]
    await asyncio.gather(*(agent.ainvoke(asks(), one) for one in settings))
    assert [len(runs.named("recall")) for runs in watched] == [1] * 4


def test_without_callbacks_nothing_is_made(opened: Open) -> None:
    memory = opened(url="memory://", orchestration={"background": False})
    memory.scoped(user="alice", session="before").remember(FRUIT)
    agent = agent_of(memory, "the quince", "the quince")

    def called(config: RunnableConfig) -> Counter[str]:
        counted: Counter[str] = Counter()

        def count(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename == ours.__file__:
                counted[frame.f_code.co_name] += 1

        sys.setprofile(count)
        try:
            agent.invoke(asks(), config)
        finally:
            sys.setprofile(None)
        return counted

    assert called(THREAD) == {"shown_in_run": 1}
    assert {"_retrieval", "documents"} <= set(called(watching(Runs())))
