"""A memory with settings of compaction, and what is said in its conversations."""

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from hybrid_memory import CompactionConfig, Context, HybridMemory, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.text.tokens import estimate_tokens
from tests.world import assistant


class OpenWith(Protocol):
    """Opens a memory with these settings of compaction; ``url="sqlite"`` is the test's own file."""

    def __call__(
        self,
        model: Any = None,
        *,
        url: str = "memory://",
        embedder: Any = "none",
        compressor: Any = None,
        preset: CompactionConfig | None = None,
        **compaction: Any,
    ) -> HybridMemory: ...


class SessionWith(Protocol):
    """A session of a memory that `OpenWith` opens."""

    def __call__(self, model: Any = None, **settings: Any) -> ScopedMemory: ...


@pytest.fixture
def open_with(store: str) -> Iterator[OpenWith]:
    memories: list[HybridMemory] = []

    def open_one(
        model: Any = None,
        *,
        url: str = "memory://",
        embedder: Any = "none",
        compressor: Any = None,
        preset: CompactionConfig | None = None,
        **compaction: Any,
    ) -> HybridMemory:
        settings = preset or CompactionConfig(**compaction)
        config = MemoryConfig(url=store if url == "sqlite" else url, embedder=embedder, compaction=settings)
        opened = open_memory(config, language_model=model, compressor=compressor, token_counter=estimate_tokens)
        memories.append(opened)
        return opened

    yield open_one
    for memory in memories:
        memory.close()


@pytest.fixture
def session_with(open_with: OpenWith) -> SessionWith:
    return lambda model=None, **settings: open_with(model, **settings).scoped(user="a", session="s")


def rounds(first: int, last: int) -> list[Message]:
    """A question for each number, and its answer."""
    pairs = ((f"Room {number} needs {number + 3} chairs.", f"Noted room {number}.") for number in range(first, last))
    return [message for asked, answer in pairs for message in (Message(content=asked), assistant(answer))]


def laid_out(context: Context) -> list[tuple[str, str]]:
    """Role and text of each message of a prompt."""
    return [(message.role.value, message.text) for message in context.messages]
