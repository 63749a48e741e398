"""MemGPT: a model that manages its own memory with functions, and the event loop that drives it."""

from __future__ import annotations

from hybrid_memory_paging.agent import AgentRun, PagedAgent
from hybrid_memory_paging.functions import PAGING_FUNCTIONS, SEND, functions_named
from hybrid_memory_paging.instructions import MEMORY, answer_tokens, aprepared, instructions, prepared

__all__ = [
    "MEMORY",
    "PAGING_FUNCTIONS",
    "SEND",
    "AgentRun",
    "PagedAgent",
    "answer_tokens",
    "aprepared",
    "functions_named",
    "instructions",
    "prepared",
]
