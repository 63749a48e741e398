"""LangChain's old memories under their names, over a hybrid memory: most programs change only their import line.

Choose the owner with ``memory=``, ``user=`` and ``session=``, as for `HybridChatMemory`. Without ``memory=`` each
object has a private store that ends with the process, like the old classes; then you cannot name an owner. Unknown
arguments are ignored, as before.

A ``chat_memory`` is read once, when the object is made: messages that the session does not have yet are appended. A
`HybridChatMessageHistory` is used directly. See docs/langchain-migration.md for other differences.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import ConfigDict, Field, model_validator

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, Message, Origin, Role, open_memory
from hybrid_memory.adapters import LEAST_TOKENS, Runner, faces
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError
from langchain_hybrid_memory.history import HybridChatMessageHistory
from langchain_hybrid_memory.messages import from_langchain, to_langchain

try:
    from langchain_hybrid_memory.chat_memory import HybridChatMemory, SessionMemory
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "langchain_classic":
        raise
    raise MissingDependencyError("langchain-classic", "langchain") from error

__all__ = [
    "ConversationBufferMemory", "ConversationBufferWindowMemory", "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
]  # fmt: skip

OWNER = {"user": "private", "session": "private"}
"""The user that owns everything in a private store."""

_SCOPE = ("user", "session", "tenant", "agent")


def placed(arguments: dict[str, Any], language_model: Any) -> dict[str, Any]:
    """The arguments of a memory, with a new store and its owner if they name no memory.

    Raises `InvalidConfigError` if they name an owner but no memory.
    """
    if arguments.get("memory") is not None:
        return arguments
    named = [part for part in _SCOPE if arguments.get(part) is not None]
    if named:
        raise InvalidConfigError(
            f"{named[0]}= names an owner in a memory: give memory=open_memory(...) too, or neither of them "
            "for a store that only this object has and that ends with the process"
        )
    config = MemoryConfig(
        url="memory://",
        embedder="none",
        # Nobody asks this store for facts by a model, and each call of one costs.
        learning=LearningConfig(background=False, model=False),
    )
    return {**arguments, **OWNER, "memory": open_memory(config, language_model=language_model)}


class MigratedMemory(SessionMemory):
    """A session's memory that takes the arguments of LangChain's old class."""

    model_config = ConfigDict(extra="ignore")

    memory: HybridMemory = Field(default=None, frozen=True)  # type: ignore[assignment]  # set by __init__
    chat_memory: Any = None

    if not TYPE_CHECKING:  # as in SessionMemory

        def __init__(self, **data: Any) -> None:
            given = data.pop("chat_memory", None)
            if isinstance(given, HybridChatMessageHistory):
                data, given = _where(given, data), None
            super().__init__(**placed(data, data.get("llm")))
            summary = data.get(self._summary_argument)
            before = [SystemMessage(summary)] if summary else []
            before += [] if given is None else given.messages
            if before:
                known = _known_again(before)
                if summary:  # of a model, about words of anybody
                    known[0] = known[0].model_copy(update={"origin": Origin.IMPORTED})
                self.chat_memory.scoped.mirror(known)

    _summary_argument: ClassVar[str] = ""
    """The argument for an initial summary."""


def _where(given: HybridChatMessageHistory, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with memory and owner taken from a `HybridChatMessageHistory`."""
    scope = given.scoped.scope
    own = {part: getattr(scope, part) for part in ("user", "session", "tenant", "agent")}
    for part, value in {"memory": given.memory, **own}.items():
        if arguments.get(part) not in {None, value}:
            raise InvalidConfigError(f"chat_memory is of {given.scoped}: leave {part}= out, or name the same")
    return {**arguments, **own, "memory": given.memory}


def _known_again(messages: Sequence[BaseMessage]) -> list[Message]:
    """The messages with ids derived from their content, so that reading them again writes nothing.

    The ids ignore positions, since old histories lose their beginning.
    """
    repeats: Counter[str] = Counter()
    known = []
    for message in messages:
        converted = from_langchain(message, keep_id=False)
        digest = hashlib.sha256(converted.model_dump_json(exclude={"extra"}).encode()).hexdigest()[:32]
        known.append(converted.model_copy(update={"id": f"before-{repeats[digest]}-{digest}"}))
        repeats[digest] += 1
    return known


class ConversationBufferMemory(MigratedMemory):
    """All messages of the session since the last `clear`, verbatim.

    Takes the arguments of LangChain's class of this name, and the owner as `HybridChatMemory` does.
    """

    @property
    def buffer(self) -> Any:
        return self._view(self.buffer_as_messages)

    @property
    def buffer_as_str(self) -> str:
        return self._as_text(self.buffer_as_messages)

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        return self._messages()

    async def abuffer(self) -> Any:
        return self._view(await self._amessages())

    async def abuffer_as_str(self) -> str:
        return self._as_text(await self._amessages())

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        return await self._amessages()

    async def _shown(self, run: Runner, /) -> list[BaseMessage]:
        rounds = self._rounds
        reach = (None, 0) if rounds is None else (2 * rounds, rounds)
        messages: Sequence[Message] = await run.call(self.chat_memory.recent, *reach)
        turns = [row for row, message in enumerate(messages) if message.role is Role.USER]
        if rounds is not None and len(turns) >= rounds:
            messages = messages[turns[-rounds] :] if rounds else ()
        return [to_langchain(message) for message in messages]

    _messages, _amessages = faces(_shown)

    async def _load_memory_variables(self, run: Runner, /, inputs: dict[str, Any]) -> dict[str, Any]:
        """The messages, or their text, under ``memory_key``."""
        return {self.memory_key: self._view(await self._shown(run))}

    load_memory_variables, aload_memory_variables = faces(_load_memory_variables)

    @property
    def _rounds(self) -> int | None:
        """How many user turns are shown; None is all."""
        return None


class ConversationBufferWindowMemory(ConversationBufferMemory):
    """The last k rounds of the session: k user turns and everything that followed each.

    Takes the arguments of LangChain's class of this name, and the owner as `HybridChatMemory` does.
    """

    k: int = 5

    @property
    def _rounds(self) -> int:
        return max(0, self.k)


class ConversationSummaryBufferMemory(MigratedMemory, HybridChatMemory):
    """A summary of older turns, the newest turns verbatim and memories recalled for the input, within a budget.

    Takes the arguments of LangChain's class of this name, and the owner as `HybridChatMemory` does. ``llm`` writes the
    summaries of a private store; a memory you pass uses its own language model, or none.

    Attributes:
        max_token_limit: the budget of everything that comes back plus the input; less than 50 counts as 50.
    """

    model_config = ConfigDict(extra="ignore")

    llm: Any = Field(default=None, exclude=True)
    max_token_limit: int = Field(default=2000, frozen=True)

    _summary_argument = "moving_summary_buffer"

    @model_validator(mode="after")
    def _within_the_limit(self) -> Self:
        self.max_tokens = max(LEAST_TOKENS, self.max_token_limit)
        return self

    @property
    def buffer(self) -> Any:
        return self.load_memory_variables({})[self.memory_key]

    async def abuffer(self) -> Any:
        return (await self.aload_memory_variables({}))[self.memory_key]

    @property
    def moving_summary_buffer(self) -> str:
        """The summary of older turns; empty as long as all turns fit."""
        return str(self.chat_memory.scoped.summary().text)


class ConversationSummaryMemory(ConversationSummaryBufferMemory):
    """The conversation as one text: a summary of older turns, and the newest turns verbatim.

    With ``return_messages`` the text is one message. Takes the arguments of LangChain's class of this name,
    ``max_token_limit``, and the owner as `HybridChatMemory` does.

    Attributes:
        summary_message_cls: the class of that message.
    """

    summary_message_cls: type[BaseMessage] = HumanMessage

    _summary_argument = "buffer"

    @classmethod
    def from_messages(cls, llm: Any, chat_memory: BaseChatMessageHistory, **kwargs: Any) -> Self:
        """A memory with these messages; they are summarised when they no longer fit, not step by step."""
        return cls(**{**kwargs, "llm": llm, "chat_memory": chat_memory})

    @property
    def buffer(self) -> str:
        loaded = super().buffer
        return loaded if isinstance(loaded, str) else "".join(str(message.content) for message in loaded)

    def _view(self, turns: Sequence[BaseMessage], *, before: str = "", after: str = "") -> str | list[BaseMessage]:
        text = self._as_text(turns, before, after)
        if self.return_messages:
            return [self.summary_message_cls(content=text)] if text else []
        return text
