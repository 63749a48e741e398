"""A memory with settings of compaction, and what is said in its conversations."""

from collections.abc import Callable
from typing import Any

import pytest

from hybrid_memory import CompactionConfig, Context, HybridMemory, Message, ScopedMemory
from hybrid_memory.text.tokens import estimate_tokens
from tests.faces import Open
from tests.world import assistant

OpenWith = Open
"""Opens a memory with these settings of compaction; ``url="sqlite"`` is the test's own file."""

SessionWith = Callable[..., ScopedMemory]
"""A session of a memory that `OpenWith` opens."""


@pytest.fixture
def open_with(opened: Open) -> OpenWith:
    def open_one(
        model: Any = None, *, url: str = "memory://", embedder: Any = "none", compressor: Any = None,
        preset: CompactionConfig | None = None, **compaction: Any,
    ) -> HybridMemory:  # fmt: skip
        models = {"language_model": model, "compressor": compressor, "token_counter": estimate_tokens}
        place = {} if url == "sqlite" else {"url": url}
        return opened(embedder=embedder, compaction=preset or CompactionConfig(**compaction), **models, **place)

    return open_one


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
