"""LangChain's old memories under their names, over a hybrid memory: for most programs the import line is all to change.

Whose memory it is, say ``memory=``, ``user=`` and ``session=``, as for `HybridChatMemory`. Without ``memory=`` each
object has a store of its own that ends with the process, as the old ones did; it is nobody else's, so no owner is
named then. Arguments that an old class did not know are ignored, as they were.

A ``chat_memory`` that is given is read once, when the object is made: what the session does not hold of it yet is
appended. A `HybridChatMessageHistory` is used as it is. See docs/langchain-migration.md for what else differs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import ConfigDict, Field, model_validator

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, Message, Origin, Role, open_memory
from hybrid_memory.adapters import LEAST_TOKENS, Runner, faces
from hybrid_memory.errors import InvalidConfigError
from langchain_hybrid_memory.chat_memory import HybridChatMemory, SessionMemory
from langchain_hybrid_memory.history import HybridChatMessageHistory
from langchain_hybrid_memory.messages import from_langchain, to_langchain

OWNER = {"user": "private", "session": "private"}
"""Of everything in a private store."""

_SCOPE = ("user", "session", "tenant", "agent")


def placed(arguments: dict[str, Any], *, embedder: Any = None, language_model: Any = None) -> dict[str, Any]:
    """The arguments of a memory, with a new store and its owner if they name no memory.

    Raises `InvalidConfigError` if they name an owner, but no memory that could be theirs.
    """
    if arguments.get("memory") is not None:
        return arguments
    named = [part for part in _SCOPE if arguments.get(part) is not None]
    if named:
        raise InvalidConfigError(
            f"{named[0]}= says whose part of a memory it is: give memory=open_memory(...) too, or neither of them "
            "for a store that only this object has and that ends with the process"
        )
    config = MemoryConfig(
        url="memory://",
        embedder="none",
        # Nobody asks this store for facts by a model, and each call of one costs.
        learning=LearningConfig(background=False, model=False),
    )
    return {**arguments, **OWNER, "memory": open_memory(config, embedder=embedder, language_model=language_model)}


class MigratedMemory(SessionMemory):
    """A session's memory that takes the arguments of an old one."""

    model_config = ConfigDict(extra="ignore")

    memory: HybridMemory = Field(default=None, frozen=True)  # type: ignore[assignment]  # set by __init__
    chat_memory: Any = None
    keep_steps: bool = False

    if not TYPE_CHECKING:  # as in SessionMemory

        def __init__(self, **data: Any) -> None:
            given = data.pop("chat_memory", None)
            if isinstance(given, HybridChatMessageHistory):
                data, given = _where(given, data), None
            super().__init__(**placed(data, language_model=data.get("llm")))
            summary = data.get(self._summary_argument)
            before = [SystemMessage(summary)] if summary else []
            before += [] if given is None else given.messages
            if before:
                known = _known_again(before)
                if summary:  # of a model, about words of anybody
                    known[0] = known[0].model_copy(update={"origin": Origin.IMPORTED})
                self.chat_memory.scoped.follow(known)

    _summary_argument: ClassVar[str] = ""
    """Which argument holds a summary to begin with."""


def _where(given: HybridChatMessageHistory, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with the memory and the owner of a history that is ours."""
    scope = given.scoped.scope
    own = {part: getattr(scope, part) for part in ("user", "session", "tenant", "agent")}
    for part, value in {"memory": given.memory, **own}.items():
        if arguments.get(part) not in {None, value}:
            raise InvalidConfigError(f"chat_memory is of {given.scoped}: leave {part}= out, or name the same")
    return {**arguments, **own, "memory": given.memory}


def _known_again(messages: Sequence[BaseMessage]) -> list[Message]:
    """The messages under ids that follow from what they say, so that reading them again writes nothing.

    Their positions are no part of the ids: old histories lose their beginning.
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
    """All messages of the session since the last `clear`, as they were said.

    The arguments are those of LangChain's class of this name; whose memory it is, see above.
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
        return _newest(await run.call(self.chat_memory.recent, *self._reach), self._rounds)

    _messages, _amessages = faces(_shown)

    async def _load_memory_variables(self, run: Runner, /, inputs: dict[str, Any]) -> dict[str, Any]:
        """The messages, or their text, under ``memory_key``."""
        return {self.memory_key: _growing(self._view(await self._shown(run)))}

    load_memory_variables, aload_memory_variables = faces(_load_memory_variables)

    async def _save_context(self, run: Runner, /, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Append the turn; see `HybridChatMemory.save_context`. What a chain returns as its history shows it too."""
        await super()._save_context(run, inputs, outputs)
        self._show(inputs, outputs)

    save_context, asave_context = faces(_save_context)

    def _show(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        history = inputs.get(self.memory_key)
        if isinstance(history, _Growing) and self._rounds is None:
            history += self._turn(inputs, outputs)

    @property
    def _rounds(self) -> int | None:
        """How many turns of the user are shown; None is all."""
        return None

    @property
    def _reach(self) -> tuple[int | None, int]:
        """How many messages to read, and how many turns of the user must be among them."""
        return (None, 0) if self._rounds is None else (2 * self._rounds, self._rounds)


class ConversationBufferWindowMemory(ConversationBufferMemory):
    """The last k rounds of the session: k turns of the user, and all that followed each of them.

    The arguments are those of LangChain's class of this name; whose memory it is, see above.
    """

    k: int = 5

    @property
    def _rounds(self) -> int:
        return max(0, self.k)


class ConversationSummaryBufferMemory(MigratedMemory, HybridChatMemory):
    """A summary of the older turns, the newest ones verbatim, and what is recalled for the input, within a budget.

    The arguments are those of LangChain's class of this name; whose memory it is, see above. ``llm`` writes the
    summaries of a private store; a memory that is given has a language model of its own, or none.

    Attributes:
        max_token_limit: of everything that comes back and the input together; less than 50 counts as 50.
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
        """What stands for the older turns; empty as long as all of them fit."""
        return str(self.chat_memory.scoped.summary().text)


class ConversationSummaryMemory(ConversationSummaryBufferMemory):
    """The conversation as one text: a summary of the older turns, and the newest ones word for word.

    With ``return_messages`` the text is one message. The arguments are those of LangChain's class of this name, and
    ``max_token_limit``; whose memory it is, see above.

    Attributes:
        summary_message_cls: of that message.
    """

    summary_message_cls: type[BaseMessage] = HumanMessage

    _summary_argument = "buffer"

    @classmethod
    def from_messages(cls, llm: Any, chat_memory: BaseChatMessageHistory, **kwargs: Any) -> Self:
        """A memory that holds these messages; they are summarised when they no longer fit, not step by step."""
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


class _Growing(list[BaseMessage]):
    """The history in the result of a chain; programs show it, and count on the turn just answered being in it."""


def _growing(buffer: str | list[BaseMessage]) -> str | list[BaseMessage]:
    return buffer if isinstance(buffer, str) else _Growing(buffer)


def _newest(messages: Sequence[Message], rounds: int | None) -> list[BaseMessage]:
    """The messages of the last rounds; all of them if there are no more."""
    turns = [row for row, message in enumerate(messages) if message.role is Role.USER]
    if rounds is not None and len(turns) >= rounds:
        messages = messages[turns[-rounds] :] if rounds else ()
    return [to_langchain(message) for message in messages]
