"""A LangChain chat memory: recent turns of a session, with memories recalled from all sessions of its user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

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

from hybrid_memory import Context, Host, HybridMemory, Role
from hybrid_memory.adapters import LEAST_TOKENS, Runner, faces, reach, recollect, window
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from langchain_hybrid_memory.history import HybridChatMessageHistory
from langchain_hybrid_memory.messages import from_langchain, to_langchain
from langchain_hybrid_memory.tracing import shown_in_run

INPUT_KEYS = ("input", "question", "query", "human_input")
"""Inputs that may be the user's turn, in order of preference, if there is no ``input_key``."""

OUTPUT_KEYS = ("output", "answer", "text", "response", "result")
"""Outputs that may be the answer, in order of preference, if there is no ``output_key``."""


class SessionMemory(BaseChatMemory):
    """A chain's chat memory that writes to the log of one session; see `HybridChatMemory` for the attributes."""

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

    if not TYPE_CHECKING:  # type checkers keep the field names; callers get our errors, which pydantic would wrap

        def __init__(self, **data: Any) -> None:
            if "chat_memory" in data:
                raise InvalidConfigError("chat_memory is the session's log in the memory: leave it out")
            super().__init__(**data)
            if self.input_key in self.memory_variables:
                raise InvalidConfigError(f"input_key {self.input_key!r} is the memory's own variable: choose another")
            whose = {"user": self.user, "session": self.session, "agent": self.agent, "tenant": self.tenant}
            self.chat_memory = HybridChatMessageHistory(self.memory, **whose).fixed()

    @property
    def memory_variables(self) -> list[str]:
        return [self.memory_key]

    async def _save_context(self, run: Runner, /, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Append the user's turn and the answer to the log, both or neither; durable on return.

        Turn and answer may be text, a message or a list of messages. Empty messages are skipped.

        Raises:
            InvalidInputError: the input or output to store is ambiguous, or of another type.
            InvalidMessageError: a message cannot be stored. Nothing was written.
        """
        await run.call(self.chat_memory.add_messages, self._turn(inputs, outputs))

    save_context, asave_context = faces(_save_context)

    async def _clear(self, run: Runner, /) -> None:
        """Start the recent turns again from here, also after a restart.

        The log is append-only: earlier turns are not deleted and can still be recalled.
        """
        await run.call(self.chat_memory.clear)

    clear, aclear = faces(_clear)

    def _view(self, turns: Sequence[BaseMessage], *, before: str = "", after: str = "") -> str | list[BaseMessage]:
        """The turns with the texts before and after them, in the form the chain wants."""
        if not self.return_messages:
            return self._as_text(turns, before, after)
        head = [SystemMessage(content=before)] if before else []
        said = [message for message in turns if _says_something(message)]
        return [*head, *said, *([HumanMessage(content=after)] if after else [])]

    def _as_text(self, turns: Sequence[BaseMessage], before: str = "", after: str = "") -> str:
        said = [message for message in turns if _says_something(message)]
        text = _as_lines(said, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n\n".join(part for part in (before, text, after) if part)

    def _turn(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[BaseMessage]:
        said = _as_messages("input", _pick("input", self._own(inputs), self.input_key, INPUT_KEYS), HumanMessage)
        given = {key: value for key, value in outputs.items() if key != "intermediate_steps"}
        answered = _as_messages("output", _pick("output", given, self.output_key, OUTPUT_KEYS), AIMessage)
        return [message for message in (*said, *answered) if _says_something(message)]

    def _own(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs without the variables of memories; ``stop`` is a setting of the model."""
        return {key: value for key, value in inputs.items() if key not in {*self.memory_variables, "stop"}}


class HybridChatMemory(SessionMemory):
    """Memory of a chain: the turns of this session, with memories recalled from all sessions of the user.

    The turns since the last `clear` are shown verbatim while they fit; a tool call and its results are kept or left out
    together. `ScopedMemory.assemble` makes the prompt: profile, summary of older turns and recalled memories come in
    marked places before the user's words, so that each prompt extends the one before. The texts for the current input
    come last, in a human message right before the place of that input. A system message appears only if the
    conversation began with one. With ``return_messages=False`` everything is one text.

    With ``window`` the last messages come back instead, regardless of their length.

    Only input and output are stored, never the variables that a memory put into the prompt, nor the steps of an
    `AgentExecutor`. Everything is durable at once, so a new object over the same store continues the conversation.

    Attributes:
        memory: an open memory; several chat memories may share it.
        user, agent, tenant: the owner; at least one of them.
        session: the conversation.
        chat_memory: the raw log of the session.
        memory_key: the prompt variable.
        input_key, output_key: the user's turn among the chain's inputs and the answer among its outputs; by default
            the only one, or the first of `INPUT_KEYS` and `OUTPUT_KEYS` that exists, or the only text.
        return_messages: return messages for a placeholder; otherwise one string for a text prompt.
        human_prefix, ai_prefix: the speakers' names in the string.
        k: how many turns to recall; 0 recalls nothing.
        window: how many recent messages to return, without a summary; a longer last turn, such as one with
            many tool steps, is returned whole. 0 returns only recalled memories.
        max_tokens: the budget of what comes back and the input together, without ``window``; by default as configured
            for the memory.
        profile: the text about the user; by default the learned profile. An empty text shows none.
        spaces: shared spaces to recall from as well, or ``all``, see `ScopedMemory.assemble`.

    Raises:
        AccessDeniedError: when loading, of a space that the user and agent may not read.
        InvalidScopeError: there is no session, or none of user, agent and tenant.
        InvalidConfigError: ``chat_memory`` was given, or ``input_key`` is the memory's own variable.
        pydantic.ValidationError: another argument is invalid or unknown.
    """

    k: int = Field(default=5, ge=0)
    window: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=LEAST_TOKENS)
    profile: str | None = None
    spaces: tuple[str, ...] | Literal["all"] = ()

    async def _load_memory_variables(self, run: Runner, /, inputs: dict[str, Any]) -> dict[str, Any]:
        """The turns and the memories before them, under ``memory_key``; without an input nothing is recalled.

        Raises:
            InvalidInputError: it is ambiguous which input is the user's turn.
        """
        scoped, query = self.chat_memory.scoped, self._query(inputs)
        if self.window is not None:
            recent = window(await run.call(self.chat_memory.recent, self.window), self.window)
            shown = {str(message.id) for message in recent}
            with shown_in_run(run):
                more: dict[str, Any] = {"profile": self.profile, "spaces": self.spaces}
                portion = await recollect(run, scoped, query, k=self.k, shown=shown, **more)
            return {self.memory_key: self._view([to_langchain(message) for message in recent], after=portion.text)}
        layout: dict[str, Any] = {
            "max_tokens": self.max_tokens,
            "k": self.k if query else 0,
            "profile": self.profile,
            "host": Host(assistant_first=True),
            "spaces": self.spaces,
        }
        await reach(run, scoped, self.spaces)
        try:
            with shown_in_run(run):
                context = await run.call(scoped.assemble, query or None, **layout)
        except InvalidInputError:  # nobody has said anything yet
            return {self.memory_key: self._view([])}
        return self._laid_out(context, query)

    load_memory_variables, aload_memory_variables = faces(_load_memory_variables)

    def _laid_out(self, context: Context, query: str) -> dict[str, Any]:
        turns, preface = list(context.messages), ""
        if query and turns[-1].role is Role.USER:  # the chain adds its input itself
            turns.pop()
            preface = context.preface
        head = turns.pop(0).text if turns and turns[0].role is Role.SYSTEM else ""
        return {self.memory_key: self._view(list(map(to_langchain, turns)), before=head, after=preface)}

    def _query(self, inputs: Mapping[str, Any]) -> str:
        """The input; empty if there is none."""
        own = self._own(inputs)
        if not own or (self.input_key is not None and self.input_key not in own):
            return ""
        return _last_words(_as_messages("input", _pick("input", own, self.input_key, INPUT_KEYS), HumanMessage))


def _pick(side: str, values: Mapping[str, Any], key: str | None, usual: Sequence[str]) -> Any:
    """The value of the key; without a key that of the first usual name, or the only value, or the only text.

    Raises `InvalidInputError` if it is ambiguous which ``input`` or ``output`` is meant.
    """
    wanted = usual if key is None else (key,)
    for name in wanted:
        if name in values:
            return values[name]
    if key is None:
        texts = [value for value in values.values() if isinstance(value, str | BaseMessage)]
        for left in (list(values.values()), texts):
            if len(left) == 1:
                return left[0]
    raise InvalidInputError(f"which {side} is the turn's? {sorted(values)} has none of {list(wanted)}: set {side}_key")


def _as_messages(side: str, value: Any, speaker: type[HumanMessage | AIMessage]) -> list[BaseMessage]:
    """The value as messages, text as the speaker's; raises `InvalidInputError` if it is neither text nor messages."""
    if isinstance(value, str) or _is_content(value):
        return [speaker(content=value)]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(message, BaseMessage) for message in value):
        return list(value)
    raise InvalidInputError(f"the {side} must be text, a message or a list of messages, got {type(value).__name__}")


def _is_content(value: Any) -> bool:
    """Whether the value is the content of a message, as some providers return an agent's answer."""
    blocks = value if isinstance(value, list) else []
    return bool(blocks) and all(
        isinstance(block, str) or (isinstance(block, dict) and "type" in block) for block in blocks
    )


def _last_words(messages: Sequence[BaseMessage]) -> str:
    """The words of the last user message, or of the last message if there is none."""
    asked = [message for message in messages if isinstance(message, HumanMessage)] or messages
    return str(asked[-1].text).strip() if asked else ""


def _says_something(message: BaseMessage) -> bool:
    """Whether the message has words, calls or a result; providers refuse conversations with empty messages."""
    words = message.content.strip() if isinstance(message.content, str) else message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(words or calls or message.additional_kwargs) or isinstance(message, ToolMessage | FunctionMessage)


def _as_lines(messages: Sequence[BaseMessage], *, human_prefix: str, ai_prefix: str) -> str:
    """The messages as text, each after its speaker; a tool call is its name and its arguments as JSON.

    A line in a message that looks like a speaker gets the prefix ``> ``, so that it cannot pass for another message.
    """
    names = "|".join(map(re.escape, (human_prefix, ai_prefix, *_SPEAKERS)))
    speaker = re.compile(rf"(?<=\n)(?=[ \t]*(?:{names})[ \t]*:)", re.IGNORECASE)
    return get_buffer_string([_readable(message, speaker) for message in messages], human_prefix, ai_prefix)


_SPEAKERS = ("Human", "AI", "System", "Tool", "Function")
"""The names that LangChain uses."""


def _readable(message: BaseMessage, speaker: re.Pattern[str]) -> BaseMessage:
    if isinstance(message, AIMessage) and message.tool_calls:
        message = AIMessage(from_langchain(message).text)
    text = speaker.sub("> ", message.text)
    return message if text == message.text else message.model_copy(update={"content": text})
