"""What this library reads from a conversation without a model, for programs that measure or display it.

It covers the artifacts of working agents, summary lines, facts found by rules, and the markup of prompts. Applications
do not need it. Its contents may change whenever the library gets better at reading.
"""

from __future__ import annotations

from hybrid_memory.artifacts import read_ledger
from hybrid_memory.artifacts.calls import actions
from hybrid_memory.artifacts.ledger import FileState, Ledger, Operation, TestRun
from hybrid_memory.artifacts.results import (
    errors,
    ids,
    is_observation,
    labelled_ids,
    outcome,
    refused,
    urls,
    verdicts,
)
from hybrid_memory.context.layout import Parts, as_event, memory_mark
from hybrid_memory.context.lines import MAX_LINE_CHARS, candidates, chosen, prose
from hybrid_memory.context.queue import QueueState
from hybrid_memory.context.request import LEAST_TOKENS, RECALLED_TURNS
from hybrid_memory.context.strategies import (
    STRATEGIES,
    Anchored,
    ModelKind,
    Recursive,
    Strategy,
    SummaryJob,
    statements,
    transcript,
)
from hybrid_memory.context.summarise import critical_items
from hybrid_memory.facts.attributes import RULE, attribute
from hybrid_memory.facts.fact import USER, Claim, Stance
from hybrid_memory.facts.profile import first_said
from hybrid_memory.facts.resolving import resolve
from hybrid_memory.facts.statements import Statements
from hybrid_memory.log.event import handle
from hybrid_memory.log.exchanges import is_echo
from hybrid_memory.log.message import PRESSURE, RESERVED, STOPPED
from hybrid_memory.log.origin import spoken
from hybrid_memory.recall.hit import parts
from hybrid_memory.text.marks import escaped

__all__ = [
    "LEAST_TOKENS", "MAX_LINE_CHARS", "PRESSURE", "RECALLED_TURNS", "RESERVED", "RULE", "STOPPED",
    "STRATEGIES", "USER", "Anchored", "Claim", "FileState", "Ledger", "ModelKind", "Operation", "Parts",
    "QueueState", "Recursive", "Stance", "Statements", "Strategy", "SummaryJob", "TestRun", "actions",
    "as_event", "attribute", "candidates", "chosen", "critical_items", "errors", "escaped", "first_said", "handle",
    "ids", "is_echo", "is_observation", "labelled_ids", "memory_mark", "outcome", "parts",
    "prose", "read_ledger", "refused", "resolve", "spoken", "statements", "transcript", "urls",
    "verdicts",
]  # fmt: skip
