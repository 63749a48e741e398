"""The MemGPT part: a model that manages its own memory by functions, and the loop that drives it by events."""

from __future__ import annotations

from hybrid_memory.apps.agent.agent import PagedAgent
from hybrid_memory.apps.agent.functions import PAGING_FUNCTIONS, SEND, functions_named
from hybrid_memory.apps.agent.instructions import MEMORY, instructions, schema
from hybrid_memory.apps.agent.preparing import aprepared, prepared
from hybrid_memory.apps.agent.run import AgentRun
from hybrid_memory.apps.agent.shares import answer_tokens
from hybrid_memory.apps.agent.timers import Alarm

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
