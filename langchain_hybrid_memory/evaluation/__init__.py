"""LangChain's own memories as methods of the evaluation, each as its documentation sets it up for a budget.

================================  ====================================================================================
``langchain-summarization``       ``SummarizationMiddleware``, called before each model call as ``create_agent`` does
``langchain-trim``                ``trim_messages(strategy="last", start_on="human", include_system=True)``
``langchain-summary-buffer``      ``ConversationSummaryBufferMemory``
``langchain-summary``             ``ConversationSummaryMemory``: a summary and no turn word by word
``langchain-buffer-window``       ``ConversationBufferWindowMemory`` with its five exchanges, whatever they take
================================  ====================================================================================

The last three store what the user put in and what the assistant put out. Calls of tools, their results and later system
messages are shown in the turn that they belong to, and lost after it.

None of them has a way back to what it left out. The system messages that a conversation begins with stand in front, as
an application puts them there; the budgets below are of the rest, `room`. Where there is no model, the `StandIn` is
shown the conversation alone, not the instructions that LangChain writes for a model.
"""

from __future__ import annotations

from importlib.util import find_spec

from hybrid_memory.apps.evaluation import Method, StockMethod
from hybrid_memory.errors import MissingDependencyError

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
