"""LlamaIndex's own memories as methods of the evaluation, each set up so that a prompt should fit its budget.

================================  ====================================================================================
``llamaindex-memory``             ``Memory`` without blocks: a queue that drops the oldest turns
``llamaindex-memory-vector``      ``Memory`` with a ``VectorMemoryBlock`` of what the queue dropped
``llamaindex-buffer``             ``ChatMemoryBuffer``: the newest turns
``llamaindex-summary-buffer``     ``ChatSummaryMemoryBuffer``: a summary of older turns, then the newest turns
================================  ====================================================================================

They are used as in ``FunctionAgent``: the user's words are put at once, tool calls and their results after the
assistant's answer. Until then these follow what the memory shows, and no memory limits them. A question is asked as in
a chat engine: the memory receives it, and it follows what the memory shows.

None of them can read again what it left out. The initial system messages come first, like a ``system_prompt``; the
budgets below are for the rest, `room`. Without a model, excerpts are of the conversation, not of the instructions
that LlamaIndex writes for a model.
"""

from __future__ import annotations

from importlib.util import find_spec

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory_evaluation import Method, StockMethod

NAMES = ("llamaindex-memory", "llamaindex-memory-vector", "llamaindex-buffer", "llamaindex-summary-buffer")


def methods() -> list[Method]:
    """LlamaIndex's memories.

    Raises:
        MissingDependencyError: LlamaIndex is not installed.
    """
    # The package llama_index is a namespace, which this distribution has a part in too.
    if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
        raise MissingDependencyError("llama-index-core", extra="llamaindex")
    return [StockMethod(name, f"{__name__}.replays") for name in NAMES]
