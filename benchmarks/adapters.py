"""What the adapters cost per turn beside the core's own work, in one run.

    python benchmarks/adapters.py --turns 200 --json out.json

A chat of short turns goes through each adapter with a model that answers at once. Counted is the time inside the
adapter's methods, and of it the time inside the core's verbs; the difference is what the adapter adds: finding the
scope, converting messages, laying out the request. For agents the same run without memory is shown beside it, and what
the framework itself takes for the two nodes that a middleware adds to the graph.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from importlib.metadata import version
from inspect import isfunction
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_classic.chains import ConversationChain
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from langchain_hybrid_memory import HybridChatMemory, HybridMemoryMiddleware

VERBS = "follow assemble remember recall conversation".split()
MAX_TOKENS = 4000
THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "user_id": "alice"}}


class Instant(BaseChatModel):
    """Answers the same at once."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("It is in the shed, behind the ladder."))])


@dataclass
class Stopwatch:
    """Time inside wrapped calls, without that of stopwatches that run inside them.

    Functions that are handed to a wrapped call are the framework's, and run on its stopwatch.
    """

    seconds: float = 0.0
    inner: list[Stopwatch] = field(default_factory=list)
    framework: Stopwatch | None = None

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, measured."""

        @wraps(call)
        def measured(*args: Any, **kwargs: Any) -> Any:
            if self.framework is not None:
                args = tuple(self.framework.wrap(given) if isfunction(given) else given for given in args)
            before = sum(watch.seconds for watch in self.inner)
            start = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                passed = time.perf_counter() - start
                self.seconds += passed - sum(watch.seconds for watch in self.inner) + before

        return measured


@contextmanager
def patched(watch: Stopwatch, owner: type, names: list[str]) -> Iterator[None]:
    """These methods measured by the stopwatch."""
    originals = {name: getattr(owner, name) for name in names}
    for name, method in originals.items():
        setattr(owner, name, watch.wrap(method))
    try:
        yield
    finally:
        for name, method in originals.items():
            setattr(owner, name, method)


@dataclass(frozen=True)
class Costs:
    """Seconds per turn: of the whole run, inside the adapter without the core, inside the core."""

    whole: list[float] = field(default_factory=list)
    adapter: list[float] = field(default_factory=list)
    core: list[float] = field(default_factory=list)


def measure(turns: int, owner: type, methods: list[str], make: Callable[[], Callable[[str], object]]) -> Costs:
    """Asks what was made so often, and what each time took."""
    core, framework = Stopwatch(), Stopwatch()
    adapter = Stopwatch(inner=[core, framework], framework=framework)
    costs = Costs()
    with patched(core, ScopedMemory, VERBS), patched(adapter, owner, methods):
        ask = make()  # here, since an agent keeps the methods that it finds
        for turn in range(turns):
            core.seconds = adapter.seconds = 0.0
            start = time.perf_counter()
            ask(f"Question {turn}: where did I leave the {turn % 13}th garden tool?")
            costs.whole.append(time.perf_counter() - start)
            costs.adapter.append(adapter.seconds)
            costs.core.append(core.seconds)
    return costs


def agent_asker(memory: HybridMemory | None, *, checkpoints: bool) -> Callable[[str], object]:
    """An agent that is asked, with memory or without."""
    middleware = [] if memory is None else [HybridMemoryMiddleware(memory, max_tokens=MAX_TOKENS)]
    agent: Any = create_agent(Instant(), middleware=middleware, checkpointer=InMemorySaver() if checkpoints else None)
    return lambda text: agent.invoke({"messages": [HumanMessage(text)]}, THREAD)


def chain_asker(memory: HybridMemory) -> Callable[[str], object]:
    """A classic chain that is asked."""
    chat = HybridChatMemory(memory=memory, user="alice", session="t", max_tokens=MAX_TOKENS)
    chain = ConversationChain(llm=Instant(), memory=chat)
    return lambda text: chain.invoke({"input": text})


def opened() -> HybridMemory:
    """An empty memory, so that nothing is measured but the chat itself."""
    return open_memory(MemoryConfig(url="memory://", embedder="hashing"))


def main() -> None:
    """Measures each adapter, and prints a table."""
    parser = argparse.ArgumentParser(description="What the adapters cost per turn beside the core's own work.")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--json", type=Path)
    warnings.simplefilter("ignore", LangChainDeprecationWarning)  # of the classic chain
    options = parser.parse_args()
    hooks = ["before_model", "after_agent", "wrap_model_call"]
    results: dict[str, dict[str, float]] = {}
    for name, checkpoints in (("create_agent", False), ("create_agent, checkpointer", True)):
        plain = measure(
            options.turns, HybridMemoryMiddleware, hooks, partial(agent_asker, None, checkpoints=checkpoints)
        )
        with opened() as memory:
            make = partial(agent_asker, memory, checkpoints=checkpoints)
            costs = measure(options.turns, HybridMemoryMiddleware, hooks, make)
        results[name] = row(costs) | {"without memory": milliseconds(plain.whole)}
    with opened() as memory:
        methods = ["load_memory_variables", "save_context"]
        results["ConversationChain"] = row(
            measure(options.turns, HybridChatMemory, methods, partial(chain_asker, memory))
        )
    print(f"{options.turns} turns, prompts of at most {MAX_TOKENS} tokens; median milliseconds per turn\n")
    print(f"{'':28}{'adapter':>10}{'core':>10}{'whole run':>12}{'without memory':>17}")
    for name, values in results.items():
        without = f"{values['without memory']:17.2f}" if "without memory" in values else f"{'':17}"
        print(f"{name:28}{values['adapter']:10.2f}{values['core']:10.2f}{values['whole']:12.2f}{without}")
    if options.json:
        versions = {name: version(name) for name in ("langchain", "langgraph", "langchain-core", "langchain-classic")}
        about = {"turns": options.turns, "python": platform.python_version(), **versions}
        options.json.write_text(json.dumps({"about": about, "milliseconds": results}, indent=2), encoding="utf-8")


def row(costs: Costs) -> dict[str, float]:
    """The medians, in milliseconds."""
    return {name: milliseconds(getattr(costs, name)) for name in ("adapter", "core", "whole")}


def milliseconds(seconds: list[float]) -> float:
    """The median."""
    return statistics.median(seconds) * 1000


if __name__ == "__main__":
    main()
