"""An agent with tools over hundreds of turns: whether its prompts stay valid and in their budget, and its cost flat.

    python benchmarks/growth.py                                  500 turns with the default budget, 4,000 and 2,000
    python benchmarks/growth.py --budgets 4000 --turns 100 --json growth.json

A user talks to ``create_agent`` with `HybridMemoryMiddleware` and a checkpointer, in English and Chinese. The scripted
model looks up what is asked for, one item or a whole shelf, whose list is long. Of each prompt: whether a provider
would take it, its tokens with the tools by tiktoken, and the share of them that the prompt before began with. Of each
turn: what the middleware takes while the user waits, and what is done in the pause, in processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by its file, only its folder is on the path

from benchmarks.agent import (
    BEGINNING,
    CUSTOMERS,
    DAYS,
    IDENTITY,
    ITEMS,
    JOBS,
    NAMES,
    PARTS,
    REMARKS,
    STEP,
    THREAD,
    stock,
)
from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from langchain_hybrid_memory import HybridMemoryMiddleware
from langchain_hybrid_memory.messages import from_langchain

TURNS, STRETCH = 500, 50
DEFAULT = 30_000
"""The budget of a model that does not tell its window."""

SHELF_LINES = 60


@tool
def shelf(letter: str) -> str:
    """All that stands on a shelf, by its letter."""
    chance = random.Random(letter)  # noqa: S311 - a list, no secret
    return "\n".join(
        f"{letter}{row:02d}: {chance.randrange(90)} {chance.choice(ITEMS)}, counted by {chance.choice(NAMES)}"
        for row in range(SHELF_LINES)
    )


def said(turn: int) -> str:
    """The words of the user in a turn, the same every time."""
    chance = random.Random(turn)  # noqa: S311 - words, no secret
    name, day, item = chance.choice(NAMES), chance.choice(DAYS), chance.randrange(len(ITEMS))
    match turn % 10:
        case 0:
            return f"What stands on shelf {chance.choice('ABCDEF')}{turn}?"
        case 1 | 4 | 7:
            return f"{name} comes for {ITEMS[item]} on {day}. How many are there?"
        case 2 | 5:
            return f"{chance.choice(CUSTOMERS)}要{chance.randint(2, 30)}个{PARTS[item]}，库存够吗？"
    return chance.choice(REMARKS).format(name=name, day=day, job=chance.choice(JOBS), number=10 * turn)


class Keeper(BaseChatModel):
    """Looks up what the last words ask for, and reads out the beginning of what it found."""

    @property
    def _llm_type(self) -> str:
        return "keeper"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Itself: it knows its calls."""
        del tools
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        if last.type == "tool":
            answer = AIMessage(f"It says: {last.text[:120]}")
        elif call := _wanted(last.text.splitlines()[-1]):
            answer = AIMessage("", tool_calls=[{**call, "id": f"c{time.perf_counter_ns()}"}])
        else:
            answer = AIMessage("All right, noted.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _wanted(words: str) -> dict[str, Any] | None:
    if "stands on shelf" in words:
        return {"name": shelf.name, "args": {"letter": words.split("shelf ")[1].rstrip("?")}}
    names = [item for item, part in zip(ITEMS, PARTS, strict=True) if item in words or part in words]
    asked = words.endswith(("?", "？"))
    return {"name": stock.name, "args": {"item": names[0]}} if asked and names else None


@dataclass
class Seen:
    """Of each call of the model.

    Attributes:
        tokens: of the prompt with the tools.
        reuse: share of them that the prompt before began with.
        faults: why a provider would refuse it.
        seconds: that noting this and the model took.
    """

    tokens: list[int] = field(default_factory=list)
    reuse: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Watch(AgentMiddleware[Any, Any, Any]):
    """Notes what the memory laid out, and how long that and the model took; it stands behind the memory."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()
        self._before: list[tuple[str, int]] = []
        self._count = token_counter("cl100k_base")

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model, and note what it got."""
        started = time.thread_time()
        system = [request.system_message] if request.system_message else []
        tools = [convert_to_openai_tool(one) for one in request.tools]
        prompt = [from_langchain(message, keep_id=False) for message in [*system, *request.messages]]
        parts = [(json.dumps(tools), schema_tokens(tools, self._count))]
        parts += [
            (message.model_dump_json(exclude={"id", "at"}), message_tokens(message, self._count)) for message in prompt
        ]
        tokens = sum(count for _, count in parts)
        same = 0
        for (now, count), (before, _) in zip(parts, self._before, strict=False):
            if now != before:
                break
            same += count
        self.seen.tokens.append(tokens)
        if self._before:
            self.seen.reuse.append(same / tokens)
        self.seen.faults += _faults(request.messages)
        self._before = parts
        response = handler(request)
        self.seen.seconds += time.thread_time() - started
        return response


def _faults(messages: Sequence[BaseMessage]) -> list[str]:
    """Why a provider would refuse these."""
    found = [] if messages[0].type == "human" else ["the first message is not the user's"]
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                found.append("a result without its call")
            else:
                waiting.remove(message.tool_call_id)
            continue
        if waiting:
            found.append("a call without its result")
        waiting = [str(call["id"]) for call in getattr(message, "tool_calls", ())]
    return found


class Timed(HybridMemoryMiddleware[Any, Any]):
    """The memory, with a clock that runs while it works, the model's time included."""

    seconds = 0.0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """The same."""
        started = time.thread_time()
        try:
            return super().wrap_model_call(request, handler)
        finally:
            self.seconds += time.thread_time() - started

    def after_agent(self, state: Any, runtime: Any) -> Any:
        """The same."""
        started = time.thread_time()
        try:
            return super().after_agent(state, runtime)
        finally:
            self.seconds += time.thread_time() - started


@dataclass(frozen=True)
class Row:
    """What came of one budget.

    Attributes:
        waiting, pause: milliseconds of the processor in a turn, medians over the first, middle and last turns.
    """

    budget: int
    prompts: int
    faults: int
    largest: int
    over: int
    reuse: float
    waiting: list[float]
    pause: list[float]


def grown(budget: int, turns: int) -> Row:
    """The talk with this budget."""
    now = BEGINNING
    watch = Watch()
    waiting, pause = [], []
    with (
        TemporaryDirectory() as folder,
        open_memory(MemoryConfig(url=f"sqlite:///{folder}/memory.db", embedder="hashing"), clock=lambda: now) as memory,
    ):
        ours = Timed(memory, max_tokens=None if budget == DEFAULT else budget)
        agent: Any = create_agent(
            Keeper(), [stock, shelf], system_prompt=IDENTITY, middleware=[ours, watch], checkpointer=InMemorySaver()
        )
        for turn in tqdm(range(turns), desc=f"{budget:,} tokens", disable=None):
            now += STEP if turn % 10 == 0 else timedelta(minutes=2)
            before = ours.seconds - watch.seen.seconds
            agent.invoke({"messages": [HumanMessage(said(turn))]}, THREAD)
            waiting.append(ours.seconds - watch.seen.seconds - before)
            started = time.thread_time()
            memory.flush()
            pause.append(time.thread_time() - started)
    seen = watch.seen
    return Row(
        budget, len(seen.tokens), len(seen.faults), max(seen.tokens), sum(tokens > budget for tokens in seen.tokens),
        statistics.mean(seen.reuse), _stretches(waiting), _stretches(pause),
    )  # fmt: skip


def _stretches(seconds: Sequence[float]) -> list[float]:
    middle = (len(seconds) - STRETCH) // 2
    return [
        round(1000 * statistics.median(seconds[start : start + STRETCH]), 1)
        for start in (0, middle, len(seconds) - STRETCH)
    ]


def main() -> None:
    """Print a row for each budget, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", nargs="+", type=int, default=[DEFAULT, 4000, 2000])
    parser.add_argument("--turns", type=int, default=TURNS, help=f"{STRETCH} or more")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    rows = [grown(budget, max(chosen.turns, STRETCH)) for budget in chosen.budgets]
    print(
        f"{'budget':>8}{'prompts':>9}{'faults':>8}{'largest':>9}{'over':>6}{'reuse':>7}   ms waiting, ms in the pause"
    )
    for row in rows:
        print(
            f"{row.budget:>8,}{row.prompts:>9,}{row.faults:>8}{row.largest:>9,}{row.over:>6}{row.reuse:>7.3f}"
            f"   {row.waiting}, {row.pause}"
        )
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
