"""Functions that edit the blocks of working context."""

from __future__ import annotations

from pydantic import Field

from hybrid_memory.blocks.block import Block
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.validation import CheckedModel

LABEL = "The block, such as 'human'"


class Appending(CheckedModel):
    """What to add."""

    label: str = Field(description=LABEL)
    content: str = Field(description="Goes on a new line at the end of the block")


async def append(call: Call, memory: ScopedMemory, wanted: Appending) -> str:
    """Add a line to a block."""
    known = {"id": call.key, "source": call.sources}
    return _done(await call(memory.block(wanted.label).edit, append=wanted.content, **known))


class Replacing(CheckedModel):
    """What to put in the place of what."""

    label: str = Field(description=LABEL)
    old_content: str = Field(description="What stands in the block, letter for letter")
    new_content: str = Field(default="", description="What is to stand there; empty takes it out")


async def replace(call: Call, memory: ScopedMemory, wanted: Replacing) -> str:
    """Change a part of a block."""
    known = {"id": call.key, "source": call.sources}
    edited = await call(memory.block(wanted.label).edit, old=wanted.old_content, new=wanted.new_content, **known)
    return _done(edited)


class Rethinking(CheckedModel):
    """What to say instead."""

    label: str = Field(description=LABEL)
    new_content: str = Field(description="The whole block anew")


async def rethink(call: Call, memory: ScopedMemory, wanted: Rethinking) -> str:
    """Write a block anew, from the words that the model had seen of it."""
    known = {"id": call.key, "source": call.sources}
    seen = None if call.blocks is None else call.blocks.get(wanted.label)
    return _done(await call(memory.block(wanted.label).edit, value=wanted.new_content, revision=seen, **known))


def _done(block: Block) -> str:
    return f"Done. The block '{block.label}' has {len(block.value)} of {block.max_chars} characters."


APPEND = MemoryTool(
    "core_memory_append",
    "Add a line to a block of your working context: what you must always have at hand.",
    Appending,
    append,
)
REPLACE = MemoryTool(
    "core_memory_replace",
    "Correct or remove a part of a block of your working context.",
    Replacing,
    replace,
)
RETHINK = MemoryTool(
    "core_memory_rethink",
    "Write a whole block of your working context anew, shorter or better ordered; keep what still matters.",
    Rethinking,
    rethink,
)
