"""A LangChain chat memory: the recent turns of a session, and what is recalled over all sessions of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import Field, PrivateAttr

from hybrid_memory import Context, Hit, Message, RecordKind, Role
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import memory_mark
from hybrid_memory.context.memories import recollect
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.small_talk import asks_nothing
from langchain_hybrid_memory.chains.session_memory import SessionMemory
from langchain_hybrid_memory.chains.turns import INPUT_KEYS, as_messages, last_words, pick
from langchain_hybrid_memory.conversions import Conversions
from langchain_hybrid_memory.messages import to_langchain

SPARE = 3
"""Times as many hits are recalled, to make up for what is no memory."""


class HybridChatMemory(SessionMemory):
    """Memory of a chain: the turns of this session, and what was recalled over all sessions of the user.

    The turns since the last `clear` come back as they were said while they fit; a tool call and its results stay
    together or are left out together. It is what `ScopedMemory.assemble` lays out: profile, summary of older turns, and
    what was recalled stand in marked places in front of the user's words, so that a prompt begins with the one before.
    What belongs in front of the chain's input stands last, right before the place where the chain puts it, as a human
    message. A system message holds only what the conversation began with as one. If ``return_messages`` is off, all of
    it is one text.

    With ``window`` the last messages come back instead, however long they are.

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
        window: the most recent messages, without summary and profile; a last turn that is longer, such as one with many
            tool steps, is shown whole. 0 leaves them to recall.
        max_tokens: of what comes back and the input together, without ``window``; the memory's configured budget by
            default.
        profile: about the user; by default what was learned of them. An empty text shows none.

    Raises:
        InvalidScopeError: no session, or none of user, agent and tenant.
        InvalidConfigError: ``chat_memory`` was given, or ``input_key`` is the memory's own variable.
        pydantic.ValidationError: another argument is wrong or unknown.
    """

    k: int = Field(default=5, ge=0)
    window: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=LEAST_TOKENS)
    profile: str | None = None

    _converted: Conversions = PrivateAttr(default_factory=Conversions)

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The turns with what stands in front of them, under ``memory_key``; without an input nothing is recalled.

        Raises:
            InvalidInputError: it is not clear which of the inputs is the user's turn.
        """
        scoped, query = self.chat_memory.scoped, self._query(inputs)
        if self.window is None:
            with suppress(InvalidInputError):  # nobody has said anything yet
                return self._laid_out(scoped.assemble(query or None, **self._layout(query)), query)
            return {self.memory_key: self._view([])}
        most = SPARE * self.k + self.window
        hits = scoped.recall(query, k=most, kinds=(RecordKind.TURN,)) if self._recalls(query) else []
        return self._newest(self.chat_memory.recent(self.window), query, hits, self.window)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Async twin of `load_memory_variables`."""
        scoped, query = self.chat_memory.scoped, self._query(inputs)
        if self.window is None:
            with suppress(InvalidInputError):
                return self._laid_out(await scoped.aassemble(query or None, **self._layout(query)), query)
            return {self.memory_key: self._view([])}
        most = SPARE * self.k + self.window
        hits = await scoped.arecall(query, k=most, kinds=(RecordKind.TURN,)) if self._recalls(query) else []
        return self._newest(await self.chat_memory.arecent(self.window), query, hits, self.window)

    def _layout(self, query: str) -> dict[str, Any]:
        return {"max_tokens": self.max_tokens, "k": self.k if query else 0, "profile": self.profile}

    def _laid_out(self, context: Context, query: str) -> dict[str, Any]:
        turns, preface = list(context.messages), ""
        if query and turns[-1].role is Role.USER:  # the chain adds its input itself
            turns.pop()
            preface = context.preface
        head = turns.pop(0).text if turns and turns[0].role is Role.SYSTEM else ""
        # Chains write into the messages that they are given.
        said = map(to_langchain if self.return_messages else self._converted, turns)
        return {self.memory_key: self._view(list(said), before=head, after=preface)}

    def _newest(self, history: Sequence[Message], query: str, hits: Sequence[Hit], window: int) -> dict[str, Any]:
        found = recollect(history, hits, query, limit=window, k=self.k)
        note = memory_mark(found.note, PromptConfig())
        return {self.memory_key: self._view(list(map(to_langchain, found.recent)), after=note)}

    def _recalls(self, query: str) -> bool:
        return self.k > 0 and query != "" and not asks_nothing(query)

    def _query(self, inputs: Mapping[str, Any]) -> str:
        """The input; empty if there is none."""
        own = self._own(inputs)
        if not own or (self.input_key is not None and self.input_key not in own):
            return ""
        return last_words(as_messages("input", pick("input", own, self.input_key, INPUT_KEYS), HumanMessage))
