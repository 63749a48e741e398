"""Hybrid memory for LangChain: a chat memory and a chat message history over one durable log.

Names are imported on first use, so that classes which LangChain has deprecated load only if you use them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid_memory import __version__ as __version__
from hybrid_memory.errors import MissingDependencyError

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
    from langchain_hybrid_memory.store import namespace_ids as namespace_ids
    from langchain_hybrid_memory.tools import memory_tools as memory_tools

_HOME = {
    "HybridChatMemory": "chat_memory",
    "HybridChatMessageHistory": "history",
    "HybridDocumentCompressor": "documents",
    "HybridMemoryBackend": "deepagents",
    "HybridMemoryMiddleware": "middleware",
    "HybridMemoryRetriever": "documents",
    "HybridMemoryStore": "store",
    "from_langchain": "messages",
    "memory_tools": "tools",
    "namespace": "store",
    "namespace_ids": "store",
    "to_langchain": "messages",
}

__all__ = [
    "HybridChatMemory",
    "HybridChatMessageHistory",
    "HybridDocumentCompressor",
    "HybridMemoryBackend",
    "HybridMemoryMiddleware",
    "HybridMemoryRetriever",
    "HybridMemoryStore",
    "__version__",
    "from_langchain",
    "memory_tools",
    "namespace",
    "namespace_ids",
    "to_langchain",
]


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = import_module(f"{__name__}.{_HOME[name]}")
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in {"langchain", "langchain_core", "langchain_classic", "langgraph"}:
                raise
            raise MissingDependencyError(package.replace("_", "-"), "langchain") from error
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
