"""mem0 as its guide for LangGraph puts it into an agent: found before the model is asked, added after the answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from benchmarks.acting.surroundings import USER
from benchmarks.peers.mem0_store import in_files

CONTEXT = (
    "Use the provided context to personalize your responses and remember user preferences and past interactions.\n"
    "Relevant information from previous conversations:"
)


class Mem0Chats:
    """Its `Memory` in a folder of its own; without a model it keeps what was said as it was said."""

    def __init__(self, embedder: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._memory = in_files(embedder, len(embedder.embed_query("")), Path(self._folder.name))

    def found(self, text: str) -> list[str]:
        """The memories for a text, by its own defaults."""
        results = self._memory.search(text, filters={"user_id": USER})["results"]
        return [str(result["memory"]) for result in results]

    def add(self, asked: str, answered: str) -> None:
        """Keep a turn."""
        turn = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        self._memory.add(turn, user_id=USER, infer=False)

    def close(self) -> None:
        """Close its store."""
        self._memory.vector_store.client.close()
        self._memory.db.close()
        self._folder.cleanup()


class Mem0Middleware(AgentMiddleware[Any, Any, Any]):
    """Puts memories behind the system prompt."""

    def __init__(self, chats: Mem0Chats) -> None:
        super().__init__()
        self._chats = chats

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask with the memories."""
        found = [f"- {memory}" for memory in self._chats.found(_asked(request.messages))]
        own = request.system_message.text if request.system_message else ""
        return handler(request.override(system_message=SystemMessage("\n".join([own, CONTEXT, *found]))))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep the turn."""
        self._chats.add(_asked(state["messages"]), state["messages"][-1].text)


def _asked(messages: list[Any]) -> str:
    said: list[BaseMessage] = [message for message in messages if message.type == "human"]
    return said[-1].text if said else ""
