"""LangChain's own memories as methods of the evaluation, each set up for a budget as its documentation says.

================================  ====================================================================================
``langchain-summarization``       ``SummarizationMiddleware``, called before each model call as ``create_agent`` does
``langchain-trim``                ``trim_messages(strategy="last", start_on="human", include_system=True)``
``langchain-summary-buffer``      ``ConversationSummaryBufferMemory``
``langchain-summary``             ``ConversationSummaryMemory``: a summary and no verbatim turns
``langchain-buffer-window``       ``ConversationBufferWindowMemory`` with its five exchanges, whatever their size
================================  ====================================================================================

The last three store the user's input and the assistant's output. Tool calls, their results and later system messages
are shown in their own turn and lost after it.

None of them can read again what it left out. The initial system messages come first, as in an application; the budgets
below are for the rest, `room`. Without a model, excerpts are of the conversation, not of the instructions that
LangChain writes for a model.
"""

from __future__ import annotations

from importlib.util import find_spec

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory_evaluation import Method, StockMethod

NAMES = (
    "langchain-summarization",
    "langchain-trim",
    "langchain-summary-buffer",
    "langchain-summary",
    "langchain-buffer-window",
)


def methods() -> list[Method]:
    """LangChain's memories.

    Raises:
        MissingDependencyError: LangChain, or its classic part, is not installed.
    """
    for package in ("langchain", "langchain_classic"):
        if find_spec(package) is None:
            raise MissingDependencyError(package.replace("_", "-"), extra="langchain")
    return [StockMethod(name, f"{__name__}.replays") for name in NAMES]
