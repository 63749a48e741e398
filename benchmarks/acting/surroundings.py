"""What a task runs in: a clock that the script moves, a store of its own, and the systems under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Literal, Protocol

from benchmarks.acting.models import Watched
from benchmarks.acting.tasks import Say, Task
from benchmarks.acting.world import World
from benchmarks.sets import Clock
from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, open_memory

System = Literal["ours", "bare", "summarization", "stock", "langmem"]

SYSTEMS: dict[System, str] = {
    "ours": "hybrid-agent-memory", "bare": "without memory", "summarization": "SummarizationMiddleware",
    "stock": "stock memory", "langmem": "LangMem",
}  # fmt: skip
USER = "ann"
BEGINNING = datetime(2026, 11, 16, 9, tzinfo=UTC)
STEP = timedelta(minutes=1)


def installed(system: System) -> bool:
    """Whether what it needs is there."""
    return system != "langmem" or find_spec(system) is not None


@dataclass(frozen=True, slots=True)
class Summarising:
    """Tokens from which `SummarizationMiddleware` summarises, messages that it keeps, and sentences kept of others.

    The first two are those of its guide.
    """

    tokens: int = 4_000
    kept: int = 20
    sentences: int = 1


@dataclass
class Surroundings:
    """Of one task with one system.

    Attributes:
        embedder: of all systems that have one.
        store: of another library, where a system has one for all threads.
        summarising: when and how stock memories summarise.
        options: more arguments of our middleware.
        chat_memory: makes a thread's memory in LlamaIndex, instead of the system's own.
    """

    task: Task
    system: System
    embedder: Any
    world: World
    watched: Watched
    subagent: Watched | None = None
    clock: Clock = field(default_factory=lambda: Clock(BEGINNING))
    store: Any = None
    summarising: Summarising = field(default_factory=Summarising)
    options: Mapping[str, Any] = field(default_factory=dict)
    chat_memory: Callable[[str, Surroundings], Any] | None = None
    _memory: HybridMemory | None = None

    @property
    def memory(self) -> HybridMemory:
        """Ours, empty when it is first asked for; it learns in the pauses between turns."""
        if self._memory is None:
            config = MemoryConfig(url="memory://", learning=LearningConfig(background=False))
            self._memory = open_memory(config, embedder=self.embedder, clock=self.clock)
        return self._memory

    def passed(self, time: timedelta = STEP) -> None:
        """Time passes, in which a memory does what it does while nobody waits."""
        if self._memory is not None:
            self._memory.flush()
        self.clock.now += time

    def close(self) -> None:
        """Let go of the stores."""
        if self._memory is not None:
            self._memory.close()


class Conversations(Protocol):
    """What a user has with an agent of a host, in any number of threads."""

    def say(self, step: Say) -> str:
        """The answer."""

    def close(self) -> None:
        """Let go of what was opened."""


class Stateful(Conversations, Protocol):
    """Where the host keeps a state that can be changed."""

    def regenerate(self) -> str:
        """Another answer to the last words."""

    def remove(self, words: str) -> None:
        """Take a message and its answer out."""

    def edit(self, words: str, now: str) -> None:
        """Give a message other words under its id."""

    def back(self, turn: int) -> None:
        """Go on from the end of that turn."""
