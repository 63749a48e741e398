"""A LangChain chat memory: the recent turns of a session, and what is recalled over all sessions of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, get_buffer_string
from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.flows.assemble import LEAST_TOKENS
from hybrid_memory.memory import HybridMemory
from hybrid_memory.tiers.context import recollect
from hybrid_memory.types import Context, Message, Role
from langchain_hybrid_memory.history import HybridChatMessageHistory
from langchain_hybrid_memory.messages import to_langchain
from langchain_hybrid_memory.turns import INPUT_KEYS, OUTPUT_KEYS, as_messages, pick, says_something


class HybridChatMemory(BaseChatMemory):
    """Memory of a chain: the recent turns of this session, and what was recalled over all sessions of the user.

    The turns since the last `clear` come back as they were said; a tool call and its results stay together or are
    left out together. What was recalled for the chain's input, and is not among them, stands in front as a note: a
    system message, or text on top if ``return_messages`` is off.

    With ``max_tokens`` a long session fits too. What `ScopedMemory.assemble` lays out comes back: a system message with
    the summary of older turns, then the recent ones, each of the user's behind what was recalled for it, so that a
    prompt begins with the one before. What was recalled for the input stands last, right before the place where the
    chain puts it: as a human message, because providers refuse a system message there.

    Only input and output are stored, never the variables that a memory put into the prompt. Everything is durable at
    once, so a new object over the same store goes on where the last one ended.

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
        window: the most recent messages, without ``max_tokens``; 0 leaves them to recall.
        max_tokens: of what comes back and the input together; of an input that leaves no room nothing is recalled.

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
    max_tokens: int | None = Field(default=None, ge=LEAST_TOKENS)

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
        """The recent turns, the summary and the note, under ``memory_key``; without an input nothing is recalled.

        Raises:
            InvalidInputError: it is not clear which of the inputs is the user's turn.
        """
        query = self._query(inputs)
        if self.max_tokens is not None:
            for asked, k in self._attempts(query):
                with suppress(InvalidInputError):
                    context = self.chat_memory.scoped.assemble(asked, max_tokens=self.max_tokens, k=k)
                    return {self.memory_key: self._laid_out(context, asked)}
            return {self.memory_key: self._view([])}
        # More than k, to make up for those among the recent turns.
        hits = self.chat_memory.scoped.recall(query, k=self.k + self.window) if query else []
        found = recollect(self.chat_memory.recent(self.window), hits, limit=self.window, k=self.k)
        return {self.memory_key: self._view(found.recent, before=found.note)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Async twin of `load_memory_variables`."""
        query = self._query(inputs)
        if self.max_tokens is not None:
            for asked, k in self._attempts(query):
                with suppress(InvalidInputError):
                    context = await self.chat_memory.scoped.aassemble(asked, max_tokens=self.max_tokens, k=k)
                    return {self.memory_key: self._laid_out(context, asked)}
            return {self.memory_key: self._view([])}
        hits = await self.chat_memory.scoped.arecall(query, k=self.k + self.window) if query else []
        found = recollect(await self.chat_memory.arecent(self.window), hits, limit=self.window, k=self.k)
        return {self.memory_key: self._view(found.recent, before=found.note)}

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

    def _attempts(self, query: str) -> list[tuple[str | None, int]]:
        """What to assemble for, and how much to recall: at last for nothing, if the input alone is too long."""
        return [*([(query, self.k)] if query else []), (None, 0)]

    def _laid_out(self, context: Context, asked: str | None) -> str | list[BaseMessage]:
        turns, note = list(context.messages), ""
        if asked is not None and turns[-1].role is Role.USER:  # the chain adds its input itself
            turns.pop()
            note = context.note
        head = turns.pop(0).text if turns and turns[0].role is Role.SYSTEM else ""
        return self._view(turns, before=head, after=note)

    def _view(self, turns: Sequence[Message], *, before: str = "", after: str = "") -> str | list[BaseMessage]:
        said = [message for message in map(to_langchain, turns) if says_something(message)]
        if self.return_messages:
            head: list[BaseMessage] = [SystemMessage(content=before)] if before else []
            return [*head, *said, *([HumanMessage(content=after)] if after else [])]
        text = get_buffer_string(said, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n\n".join(part for part in (before, text, after) if part)

    def _query(self, inputs: Mapping[str, Any]) -> str:
        """What to recall for; empty if there is no input or nothing is to be recalled."""
        own = self._own(inputs)
        if not self.k or not own or (self.input_key is not None and self.input_key not in own):
            return ""
        said = as_messages("input", pick("input", own, self.input_key, INPUT_KEYS), HumanMessage)
        asked = [message for message in said if isinstance(message, HumanMessage)] or said
        return str(asked[-1].text).strip() if asked else ""

    def _turn(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[BaseMessage]:
        said = as_messages("input", pick("input", self._own(inputs), self.input_key, INPUT_KEYS), HumanMessage)
        answered = as_messages("output", pick("output", outputs, self.output_key, OUTPUT_KEYS), AIMessage)
        return [message for message in (*said, *answered) if says_something(message)]

    def _own(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs without what memories put there; ``stop`` is a setting of the model."""
        return {key: value for key, value in inputs.items() if key not in {*self.memory_variables, "stop"}}
