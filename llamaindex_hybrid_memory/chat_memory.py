"""`HybridChatMemory`: a LlamaIndex memory that keeps a session in the log and recalls across all sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.settings import Settings
from llama_index.core.tools import FunctionTool
from pydantic import Field, PrivateAttr

from hybrid_memory import Context, HybridMemory, Message, PagingConfig, Role, ScopedMemory
from hybrid_memory.adapters import LEAST_TOKENS, Runner, faces, without_notices
from hybrid_memory.apps.agent import prepared
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.tools import FETCH
from llamaindex_hybrid_memory.bound import SessionBound, room_of
from llamaindex_hybrid_memory.messages import as_chats, from_chat_messages
from llamaindex_hybrid_memory.paging import READER, assembled, settings
from llamaindex_hybrid_memory.revision import show
from llamaindex_hybrid_memory.tools import ToolOwner, function_tool
from llamaindex_hybrid_memory.tracing import shown_to_handlers


class HybridChatMemory(SessionBound, BaseMemory):
    """The memory of one session, for agents and chat engines; made by `from_defaults`.

    ``get`` returns what fits into ``token_limit``: a system message with the opening instructions, if there are any,
    then the turns as they were said. Profile, summary of older turns, and what was recalled from all sessions of the
    owner stand in marked places in front of the user's words. Where room gets short, long messages are shortened to
    excerpts first, or to digests that the model can read on from with what `tools` gives, then older turns are folded
    into the summary. Until then what ``get`` returns begins with what it returned before, so that a provider's prompt
    cache keeps working. ``get_all`` returns every turn as it was said.

    Every message put is durable when the call returns. Any thread and any number of tasks may use one object.

    The log only grows. ``reset`` and ``set`` change which of its messages the conversation shows, durably and for every
    process that reads the session; what they hide can still be recalled. ``set`` writes only what the session does not
    hold in this order yet, so passing ``chat_history=`` with every request stores nothing twice.

    No language model is asked while somebody waits: older turns are summarised in the pause after the answer. It can be
    serialised, copied and made anew for each request; see `llamaindex_hybrid_memory.bound.Bound`.

    Attributes:
        tenant, user, agent, session: whose memory it is.
        url: where the store is, as for `hybrid_memory.open_memory`.
        k: how many memories are recalled for one question at most; 0 turns recall off.
        token_limit, model_limit: of what ``get`` returns, tool calls included; see
            `llamaindex_hybrid_memory.bound.SessionBound`.
        profile: about the user; by default what was learned of them. An empty text shows none.
        paging: how the window is used, where the model manages its memory itself.
        reader: whether the agent got the tool of `tools`, so that prompts may name it.
    """

    session: str = Field(default_factory=lambda: str(uuid4()))
    k: int = Field(default=5, ge=0)
    profile: str | None = None
    paging: PagingConfig | None = None
    reader: bool = False

    _opened: ScopedMemory | None = PrivateAttr(default=None)
    _called: dict[str, str] = PrivateAttr(default_factory=dict)
    _llm: Any = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def _repr_html_(self) -> str:
        return self._drawn(self.session)

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
        model: bool = False,
        **unknown: Any,
    ) -> Self:
        """A chat memory on an open memory, or on the store behind a URL, which is opened with the first use.

        The arguments are the fields of the class, and ``memory``, which the caller closes, instead of ``url``. Without
        a session a new one begins. Without a ``token_limit`` it is what the memory was configured with, else three
        quarters of the model's window, and at most 128,000; else 30,000.

        ``llm`` is the model that the prompts are for; by default ``Settings.llm``, if that was set. What it has room
        for is serialised with the memory, and not the model. With ``model`` it also writes summaries and reads facts,
        if the memory has no language model yet.

        With ``paging`` the prompt is laid out as in MemGPT: with the blocks of working context, which are made if there
        are none, and a warning before turns leave it. The tools for it are ``HybridMemoryToolSpec(paging=True)``.
        Nothing is recalled and no profile shown then unless ``k`` and ``profile`` say so, since the model searches and
        keeps its own.

        Raises:
            InvalidScopeError: nobody is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, ``model`` without a model, or an argument is out
                of range or unknown.
        """
        shown = settings(paging, k=k, token_limit=token_limit, profile=profile)
        llm = Settings._llm if llm is None else llm  # noqa: SLF001 - `Settings.llm` would make one of OpenAI
        if model and llm is None:
            raise InvalidConfigError("model=True lets the agent's model write summaries: give llm= or set Settings.llm")
        made = super().from_defaults(
            user=user, tenant=tenant, agent=agent, url=url, memory=memory,
            session=session, **{"model_limit": room_of(llm), **shown, **unknown},
        )  # fmt: skip
        made._llm = llm if model else None  # noqa: SLF001 - our own
        return made

    def tools(self) -> list[FunctionTool]:
        """The tool by which an agent's model reads on, to be given to the agent beside its own.

        Once it was asked for, prompts of this memory name it where room is short; its answers fit into them.
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
        """What the model should see next: instructions, and the turns with what stands in front of them.

        The first of the turns is the user's, and a tool call comes with its results. One recall serves all calls
        between two messages of the user. Of a question that was not put yet only what stands in front of it comes back,
        as the last message, because the engine adds the question itself.

        Args:
            input: the question to recall for; without one the user's last message is.
            initial_token_count: of what the caller adds; ``token_limit`` counts it.
            kwargs: what other memories take; without effect.
        """
        memory = await self._session(run)
        words = input.content if isinstance(input, ChatMessage) else input
        query = words if words and words.strip() else None
        asked: dict[str, Any] = {
            "k": self.k,
            "profile": self.profile,
            "max_tokens": max(LEAST_TOKENS, self._max_tokens(self._store()) - initial_token_count),
            "reader": FETCH.name if self.reader else READER if self.paging is not None else None,
            "wait": False,
        }
        try:
            with shown_to_handlers():
                if self.paging is None:
                    context = await run.call(memory.assemble, query, **asked)
                else:
                    context = await assembled(run, memory, query, self.paging, self.url, **asked)
        except InvalidInputError:  # nobody has said anything yet
            shown = await run.call(memory.conversation)
            return as_chats(message for message in shown if message.role is Role.SYSTEM)
        return as_chats(context.messages if query is None else _before_the_question(context))

    get, aget = faces(_get)

    async def _get_all(self, run: Runner, /) -> list[ChatMessage]:
        """The whole conversation as it was said, since the last `reset` or as `set` made it."""
        memory = await self._session(run)
        return as_chats(without_notices(await run.call(memory.conversation)))

    get_all, aget_all = faces(_get_all)

    async def _put(self, run: Runner, /, message: ChatMessage) -> None:
        await self._put_messages(run, [message])

    put, aput = faces(_put)

    async def _put_messages(self, run: Runner, /, messages: Sequence[ChatMessage]) -> None:
        """Write the messages, next to each other and all or none.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored.
        """
        memory = await self._session(run)
        await run.call(memory.remember, from_chat_messages(messages, self._called))

    put_messages, aput_messages = faces(_put_messages)

    async def _set(self, run: Runner, /, messages: Sequence[ChatMessage]) -> None:
        """Let the conversation show exactly these messages; those that the session holds are not written again.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored; nothing has changed.
        """
        await show(run, await self._session(run), from_chat_messages(messages, {}))

    set, aset = faces(_set)

    async def _reset(self, run: Runner, /) -> None:
        """Let the conversation start anew; nothing is forgotten, and what was said can still be recalled."""
        await self._set(run, [])

    reset, areset = faces(_reset)

    async def _session(self, run: Runner, /) -> ScopedMemory:
        """The session in the store, which has the model that it is to adopt and the blocks that it begins with."""
        if self._opened is None:
            store = await run.call(self._store)
            if self._llm is not None:
                store.adopt(self._llm)
            memory = self._scoped(store, self.session)
            if self.paging is not None:
                await run.call(prepared, memory)
            self._opened = memory
        return self._opened


def _before_the_question(context: Context) -> Sequence[Message]:
    """The prompt without a question that is not in the log: engines add it themselves."""
    *before, last = context.messages
    if last.id is not None or last.role is not Role.USER:
        return context.messages
    return [*before, Message(content=context.preface)] if context.preface else before
