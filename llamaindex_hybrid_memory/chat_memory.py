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

from hybrid_memory import HybridMemory, PagingConfig, ScopedMemory
from hybrid_memory.apps.agent import aprepared, prepared
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.runtime.runners import InlineRunner, drive
from hybrid_memory.tools.reading import FETCH
from llamaindex_hybrid_memory.bound import SessionBound, room_of
from llamaindex_hybrid_memory.conversation import Conversation, TwinRunner
from llamaindex_hybrid_memory.paging import READER, Paging, settings
from llamaindex_hybrid_memory.tools import ToolOwner, function_tool

_INLINE, _TWINS = InlineRunner(), TwinRunner()


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

    _conversation: Conversation | None = PrivateAttr(default=None)
    _llm: Any = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "HybridChatMemory"

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

        Args:
            user: whose memory it is; at least one of user, tenant and agent is needed.
            session: the conversation; without one a new one begins.
            tenant: whose, beside or instead of the user's.
            agent: whose, beside or instead of the user's.
            url: of the store, or the path of a YAML file; chat memories of one process with the same URL share it.
            memory: instead of ``url``; the caller closes it.
            k: see the class; with ``paging`` 0 by default, since the model then searches itself.
            token_limit: see the class. By default what the memory was configured with, else three quarters of the
                model's window, and at most 128,000; else 30,000.
            profile: see the class; with ``paging`` none by default, since the model then keeps its own in a block.
            paging: lay the prompt out as in MemGPT: with the blocks of working context, which are made if there are
                none, and a warning before turns leave it. The tools for it are ``HybridMemoryToolSpec(paging=True)``.
            llm: the model that the prompts are for; by default ``Settings.llm``, if that was set. What it has room for
                is serialised with the memory, and not the model.
            model: whether it also writes summaries and reads facts, if the memory has no language model yet.
            unknown: nothing else is accepted.

        Raises:
            InvalidScopeError: nobody is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, ``model`` without a model, or an argument is out
                of range or unknown.
        """
        fields = {"tenant": tenant, "user": user, "agent": agent, "session": session}
        shown = settings(paging, k=k, token_limit=token_limit, profile=profile)
        llm = Settings._llm if llm is None else llm  # noqa: SLF001 - `Settings.llm` would make one of OpenAI
        if model and llm is None:
            raise InvalidConfigError("model=True lets the agent's model write summaries: give llm= or set Settings.llm")
        made = cls._bound(memory=memory, url=url, unknown=unknown, model_limit=room_of(llm), **fields, **shown)
        made._llm = llm if model else None  # noqa: SLF001 - our own
        return made

    def tools(self) -> list[FunctionTool]:
        """The tool by which an agent's model reads on, to be given to the agent beside its own.

        Once it was asked for, prompts of this memory name it where room is short; its answers fit into them.
        """
        self.__dict__["reader"] = True  # the one thing about a memory that may change
        shared = {name: getattr(self, name) for name in SessionBound.model_fields}
        return [function_tool(FETCH, ToolOwner(**shared, sized=True))]

    def get(
        self,
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
        return drive(self._open().prompt(_INLINE, input, **self._asked(initial_token_count)))

    async def aget(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002 - the host's name
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """Async twin of `get`."""
        return await (await self._aopen()).prompt(_TWINS, input, **self._asked(initial_token_count))

    def get_all(self) -> list[ChatMessage]:
        """The whole conversation as it was said, since the last `reset` or as `set` made it."""
        return drive(self._open().messages(_INLINE))

    async def aget_all(self) -> list[ChatMessage]:
        """Async twin of `get_all`."""
        return await (await self._aopen()).messages(_TWINS)

    def put(self, message: ChatMessage) -> None:
        """Write one message.

        Raises:
            InvalidMessageError: it holds what cannot be stored.
        """
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Async twin of `put`."""
        await self.aput_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Write the messages, next to each other and all or none.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored.
        """
        drive(self._open().append(_INLINE, messages))

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Async twin of `put_messages`."""
        await (await self._aopen()).append(_TWINS, messages)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Let the conversation show exactly these messages; those that the session holds are not written again.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored; nothing has changed.
        """
        drive(self._open().show(_INLINE, messages))

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """Async twin of `set`."""
        await (await self._aopen()).show(_TWINS, messages)

    def reset(self) -> None:
        """Let the conversation start anew; nothing is forgotten, and what was said can still be recalled."""
        self.set([])

    async def areset(self) -> None:
        """Async twin of `reset`."""
        await self.aset([])

    def _open(self) -> Conversation:
        if self._conversation is None:
            memory = self._adopted(self._store())
            if self.paging is not None:
                prepared(memory)
            self._conversation = self._converse(memory)
        return self._conversation

    async def _aopen(self) -> Conversation:
        if self._conversation is None:
            memory = self._adopted(await self._astore())
            if self.paging is not None:
                await aprepared(memory)
            self._conversation = self._converse(memory)
        return self._conversation

    def _adopted(self, store: HybridMemory) -> ScopedMemory:
        """The session in the store, which has the model now that it is to adopt."""
        if self._llm is not None:
            store.adopt(self._llm)
        return self._scoped(store, self.session)

    def _converse(self, memory: ScopedMemory) -> Conversation:
        return Conversation(memory, k=self.k, profile=self.profile, paging=Paging.of(self.paging, self.url))

    def _asked(self, added: int) -> dict[str, Any]:
        """What a prompt is asked for, beside which the caller adds so many tokens."""
        reader = FETCH.name if self.reader else READER if self.paging is not None else None
        return {"max_tokens": max(LEAST_TOKENS, self._max_tokens(self._store()) - added), "reader": reader}
