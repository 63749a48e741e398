"""What a middleware adds where the model pages its memory itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.tools import BaseTool

from hybrid_memory import Block, PagingConfig, ScopedMemory
from hybrid_memory.apps.agent import MEMORY, PAGING_FUNCTIONS, aprepared, prepared
from hybrid_memory.apps.agent.functions import SEND
from hybrid_memory.blocks.block import MAX_CHARS, checked_label, checked_length, checked_text
from langchain_hybrid_memory.agents.calls import Calls
from langchain_hybrid_memory.agents.tools import as_langchain

READER = "fetch"
"""The function that reads what a handle names."""


@dataclass(frozen=True, slots=True)
class Paging:
    """How a middleware lets the model page.

    Attributes:
        config: of the window.
        begins: texts of the blocks that an owner begins with, beside those of MemGPT.
    """

    config: PagingConfig
    begins: Mapping[str, str]

    @classmethod
    def of(cls, paging: bool | PagingConfig, begins: Mapping[str, str] | None) -> Self | None:
        """The settings; None for no paging. Raises `InvalidInputError` for a label or text that no block can have."""
        if paging is False:
            return None
        for label, text in (begins or {}).items():
            checked_length(checked_label(label), checked_text("a block", text), MAX_CHARS)
        return cls(PagingConfig() if paging is True else paging, dict(begins or {}))

    @property
    def layout(self) -> dict[str, Any]:
        """What `ScopedMemory.assemble` is told."""
        return {"instructions": MEMORY, "layout": "queue", "paging": self.config, "reader": READER}

    def blocks(self, memory: ScopedMemory) -> dict[str, Block]:
        """Those of the owner, who gets some where there never were any."""
        prepared(memory, self.begins)
        return memory.blocks()

    async def ablocks(self, memory: ScopedMemory) -> dict[str, Block]:
        """Async twin of `blocks`."""
        await aprepared(memory, self.begins)
        return await memory.ablocks()


def paging_tools(calls: Calls) -> list[BaseTool]:
    """The functions of paging; without ``send_message``, since the model's own answer is what the user reads."""
    return [as_langchain(function, calls) for function in PAGING_FUNCTIONS if function is not SEND]


def written(blocks: Mapping[str, Block] | None) -> dict[str, Any]:
    """What `ScopedMemory.assemble` is told of the blocks, as a model sees them that may edit them."""
    return {} if blocks is None else {"blocks": {label: block.written for label, block in blocks.items()}}
