"""What the calls of an agent's tools are known to be: whose, which, and how long their answers may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hybrid_memory import ScopedMemory
from hybrid_memory.apps.agent import answer_tokens, aprepared, prepared
from hybrid_memory.errors import StoreError
from hybrid_memory.tools import MAX_TOKENS
from langchain_hybrid_memory.agents.beneath import caller_of, in_session
from langchain_hybrid_memory.agents.following import Follower
from langchain_hybrid_memory.scopes import Binding


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of tools over one memory.

    Attributes:
        binding: whose memory they work on.
        name: of the middleware that lays out the prompts of their agent; None where nobody knows.
        max_tokens: of those prompts; None where nobody knows.
        prepares: whether an owner without blocks gets some before the first call.
    """

    binding: Binding
    name: str | None = None
    max_tokens: Callable[[], int] | None = None
    prepares: bool = False

    def memory(self, runtime: Any) -> ScopedMemory:
        """Whose memory a call works on; raises `InvalidScopeError`."""
        memory = self._memory(runtime)
        if self.prepares:
            with suppress(StoreError):  # the call itself will find that out, and say so
                prepared(memory)
        return memory

    async def amemory(self, runtime: Any) -> ScopedMemory:
        """Async twin of `memory`."""
        memory = self._memory(runtime)
        if self.prepares:
            with suppress(StoreError):
                await aprepared(memory)
        return memory

    def _memory(self, runtime: Any) -> ScopedMemory:
        """That of the agent that made the call, which may itself work inside a tool of another."""
        memory = self.binding.scoped(runtime)
        caller = caller_of(self.binding.memory, memory)
        return memory if caller is None else in_session(self.binding.memory, memory, caller.session)

    def known(self, runtime: Any) -> dict[str, Any]:
        """The fields of `hybrid_memory.tools.tool.Call` that are known.

        Args:
            runtime: LangGraph's ``ToolRuntime``; None outside of a graph.
        """
        known: dict[str, Any] = {"max_tokens": self._answer_tokens}
        state, call = getattr(runtime, "state", None), getattr(runtime, "tool_call_id", None)
        if not isinstance(state, Mapping) or "messages" not in state:
            return known
        follower = Follower(state, self.name or "")
        if "blocks" in follower.seen:
            known["blocks"] = follower.seen["blocks"]
        names = follower.behind(call) if call else []
        if names:  # an id alone would not do: some models count their calls anew in each answer
            known |= {"id": call, "source": names[0], "because": tuple(names[1:])}
        return known

    @property
    def _answer_tokens(self) -> int:
        """Of an answer that a prompt shows in full."""
        if self.name is None or self.max_tokens is None:
            return MAX_TOKENS
        return answer_tokens(self.max_tokens())
