"""MemGPT: a model that manages its own memory with functions, and the event loop that drives it."""

from __future__ import annotations

from hybrid_memory.apps.agent.agent import PagedAgent
from hybrid_memory.apps.agent.functions import PAGING_FUNCTIONS, SEND, functions_named
from hybrid_memory.apps.agent.instructions import MEMORY, answer_tokens, aprepared, instructions, prepared, schema
from hybrid_memory.apps.agent.loop import AgentRun
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
