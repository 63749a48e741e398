"""What a step of the loop takes without the model, behind conversations of different lengths, and its parts.

Times are those that the thread has the processor, so that other work on the machine does not count; ``wall`` is the
step by the clock. The store is a file.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.compression.sets import Table
from benchmarks.paging.options import Options
from benchmarks.paging.policies import call
from benchmarks.paging.runs import AGENT, USER, opened
from hybrid_memory import Message, Role, ScopedMemory, steps
from hybrid_memory_paging import PagedAgent
from hybrid_memory_paging.executor import Executor

EVENTS = 20
CHUNK = 500
"""Messages that are remembered at once."""

WATCHED = {
    "assemble": (ScopedMemory, "assemble"),
    "blocks": (ScopedMemory, "blocks"),
    "calls": (Executor, "run"),
    "state": (steps, "work_left"),
    "write": (steps, "advance"),
}
"""Parts of a step: the prompt, the blocks, calls of functions, reading where the work stands, writing what was done."""

ANSWERS = (
    call("conversation_search", query="harbour crane"),
    call("core_memory_append", label="human", content="Likes cranes."),
    call("core_memory_replace", label="human", old_content="Likes cranes.", new_content=""),
    "Done.",
)


class Scripted:
    """Answers the same calls to every event, at once."""

    name = "scripted"

    def __init__(self) -> None:
        self.row = 0

    def complete(self, messages: Sequence[Message]) -> str:
        """The next of the answers."""
        del messages
        self.row += 1
        return ANSWERS[(self.row - 1) % len(ANSWERS)]

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: nobody asks for it."""
        raise NotImplementedError


def run(options: Options) -> Iterator[Table]:
    """Milliseconds of a step, by what was said before."""
    table = Table(
        "cost of a step without the model, in milliseconds",
        ("messages before", "step", "p95", "wall", *WATCHED, "first event", "remember"),
        note=(
            f"step: median over {EVENTS} events, the time by the {len(ANSWERS)} answers; then its parts, a mean;\n"
            "first event: with the flush of all that was said before; remember: all of that, with its index"
        ),
    )
    for number in options.earlier:
        with tempfile.TemporaryDirectory() as folder:
            measured = cost_of(f"sqlite:///{Path(folder) / 'cost.db'}", number, options.max_tokens)
        table.rows.append({"messages before": f"{number:,}"} | measured)
    yield table


def cost_of(url: str, number: int, max_tokens: int) -> dict[str, Any]:
    """The columns of the table for a store at this place, with so many messages."""
    with opened(url) as memory:
        agent = PagedAgent(memory, agent=AGENT, user=USER, model=Scripted(), max_tokens=max_tokens)
        started = time.thread_time()
        for start in range(0, number, CHUNK):
            agent.memory.remember([_said(row) for row in range(start, min(start + CHUNK, number))])
        agent.memory.recall("crane", k=1)
        remembering = time.thread_time() - started
        started = time.thread_time()
        agent.send("Is anything to be done?")
        first = time.thread_time() - started
        spent, wall = [], []
        with timed() as parts:
            for row in range(EVENTS):
                started, clock = time.thread_time(), time.perf_counter()
                agent.send(f"And now, for the {row + 1}. time?")
                spent.append((time.thread_time() - started) / len(ANSWERS))
                wall.append((time.perf_counter() - clock) / len(ANSWERS))
    return {
        "step": _ms(statistics.median(spent)),
        "p95": _ms(statistics.quantiles(spent, n=20)[-1]),
        "wall": _ms(statistics.median(wall)),
        **{name: _ms(sum(parts[name]) / EVENTS / len(ANSWERS)) for name in WATCHED},
        "first event": _ms(first),
        "remember": _ms(remembering),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 1)


def _said(row: int) -> Message:
    role = Role.ASSISTANT if row % 2 else Role.USER
    return Message(role=role, content=f"Note {row}: the {row % 7}. crane of the harbour lifts {row % 90} crates today.")


@contextmanager
def timed() -> Iterator[dict[str, list[float]]]:
    """The seconds that each call of a part takes meanwhile."""
    spent: dict[str, list[float]] = defaultdict(list)

    def watching(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            started = time.thread_time()
            try:
                return made(*args, **kwargs)
            finally:
                spent[name].append(time.thread_time() - started)

        async def awatched(*args: Any, **kwargs: Any) -> Any:
            started = time.thread_time()
            try:
                return await made(*args, **kwargs)
            finally:
                spent[name].append(time.thread_time() - started)

        return awatched if name in ("state", "write") else watched

    patches = [
        patch.object(owner, attribute, watching(name, getattr(owner, attribute)))
        for name, (owner, attribute) in WATCHED.items()
    ]
    for one in patches:
        one.start()
    try:
        yield spent
    finally:
        for one in patches:
            one.stop()
