"""Where a memory that was given none keeps what it is told: in a store of its own, as LangChain's old memories did."""

from __future__ import annotations

from typing import Any

from hybrid_memory import LearningConfig, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidConfigError

OWNER = {"user": "private", "session": "private"}
"""Of everything in a private store."""

_SCOPE = ("user", "session", "tenant", "agent")


def placed(arguments: dict[str, Any], *, embedder: Any = None, language_model: Any = None) -> dict[str, Any]:
    """The arguments, with a memory and whose it is: a new store if they name no memory.

    Args:
        arguments: of a chat memory.
        embedder: for the new store; without one it finds words alone.
        language_model: writes the summaries of the new store.

    Raises:
        InvalidConfigError: they name an owner, but no memory that could be theirs.
    """
    if arguments.get("memory") is not None:
        return arguments
    named = [part for part in _SCOPE if arguments.get(part) is not None]
    if named:
        raise InvalidConfigError(
            f"{named[0]}= says whose part of a memory it is: give memory=open_memory(...) too, or neither of them "
            "for a store that only this object has and that ends with the process"
        )
    config = MemoryConfig(
        url="memory://",
        embedder="none",
        # Nobody asks this store for facts by a model, and each call of one costs.
        learning=LearningConfig(background=False, model=False),
    )
    return {**arguments, **OWNER, "memory": open_memory(config, embedder=embedder, language_model=language_model)}
