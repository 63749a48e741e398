"""What the chat memories for chains have in common: whose they are, what they write, and how turns are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ConfigDict, Field

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError
from langchain_hybrid_memory.chains.history import HybridChatMessageHistory
from langchain_hybrid_memory.chains.steps import STEPS, step_messages
from langchain_hybrid_memory.chains.turns import (
    INPUT_KEYS,
    OUTPUT_KEYS,
    as_lines,
    as_messages,
    last_words,
    pick,
    says_something,
)


class SessionMemory(BaseChatMemory):
    """A chat memory of a chain that writes into the log of one session; see `HybridChatMemory` for the attributes."""

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory = Field(frozen=True)
    user: str | None = Field(default=None, frozen=True)
    session: str | None = Field(default=None, frozen=True)
    tenant: str | None = Field(default=None, frozen=True)
    agent: str | None = Field(default=None, frozen=True)
    chat_memory: HybridChatMessageHistory = Field(default=None)  # type: ignore[assignment]  # set by __init__
    memory_key: str = "history"
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    keep_steps: bool = True

    if not TYPE_CHECKING:  # type checkers keep the field names; callers get our errors, which pydantic would wrap

        def __init__(self, **data: Any) -> None:
            if "chat_memory" in data:
                raise InvalidConfigError("chat_memory is the session's log in the memory: leave it out")
            super().__init__(**data)
            if self.input_key in self.memory_variables:
                raise InvalidConfigError(f"input_key {self.input_key!r} is the memory's own variable: choose another")
            self.chat_memory = HybridChatMessageHistory(
                self.memory, session=self.session, user=self.user, agent=self.agent, tenant=self.tenant
            )

    @property
    def memory_variables(self) -> list[str]:
        """The one prompt variable: ``[memory_key]``."""
        return [self.memory_key]

    def save_context(self, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Append the user's turn, the tool steps and the answer to the log, all or none; durable on return.

        Turn and answer may be text, a message or a list of messages. What says nothing is left out.

        Raises:
            InvalidInputError: it is not clear which input or output is meant, or it is something else.
            InvalidMessageError: one of them cannot be stored. Nothing was written.
        """
        self.chat_memory.add_messages(self._turn(inputs, outputs))

    async def asave_context(self, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Async twin of `save_context`."""
        await self.chat_memory.aadd_messages(self._turn(inputs, outputs))

    def clear(self) -> None:
        """Let the recent turns start anew from here, also after a restart.

        The log is append-only: what was said before is not deleted and can still be recalled.
        """
        self.chat_memory.clear()

    async def aclear(self) -> None:
        """Async twin of `clear`."""
        await self.chat_memory.aclear()

    def _view(self, turns: Sequence[BaseMessage], *, before: str = "", after: str = "") -> str | list[BaseMessage]:
        """The turns between two notes, as a chain wants them."""
        if not self.return_messages:
            return self._as_text(turns, before, after)
        head = [SystemMessage(content=before)] if before else []
        said = [message for message in turns if says_something(message)]
        return [*head, *said, *([HumanMessage(content=after)] if after else [])]

    def _as_text(self, turns: Sequence[BaseMessage], before: str = "", after: str = "") -> str:
        said = [message for message in turns if says_something(message)]
        text = as_lines(said, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n\n".join(part for part in (before, text, after) if part)

    def _turn(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[BaseMessage]:
        said = as_messages("input", pick("input", self._own(inputs), self.input_key, INPUT_KEYS), HumanMessage)
        given = {key: value for key, value in outputs.items() if key != STEPS}
        answered = as_messages("output", pick("output", given, self.output_key, OUTPUT_KEYS), AIMessage)
        steps = step_messages(outputs.get(STEPS), last_words(said)) if self.keep_steps else []
        return [message for message in (*said, *steps, *answered) if says_something(message)]

    def _own(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs without what memories put there; ``stop`` is a setting of the model."""
        return {key: value for key, value in inputs.items() if key not in {*self.memory_variables, "stop"}}
