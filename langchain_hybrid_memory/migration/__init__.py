"""LangChain's memory classes over a hybrid memory: to migrate a program, change its import line."""

from __future__ import annotations

from hybrid_memory.errors import MissingDependencyError

try:
    from langchain_hybrid_memory.migration.memories import (
        ConversationBufferMemory,
        ConversationBufferWindowMemory,
        ConversationSummaryBufferMemory,
        ConversationSummaryMemory,
    )
    from langchain_hybrid_memory.migration.retrieval import VectorStoreRetrieverMemory
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in {"langchain_core", "langchain_classic"}:
        raise
    raise MissingDependencyError(package.replace("_", "-"), "langchain") from error

__all__ = [
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "VectorStoreRetrieverMemory",
]
