"""What this library reads from a conversation without a model, for programs that measure or display it.

It covers the artifacts of working agents, summary lines, and the state of a conversation's queue. Applications
do not need it. Its contents may change whenever the library gets better at reading.
"""

from __future__ import annotations

from hybrid_memory.artifacts.ledger import FileState, Ledger, Operation
from hybrid_memory.artifacts.reading import actions, errors, is_observation, outcome, read_ledger, refused
from hybrid_memory.context.compact import critical_items
from hybrid_memory.context.layout import LEAST_TOKENS, RECALLED_TURNS, as_event
from hybrid_memory.context.lines import MAX_LINE_CHARS, candidates, chosen, prose
from hybrid_memory.context.queue import QueueState
from hybrid_memory.context.strategies import STRATEGIES, Anchored, Recursive, Strategy, SummaryJob, statements
from hybrid_memory.facts.profile import first_said
from hybrid_memory.log.event import handle
from hybrid_memory.log.exchanges import is_echo
from hybrid_memory.log.message import PRESSURE, RESERVED, STOPPED, spoken
from hybrid_memory.recall.hit import parts

__all__ = [
    "LEAST_TOKENS", "MAX_LINE_CHARS", "PRESSURE", "RECALLED_TURNS", "RESERVED", "STOPPED", "STRATEGIES", "Anchored",
    "FileState", "Ledger", "Operation", "QueueState", "Recursive", "Strategy", "SummaryJob", "actions",
    "as_event", "candidates", "chosen", "critical_items", "errors", "first_said", "handle", "is_echo", "is_observation",
    "outcome", "parts", "prose", "read_ledger", "refused", "spoken", "statements",
]  # fmt: skip
