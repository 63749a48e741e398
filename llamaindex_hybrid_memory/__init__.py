"""LlamaIndex on top of `hybrid_memory`: a chat memory for agents and chat engines.

Names are imported on first use; those that need LlamaIndex need the extra ``llamaindex``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_memory import __version__ as __version__
from hybrid_memory.sockets import on_first_use

if TYPE_CHECKING:
    from llamaindex_hybrid_memory.chat_memory import HybridChatMemory as HybridChatMemory
    from llamaindex_hybrid_memory.chat_store import HybridChatStore as HybridChatStore
    from llamaindex_hybrid_memory.memory_block import HybridMemoryBlock as HybridMemoryBlock
    from llamaindex_hybrid_memory.messages import from_chat_message as from_chat_message
    from llamaindex_hybrid_memory.messages import to_chat_message as to_chat_message
    from llamaindex_hybrid_memory.postprocessors import CompressionPostprocessor as CompressionPostprocessor
    from llamaindex_hybrid_memory.retriever import HybridMemoryRetriever as HybridMemoryRetriever
    from llamaindex_hybrid_memory.tools import HybridMemoryToolSpec as HybridMemoryToolSpec

__all__ = [
    "CompressionPostprocessor", "HybridChatMemory", "HybridChatStore", "HybridMemoryBlock",
    "HybridMemoryRetriever", "HybridMemoryToolSpec", "__version__", "from_chat_message", "to_chat_message",
]  # fmt: skip

if not TYPE_CHECKING:  # type checkers know the names above, and no others
    __getattr__ = on_first_use(
        __name__,
        {
            f"{__name__}.chat_memory": "HybridChatMemory",
            f"{__name__}.chat_store": "HybridChatStore",
            f"{__name__}.memory_block": "HybridMemoryBlock",
            f"{__name__}.messages": "from_chat_message to_chat_message",
            f"{__name__}.postprocessors": "CompressionPostprocessor",
            f"{__name__}.retriever": "HybridMemoryRetriever",
            f"{__name__}.tools": "HybridMemoryToolSpec",
        },
        needs={"llama_index": "llama-index-core"},
        extra="llamaindex",
    )


def __dir__() -> list[str]:
    return sorted(__all__)
