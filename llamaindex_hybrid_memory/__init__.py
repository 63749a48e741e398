"""LlamaIndex on top of `hybrid_memory`: a chat memory for agents and chat engines.

Names are imported on first use; those that need LlamaIndex need the extra ``llamaindex``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid_memory import __version__ as __version__
from hybrid_memory.errors import MissingDependencyError

if TYPE_CHECKING:
    from llamaindex_hybrid_memory.chat_memory import HybridChatMemory as HybridChatMemory
    from llamaindex_hybrid_memory.chat_stores import HybridBufferStore as HybridBufferStore
    from llamaindex_hybrid_memory.chat_stores import HybridChatStore as HybridChatStore
    from llamaindex_hybrid_memory.memory_block import HybridMemoryBlock as HybridMemoryBlock
    from llamaindex_hybrid_memory.messages import from_chat_message as from_chat_message
    from llamaindex_hybrid_memory.messages import to_chat_message as to_chat_message
    from llamaindex_hybrid_memory.postprocessors import CompressionPostprocessor as CompressionPostprocessor
    from llamaindex_hybrid_memory.retriever import HybridMemoryRetriever as HybridMemoryRetriever
    from llamaindex_hybrid_memory.tools import HybridMemoryToolSpec as HybridMemoryToolSpec

_HOME = {
    "CompressionPostprocessor": "postprocessors",
    "HybridBufferStore": "chat_stores",
    "HybridChatMemory": "chat_memory",
    "HybridChatStore": "chat_stores",
    "HybridMemoryBlock": "memory_block",
    "HybridMemoryRetriever": "retriever",
    "HybridMemoryToolSpec": "tools",
    "from_chat_message": "messages",
    "to_chat_message": "messages",
}

__all__ = [
    "CompressionPostprocessor",
    "HybridBufferStore",
    "HybridChatMemory",
    "HybridChatStore",
    "HybridMemoryBlock",
    "HybridMemoryRetriever",
    "HybridMemoryToolSpec",
    "__version__",
    "from_chat_message",
    "to_chat_message",
]


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = import_module(f"{__name__}.{_HOME[name]}")
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "llama_index":
                raise
            raise MissingDependencyError("llama-index-core", extra="llamaindex") from error
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
