"""The functions with which a model manages its own memory, under MemGPT's names (arXiv 2310.08560)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from hybrid_memory import Block, Origin, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.tools import MemoryTool, tools_named
from hybrid_memory.tools.tool import Call
from hybrid_memory.validation import CheckedModel
from hybrid_memory_paging.searching import ARCHIVE, EXPAND, FETCH, SEARCH, SEARCH_ARCHIVE, SEARCH_DATE

LABEL = "The block, such as 'human'"


class Appending(CheckedModel):
    """What to add."""

    label: str = Field(description=LABEL)
    content: str = Field(description="Added as a new line at the end of the block")


async def append(call: Call, memory: ScopedMemory, wanted: Appending) -> str:
    """Add a line to a block."""
    known = _known(call)
    return _done(await call(memory.block(wanted.label).edit, append=wanted.content, **known))


class Replacing(CheckedModel):
    """What to replace, and by what."""

    label: str = Field(description=LABEL)
    old_content: str = Field(description="The text to replace, exactly as in the block")
    new_content: str = Field(default="", description="The replacement; empty removes the old text")


async def replace(call: Call, memory: ScopedMemory, wanted: Replacing) -> str:
    """Change part of a block."""
    known = _known(call)
    edited = await call(memory.block(wanted.label).edit, old=wanted.old_content, new=wanted.new_content, **known)
    return _done(edited)


class Rethinking(CheckedModel):
    """The new text."""

    label: str = Field(description=LABEL)
    new_content: str = Field(description="The new text of the whole block")


async def rethink(call: Call, memory: ScopedMemory, wanted: Rethinking) -> str:
    """Rewrite a block, if the model has seen its current version."""
    known = _known(call)
    seen = None if call.blocks is None else call.blocks.get(wanted.label)
    return _done(await call(memory.block(wanted.label).edit, value=wanted.new_content, revision=seen, **known))


def _known(call: Call) -> dict[str, Any]:
    """The origin and the sources of a model's edit."""
    return {"id": call.key, "source": call.sources, "origin": Origin.ASSISTANT}


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
    "Correct or remove part of a block of your working context.",
    Replacing,
    replace,
)
RETHINK = MemoryTool(
    "core_memory_rethink",
    "Rewrite a whole block of your working context, to shorten or reorder it; keep what still matters.",
    Rethinking,
    rethink,
)


class Sending(CheckedModel):
    """What to say."""

    message: str = Field(description="What the user reads")


async def send(call: Call, memory: ScopedMemory, wanted: Sending) -> str:
    """The message itself; the caller passes it to the user."""
    _ = call, memory
    if not wanted.message.strip():
        raise InvalidInputError("message is empty: say something to the user")
    return wanted.message


SEND = MemoryTool("send_message", "Say something to the user: the only words of yours that they see.", Sending, send)

PAGING_FUNCTIONS = (
    APPEND, REPLACE, RETHINK, ARCHIVE, SEARCH_ARCHIVE, SEARCH, SEARCH_DATE, EXPAND, FETCH, SEND
)  # fmt: skip
"""All of them."""


def functions_named(names: Iterable[str] | None) -> list[MemoryTool]:
    """The functions with these names, in the order of `PAGING_FUNCTIONS`; None names all.

    Raises:
        InvalidInputError: there is no function of that name.
    """
    return tools_named(names, PAGING_FUNCTIONS)
