"""The blocks that a new agent begins with."""

from __future__ import annotations

from hybrid_memory.memory import ScopedMemory

BLOCKS = {
    "persona": "Who you are, and how you want to speak and act.",
    "human": "Who the user is: name, people, work, plans, preferences.",
}
"""What belongs into each."""


def prepared(memory: ScopedMemory) -> None:
    """Give an owner who has no blocks those that MemGPT has, empty: ``persona`` and ``human``."""
    if not memory.blocks():
        for label, description in BLOCKS.items():
            memory.put_block(label, description=description)


async def aprepared(memory: ScopedMemory) -> None:
    """Async twin of `prepared`."""
    if not await memory.ablocks():
        for label, description in BLOCKS.items():
            await memory.aput_block(label, description=description)
