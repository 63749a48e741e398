"""`HybridChatMemory`: a LlamaIndex memory that keeps a session in the log and recalls across all sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.settings import Settings
from llama_index.core.tools import FunctionTool
from pydantic import Field, PrivateAttr

from hybrid_memory import Context, Host, HybridMemory, Message, PagingConfig, Role, ScopedMemory
from hybrid_memory.adapters import LEAST_TOKENS, Runner, faces, reach, without_notices
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.tools import FETCH
from hybrid_memory_paging import prepared
from llamaindex_hybrid_memory.bound import SessionBound, room_of
from llamaindex_hybrid_memory.messages import as_chats, from_chat_messages
from llamaindex_hybrid_memory.paging import LEAST_PAGED, READER, assembled
from llamaindex_hybrid_memory.revision import show
from llamaindex_hybrid_memory.tools import ToolOwner, function_tool


class HybridChatMemory(SessionBound, BaseMemory):
    """The memory of one session, for agents and chat engines; create it with `from_defaults`.

    ``get`` returns what fits into ``token_limit``: a system message with the opening instructions, if there are any,
    then the turns verbatim. Profile, summary of older turns and memories recalled from all sessions of the owner come
    in marked places before the user's words. When space is short, long messages are first shortened to excerpts, or to
    digests if the model has the tool from `tools` to read more; then older turns are compacted into the summary. Until
    then each result of ``get`` extends the one before, so that the provider's prompt cache keeps working. ``get_all``
    returns every turn verbatim.

    Every message is durable when ``put`` returns. Any number of threads and tasks may share one object.

    The log is append-only. ``reset`` and ``set`` change which messages the conversation shows, durably and for every
    process that reads the session; hidden messages can still be recalled. ``set`` writes only messages that the session
    does not have in this order, so passing ``chat_history=`` with every request stores nothing twice.

    The user never waits for a language model: older turns are summarised in the pause after the answer. The object can
    be serialised, copied, and created again for each request; see `llamaindex_hybrid_memory.bound.Bound`.

    Attributes:
        tenant, user, agent, session: the owner and the conversation.
        url: the URL of the store, as for `hybrid_memory.open_memory`.
        k: how many memories to recall for a question; 0 turns recall off.
        token_limit, model_limit: the budget of what ``get`` returns, including tool calls; see
            `llamaindex_hybrid_memory.bound.SessionBound`.
        profile: the text about the user; by default the learned profile. An empty text shows none.
        paging: how the window is used, if the model manages its own memory.
        reader: whether the agent has the tool from `tools`, so that prompts may name it.
        remember: False stores and learns nothing: this object alone keeps the turns, ``get`` returns all of them, and
            memories of other sessions are recalled. They are not serialised. Not with paging.
        spaces: shared spaces to recall from as well, or ``all``, see `ScopedMemory.assemble`. Without the right to read
            one, ``get`` raises `AccessDeniedError`.
    """

    session: str = Field(default_factory=lambda: str(uuid4()))
    k: int = Field(default=5, ge=0)
    profile: str | None = None
    paging: PagingConfig | None = None
    reader: bool = False
    remember: bool = True
    spaces: tuple[str, ...] | Literal["all"] = ()

    _opened: ScopedMemory | None = PrivateAttr(default=None)
    _called: dict[str, str] = PrivateAttr(default_factory=dict)
    _passing: list[Message] | None = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    @classmethod
    def from_defaults(
        cls,
        *,
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        url: str | None = None,
        memory: HybridMemory | None = None,
        k: int | None = None,
        token_limit: int | None = None,
        profile: str | None = None,
        paging: bool | PagingConfig = False,
        llm: Any = None,
        **unknown: Any,
    ) -> Self:
        """A chat memory on an open memory, or on the store at a URL, which is opened on first use.

        The arguments are the fields of the class; instead of ``url`` you can pass ``memory``, which you close. Without
        a session a new one starts. The default ``token_limit`` is the budget configured for the memory; otherwise three
        quarters of the model's window, at most 128,000; otherwise 30,000.

        ``llm`` is the model that the prompts are for; by default ``Settings.llm``, if set. The size of its window is
        serialised with the object, the model is not.

        With ``paging`` the prompt is laid out as in MemGPT: with the blocks of working context, which are created if
        there are none, and a warning before turns leave the window. Give the agent the tools of
        ``HybridMemoryToolSpec(paging=True)``. Since the model searches and keeps its own notes, nothing is recalled
        unless you set ``k``; the user's name, safety and standing instructions are shown.

        Raises:
            InvalidScopeError: no owner is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, or an argument is out of range or unknown.
        """
        if paging and unknown.get("remember") is False:
            raise InvalidConfigError("paging=True stores what the model notes: give it or remember=False, not both")
        config = PagingConfig() if paging is True else None if paging is False else paging
        if config is not None:
            k = 0 if k is None else k
            if isinstance(token_limit, int) and token_limit < LEAST_PAGED:
                raise InvalidConfigError(f"paging needs a token_limit of at least {LEAST_PAGED}, got {token_limit}")
        llm = Settings._llm if llm is None else llm  # noqa: SLF001 - `Settings.llm` would make one of OpenAI
        return super().from_defaults(
            user=user, tenant=tenant, agent=agent, url=url, memory=memory, session=session, k=k, profile=profile,
            paging=config, token_limit=token_limit, **{"model_limit": room_of(llm), **unknown},
        )  # fmt: skip

    def tools(self) -> list[FunctionTool]:
        """The tool with which an agent's model reads more; give it to the agent along with its other tools.

        After this call, prompts of this memory name the tool when space is short; its answers fit into them.
        """
        self.__dict__["reader"] = True  # the one thing about a memory that may change
        shared = {name: getattr(self, name) for name in SessionBound.model_fields}
        return [function_tool(FETCH, ToolOwner(**shared, sized=True))]

    async def _get(
        self,
        run: Runner,
        /,
        input: str | ChatMessage | None = None,  # noqa: A002 - the host's name
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """The messages for the model's next call: instructions, and the turns with the memories before them.

        The first turn is the user's, unless the assistant spoke first. A tool call comes with its results. One recall
        serves all calls between two user messages. If ``input`` is not in the log yet, the memories for it come last,
        in a user message that is answered "OK.": the engine adds the question itself, and roles have to alternate.

        Args:
            input: the question to recall for; by default the user's last message.
            initial_token_count: the tokens that the caller adds; they count towards ``token_limit``.
            kwargs: arguments of other memories; ignored.
        """
        memory = await self._session(run)
        words = input.content if isinstance(input, ChatMessage) else input
        query = words if words and words.strip() else None
        await reach(run, memory, self.spaces)
        if not self.remember:
            return await self._passing_prompt(run, query)
        asked: dict[str, Any] = {
            "k": self.k,
            "profile": self.profile,
            "max_tokens": max(LEAST_TOKENS, self._max_tokens(self._store()) - initial_token_count),
            "reader": FETCH.name if self.reader else READER if self.paging is not None else None,
            "wait": False,
            "host": Host(assistant_first=True),
            "spaces": self.spaces,
        }
        try:
            if self.paging is None:
                context = await run.call(memory.assemble, query, **asked)
            else:
                context = await assembled(run, memory, query, self.paging, self.url, **asked)
        except InvalidInputError:  # nobody has said anything yet
            shown = await run.call(memory.history, current=True)
            return as_chats(message for message in shown if message.role is Role.SYSTEM)
        return as_chats(context.messages if query is None else _before_the_question(context))

    get, aget = faces(_get)

    async def _turns(self, run: Runner, /) -> list[Message]:
        """The turns without memory, which begin as the log has the session."""
        if self._passing is None:
            memory = await self._session(run)
            self._passing = without_notices(await run.call(memory.history, current=True))
        return self._passing

    async def _passing_prompt(self, run: Runner, query: str | None) -> list[ChatMessage]:
        """The turns that are not stored, with what is recalled before the user's last words."""
        turns = await self._turns(run)
        row = next((row for row in reversed(range(len(turns))) if turns[row].role is Role.USER), len(turns))
        last = turns[row].text if row < len(turns) else ""
        if query not in (None, last):
            row = len(turns)
        if not (query or last).strip():
            return as_chats(turns)
        # All turns of this session are shown, so none is recalled.
        elsewhere, host = self._scoped(self._store(), f"{self.session}/passing"), Host(beside=self.session)
        asked: dict[str, Any] = {"k": self.k, "profile": self.profile, "host": host, "spaces": self.spaces}
        context = await run.call(elsewhere.assemble, query or last, **asked)
        return as_chats([*turns[:row], *_answered(context.preface), *turns[row:]])

    async def _get_all(self, run: Runner, /) -> list[ChatMessage]:
        """The whole conversation verbatim, since the last `reset` or as set by `set`."""
        if not self.remember:
            return as_chats(await self._turns(run))
        memory = await self._session(run)
        return as_chats(without_notices(await run.call(memory.history, current=True)))

    get_all, aget_all = faces(_get_all)

    async def _put(self, run: Runner, /, message: ChatMessage) -> None:
        await self._put_messages(run, [message])

    put, aput = faces(_put)

    async def _put_messages(self, run: Runner, /, messages: Sequence[ChatMessage]) -> None:
        """Write the messages next to each other, all or none.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing was written.
        """
        memory = await self._session(run)
        said = from_chat_messages(messages, self._called)
        if self.remember:
            await run.call(memory.remember, said)
        else:
            (await self._turns(run)).extend(said)

    put_messages, aput_messages = faces(_put_messages)

    async def _set(self, run: Runner, /, messages: Sequence[ChatMessage]) -> None:
        """Make the conversation show exactly these messages; messages that the session has are not written again.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing has changed.
        """
        memory = await self._session(run)
        if self.remember:
            await show(run, memory, from_chat_messages(messages, {}))
        else:
            self._passing = from_chat_messages(messages, {})

    set, aset = faces(_set)

    async def _reset(self, run: Runner, /) -> None:
        """Start the conversation again; nothing is deleted, and earlier messages can still be recalled."""
        await self._set(run, [])

    reset, areset = faces(_reset)

    def _scoped(self, store: HybridMemory, session: str | None) -> ScopedMemory:
        owner = {"tenant": self.tenant, "user": self.user, "agent": self.agent}
        return store.scoped(**owner, session=session, remember=self.remember)

    async def _session(self, run: Runner, /) -> ScopedMemory:
        """The session in the store, after creating the initial blocks."""
        if self._opened is None:
            memory = self._scoped(await run.call(self._store), self.session)
            if self.paging is not None:
                await run.call(prepared, memory)
            self._opened = memory
        return self._opened


def _before_the_question(context: Context) -> Sequence[Message]:
    """The prompt without a question that is not in the log yet: engines add it themselves."""
    *before, last = context.messages
    if last.id is not None or last.role is not Role.USER:
        return context.messages
    return [*before, *_answered(context.preface)]


def _answered(preface: str) -> list[Message]:
    return [Message(content=preface), Message(role=Role.ASSISTANT, content="OK.")] if preface else []
