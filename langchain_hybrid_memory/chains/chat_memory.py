"""A LangChain chat memory: the recent turns of a session, and what is recalled over all sessions of its user."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import Field, PrivateAttr

from hybrid_memory.context.memories import recollect
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.types import Context, Role
from langchain_hybrid_memory.chains.session_memory import SessionMemory
from langchain_hybrid_memory.chains.turns import INPUT_KEYS, as_messages, last_words, pick
from langchain_hybrid_memory.conversions import Conversions
from langchain_hybrid_memory.messages import to_langchain


class HybridChatMemory(SessionMemory):
    """Memory of a chain: the recent turns of this session, and what was recalled over all sessions of the user.

    The turns since the last `clear` come back as they were said; a tool call and its results stay together or are
    left out together. What was recalled for the chain's input, and is not among them, stands in front as a note: a
    system message, or text on top if ``return_messages`` is off.

    With ``max_tokens`` a long session fits too. What `ScopedMemory.assemble` lays out comes back: a system message with
    the summary of older turns, then the recent ones, each of the user's behind what was recalled for it, so that a
    prompt begins with the one before. What was recalled for the input stands last, right before the place where the
    chain puts it: as a human message, because providers refuse a system message there.

    Only input, output and the tool steps between them are stored, never the variables that a memory put into the
    prompt. Everything is durable at once, so a new object over the same store goes on where the last one ended.

    Attributes:
        memory: an open memory; several chat memories may share it.
        user, agent, tenant: whose memory it is; at least one.
        session: the conversation.
        chat_memory: the raw log of the session.
        memory_key: the prompt variable.
        input_key, output_key: the user's turn among the chain's inputs and the answer among its outputs; without them
            the only one, else the first of `INPUT_KEYS` and `OUTPUT_KEYS` that is there, else the only text.
        return_messages: messages for a placeholder, or one string for a text prompt.
        human_prefix, ai_prefix: the speakers' names in the string.
        keep_steps: store the ``intermediate_steps`` of an `AgentExecutor` that returns them: tool calls and results.
        k: the most recalled turns; 0 recalls nothing.
        window: the most recent messages, without ``max_tokens``; a last turn that is longer, such as one with many
            tool steps, is shown whole. 0 leaves them to recall.
        max_tokens: of what comes back and the input together; of an input that leaves no room nothing is recalled.
        profile: about the user, with ``max_tokens``; by default what was learned of them, and an empty text for none.

    Raises:
        InvalidScopeError: no session, or none of user, agent and tenant.
        InvalidConfigError: ``chat_memory`` was given, or ``input_key`` is the memory's own variable.
        pydantic.ValidationError: another argument is wrong or unknown.
    """

    k: int = Field(default=5, ge=0)
    window: int = Field(default=10, ge=0)
    max_tokens: int | None = Field(default=None, ge=LEAST_TOKENS)
    profile: str | None = None

    _converted: Conversions = PrivateAttr(default_factory=Conversions)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The recent turns, the summary and the note, under ``memory_key``; without an input nothing is recalled.

        Raises:
            InvalidInputError: it is not clear which of the inputs is the user's turn.
        """
        query = self._query(inputs)
        if self.max_tokens is not None:
            for asked, k in self._attempts(query):
                with suppress(InvalidInputError):
                    context = self.chat_memory.scoped.assemble(
                        asked, max_tokens=self.max_tokens, k=k, profile=self.profile
                    )
                    return {self.memory_key: self._laid_out(context, asked)}
            return {self.memory_key: self._view([])}
        # More than k, to make up for those among the recent turns.
        hits = self.chat_memory.scoped.recall(query, k=self.k + self.window) if query else []
        found = recollect(self.chat_memory.recent(self.window), hits, limit=self.window, k=self.k)
        return {self.memory_key: self._view(list(map(to_langchain, found.recent)), before=found.note)}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Async twin of `load_memory_variables`."""
        query = self._query(inputs)
        if self.max_tokens is not None:
            for asked, k in self._attempts(query):
                with suppress(InvalidInputError):
                    context = await self.chat_memory.scoped.aassemble(
                        asked, max_tokens=self.max_tokens, k=k, profile=self.profile
                    )
                    return {self.memory_key: self._laid_out(context, asked)}
            return {self.memory_key: self._view([])}
        hits = await self.chat_memory.scoped.arecall(query, k=self.k + self.window) if query else []
        found = recollect(await self.chat_memory.arecent(self.window), hits, limit=self.window, k=self.k)
        return {self.memory_key: self._view(list(map(to_langchain, found.recent)), before=found.note)}

    def _attempts(self, query: str) -> list[tuple[str | None, int]]:
        """What to assemble for, and how much to recall: at last for nothing, if the input alone is too long."""
        return [*([(query, self.k)] if query else []), (None, 0)]

    def _laid_out(self, context: Context, asked: str | None) -> str | list[BaseMessage]:
        turns, note = list(context.messages), ""
        if asked is not None and turns[-1].role is Role.USER:  # the chain adds its input itself
            turns.pop()
            note = context.note
        head = turns.pop(0).text if turns and turns[0].role is Role.SYSTEM else ""
        # Chains write into the messages that they are given.
        said = map(to_langchain if self.return_messages else self._converted, turns)
        return self._view(list(said), before=head, after=note)

    def _query(self, inputs: Mapping[str, Any]) -> str:
        """What to recall for; empty if there is no input or nothing is to be recalled."""
        own = self._own(inputs)
        if not self.k or not own or (self.input_key is not None and self.input_key not in own):
            return ""
        return last_words(as_messages("input", pick("input", own, self.input_key, INPUT_KEYS), HumanMessage))
