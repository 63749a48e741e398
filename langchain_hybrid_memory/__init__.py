"""Hybrid memory for LangChain: a chat memory and a chat message history over one durable log.

Names are imported on first use, so that classes which LangChain has deprecated load only if you use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_memory import __version__ as __version__
from hybrid_memory.sockets import on_first_use

if TYPE_CHECKING:
    from langchain_hybrid_memory.chat_memory import HybridChatMemory as HybridChatMemory
    from langchain_hybrid_memory.deepagents import HybridMemoryBackend as HybridMemoryBackend
    from langchain_hybrid_memory.documents import HybridDocumentCompressor as HybridDocumentCompressor
    from langchain_hybrid_memory.documents import HybridMemoryRetriever as HybridMemoryRetriever
    from langchain_hybrid_memory.history import HybridChatMessageHistory as HybridChatMessageHistory
    from langchain_hybrid_memory.messages import from_langchain as from_langchain
    from langchain_hybrid_memory.messages import to_langchain as to_langchain
    from langchain_hybrid_memory.middleware import HybridMemoryMiddleware as HybridMemoryMiddleware
    from langchain_hybrid_memory.store import HybridMemoryStore as HybridMemoryStore
    from langchain_hybrid_memory.store import namespace as namespace
    from langchain_hybrid_memory.tools import memory_tools as memory_tools

__all__ = [
    "HybridChatMemory", "HybridChatMessageHistory", "HybridDocumentCompressor", "HybridMemoryBackend",
    "HybridMemoryMiddleware", "HybridMemoryRetriever", "HybridMemoryStore", "__version__", "from_langchain",
    "memory_tools", "namespace", "to_langchain",
]  # fmt: skip

if not TYPE_CHECKING:  # type checkers know the names above, and no others
    __getattr__ = on_first_use(
        __name__,
        {
            f"{__name__}.chat_memory": "HybridChatMemory",
            f"{__name__}.deepagents": "HybridMemoryBackend",
            f"{__name__}.documents": "HybridDocumentCompressor HybridMemoryRetriever",
            f"{__name__}.history": "HybridChatMessageHistory",
            f"{__name__}.messages": "from_langchain to_langchain",
            f"{__name__}.middleware": "HybridMemoryMiddleware",
            f"{__name__}.store": "HybridMemoryStore namespace",
            f"{__name__}.tools": "memory_tools",
        },
        needs={
            "langchain": "langchain", "langchain_core": "langchain-core", "langchain_classic": "langchain-classic",
            "langgraph": "langgraph",
        },
        extra="langchain",
    )  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
