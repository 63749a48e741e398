"""LlamaIndex's own memories as methods of the evaluation, each set up so that a prompt should fit its budget.

================================  ====================================================================================
``llamaindex-memory``             ``Memory`` without blocks: a queue that drops the oldest turns
``llamaindex-memory-vector``      ``Memory`` with a ``VectorMemoryBlock`` of what the queue dropped
``llamaindex-buffer``             ``ChatMemoryBuffer``: the newest turns
``llamaindex-summary-buffer``     ``ChatSummaryMemoryBuffer``: the newest turns behind a summary of the others
================================  ====================================================================================

They are used as ``FunctionAgent`` does: what the user says is put at once, the calls of tools and their results once
the assistant has answered. Until then they stand behind what the memory shows, and no memory limits them. A question
is asked as a chat engine asks it: the memory gets it, and it follows what the memory shows.

None of them has a way back to what it left out. The system messages that a conversation begins with stand in front, as
``system_prompt`` does; the budgets below are of the rest, `room`. Where there is no model, the `StandIn` is shown the
conversation alone, not the instructions that LlamaIndex writes for a model.
"""

from __future__ import annotations

from importlib.util import find_spec

from hybrid_memory.apps.evaluation import Method, StockMethod
from hybrid_memory.errors import MissingDependencyError

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
