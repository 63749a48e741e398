"""A LangChain chat memory: the recent turns of a session, and what is recalled over all sessions of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
)
from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.memory import HybridMemory
from hybrid_memory.tiers.context import recollect
from hybrid_memory.types import Hit, Message
from langchain_hybrid_memory.history import HybridChatMessageHistory
from langchain_hybrid_memory.messages import to_langchain

INPUT_KEYS = ("input", "question", "query", "human_input")
"""Which of several inputs is the user's turn, first one first, unless ``input_key`` says so."""

OUTPUT_KEYS = ("output", "answer", "text", "response", "result")
"""Which of several outputs is the answer, first one first, unless ``output_key`` says so."""


class HybridChatMemory(BaseChatMemory):
    """Memory of a chain: the recent turns of this session, and what was recalled over all sessions of the user.

    The turns since the last `clear` come back as they were said; a tool call and its results stay together or are
    left out together. What was recalled for the chain's input, and is not among them, stands in front as a note: a
    system message, or text on top if ``return_messages`` is off. Only input and output are stored, never the variables
    that a memory put into the prompt. Everything is durable at once, so a new object over the same store goes on
    where the last one ended.

    Attributes:
        memory: an open memory; several chat memories may share it.
        user, agent, tenant: whose memory it is; at least one.
        session: the conversation.
        chat_memory: the raw log of the session.
        memory_key: the prompt variable.
        input_key, output_key: the user's turn among the chain's inputs and the answer among its outputs; without them
            the only one, else the first of `INPUT_KEYS` and `OUTPUT_KEYS` that is there.
        return_messages: messages for a placeholder, or one string for a text prompt.
        human_prefix, ai_prefix: the speakers' names in the string.
        k: the most recalled turns; 0 recalls nothing.
        window: the most recent messages; 0 leaves them to recall.

    Raises:
        InvalidScopeError: no session, or none of user, agent and tenant.
        InvalidConfigError: ``chat_memory`` was given, or ``input_key`` is the memory's own variable.
        pydantic.ValidationError: another argument is wrong or unknown.
    """

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
    k: int = Field(default=5, ge=0)
    window: int = Field(default=10, ge=0)

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

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The recent turns and the note, under ``memory_key``; without an input only the recent turns.

        Raises:
            InvalidInputError: it is not clear which of the inputs is the user's turn.
        """
        query = self._query(inputs)
        hits = self.chat_memory.scoped.recall(query, k=self.k + self.window) if query else []
        return {self.memory_key: self._view(self.chat_memory.recent(self.window), hits)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Async twin of `load_memory_variables`."""
        query = self._query(inputs)
        hits = await self.chat_memory.scoped.arecall(query, k=self.k + self.window) if query else []
        return {self.memory_key: self._view(await self.chat_memory.arecent(self.window), hits)}

    def save_context(self, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Append the user's turn and the answer to the log, both or neither; durable on return.

        Both may be text, a message or a list of messages. What says nothing is left out.

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

    def _view(self, history: Sequence[Message], hits: Sequence[Hit]) -> str | list[BaseMessage]:
        # More than k were recalled, to make up for those among the recent turns.
        found = recollect(history, hits, limit=self.window, k=self.k)
        # Providers refuse a conversation with an empty message in it.
        recent = [message for message in map(to_langchain, found.recent) if _says_something(message)]
        if self.return_messages:
            return [SystemMessage(content=found.note), *recent] if found.note else recent
        text = get_buffer_string(recent, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n\n".join(part for part in (found.note, text) if part)

    def _query(self, inputs: Mapping[str, Any]) -> str:
        """What to recall for; empty if there is no input or nothing is to be recalled."""
        own = self._own(inputs)
        if not self.k or not own or (self.input_key is not None and self.input_key not in own):
            return ""
        said = _messages("input", _pick("input", own, self.input_key, INPUT_KEYS), HumanMessage)
        asked = [message for message in said if isinstance(message, HumanMessage)] or said
        return str(asked[-1].text).strip() if asked else ""

    def _turn(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[BaseMessage]:
        said = _messages("input", _pick("input", self._own(inputs), self.input_key, INPUT_KEYS), HumanMessage)
        answered = _messages("output", _pick("output", outputs, self.output_key, OUTPUT_KEYS), AIMessage)
        return [message for message in (*said, *answered) if _says_something(message)]

    def _own(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs without what memories put there; ``stop`` is a setting of the model."""
        return {key: value for key, value in inputs.items() if key not in {*self.memory_variables, "stop"}}


def _pick(side: str, values: Mapping[str, Any], key: str | None, usual: Sequence[str]) -> Any:
    """The value meant: under the key, else the only one, else under the first usual name."""
    if key is None and len(values) == 1:
        return next(iter(values.values()))
    wanted = usual if key is None else (key,)
    for name in wanted:
        if name in values:
            return values[name]
    raise InvalidInputError(f"which {side} is the turn? {sorted(values)} has none of {list(wanted)}: set {side}_key")


def _messages(side: str, value: Any, speaker: type[HumanMessage | AIMessage]) -> list[BaseMessage]:
    if isinstance(value, str):
        return [speaker(content=value)]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(message, BaseMessage) for message in value):
        return list(value)
    raise InvalidInputError(f"the {side} must be text, a message or a list of messages, got {type(value).__name__}")


def _says_something(message: BaseMessage) -> bool:
    words = message.content.strip() if isinstance(message.content, str) else message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(words or calls or message.additional_kwargs) or isinstance(message, ToolMessage | FunctionMessage)
