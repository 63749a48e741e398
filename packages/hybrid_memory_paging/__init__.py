"""MemGPT: a model that manages its own memory with functions, and the event loop that drives it."""

from __future__ import annotations

from hybrid_memory_paging.agent import PagedAgent
from hybrid_memory_paging.functions import PAGING_FUNCTIONS, SEND, functions_named
from hybrid_memory_paging.instructions import MEMORY, answer_tokens, aprepared, instructions, prepared, schema
from hybrid_memory_paging.loop import AgentRun
from hybrid_memory_paging.timers import Alarm

__all__ = [
    "MEMORY",
    "PAGING_FUNCTIONS",
    "SEND",
    "AgentRun",
    "Alarm",
    "PagedAgent",
    "answer_tokens",
    "aprepared",
    "functions_named",
    "instructions",
    "prepared",
    "schema",
]
