"""The MemGPT part: a model that manages its own memory by functions, and the loop that drives it by events."""

from __future__ import annotations

from hybrid_memory.paging.agent import PagedAgent
from hybrid_memory.paging.functions import PAGING_FUNCTIONS, functions_named
from hybrid_memory.paging.instructions import MEMORY, instructions, schema
from hybrid_memory.paging.preparing import aprepared, prepared
from hybrid_memory.paging.run import AgentRun
from hybrid_memory.paging.shares import answer_tokens
from hybrid_memory.paging.timers import Alarm

__all__ = [
    "MEMORY",
    "PAGING_FUNCTIONS",
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
