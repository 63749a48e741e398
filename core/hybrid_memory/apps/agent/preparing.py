"""The blocks that a new agent begins with."""

from __future__ import annotations

from collections.abc import Mapping

from hybrid_memory.blocks.block import Block
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.runtime.runners import drive

BLOCKS = {
    "persona": "Who you are, and how you want to speak and act.",
    "human": "Who the user is: name, people, work, plans, preferences.",
}
"""What belongs into each."""


def prepared(memory: ScopedMemory, blocks: Mapping[str, str] | None = None) -> None:
    """Give an owner who never had a block those that MemGPT has, ``persona`` and ``human``.

    Args:
        memory: the owner's.
        blocks: texts to begin with, by label; others than those two are made too.

    Raises:
        InvalidInputError: a label or text can be none of a block. Nothing was written.
    """
    drive(memory._begin_blocks(INLINE, _first(blocks or {})))  # noqa: SLF001 - no verb of applications


async def aprepared(memory: ScopedMemory, blocks: Mapping[str, str] | None = None) -> None:
    """Async twin of `prepared`."""
    await memory._begin_blocks(memory._runtime.loop, _first(blocks or {}))  # noqa: SLF001 - no verb of applications


def _first(texts: Mapping[str, str]) -> list[Block]:
    return [Block(label, texts.get(label, ""), BLOCKS.get(label, "")) for label in {**BLOCKS, **texts}]
