"""`HybridChatMemory`: a LlamaIndex memory that keeps a session in the log and recalls across all sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from pydantic import Field, PrivateAttr

from hybrid_memory import HybridMemory, PagingConfig, ScopedMemory
from hybrid_memory.compute.runners import InlineRunner, drive
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.paging import aprepared, prepared
from llamaindex_hybrid_memory.bound import Bound
from llamaindex_hybrid_memory.conversation import Conversation, TwinRunner
from llamaindex_hybrid_memory.paging import DEFAULT_TOKEN_LIMIT, Paging, settings

_INLINE, _TWINS = InlineRunner(), TwinRunner()


class HybridChatMemory(Bound, BaseMemory):
    """The memory of one session, for agents and chat engines; made by `from_defaults`.

    ``get`` returns what fits into ``token_limit``: a system message with the opening instructions and the summary of
    older turns, then the recent turns, each of the user's behind what was recalled for it from all sessions of the
    owner. Until older turns are folded into the summary, what it returns begins with what it returned before, so that
    a provider's prompt cache keeps working. ``get_all`` returns every turn as it was said.

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
        token_limit: of what ``get`` returns, tool calls included; long results stand there as digests.
        profile: about the user; by default what was learned of them. An empty text shows none.
        paging: how the window is used, where the model manages its memory itself.
    """

    session: str = Field(default_factory=lambda: str(uuid4()))
    k: int = Field(default=5, ge=0)
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, ge=LEAST_TOKENS)
    profile: str | None = None
    paging: PagingConfig | None = None

    _conversation: Conversation | None = PrivateAttr(default=None)

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
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        profile: str | None = None,
        paging: bool | PagingConfig = False,
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
            token_limit: see the class.
            profile: see the class; with ``paging`` none by default, since the model then keeps its own in a block.
            paging: lay the prompt out as in MemGPT: with the blocks of working context, which are made if there are
                none, and a warning before turns leave it. The tools for it are ``HybridMemoryToolSpec(paging=True)``.
            unknown: nothing else is accepted.

        Raises:
            InvalidScopeError: nobody is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, or an argument is out of range or unknown.
        """
        fields = {"tenant": tenant, "user": user, "agent": agent, "session": session}
        shown = settings(paging, k=k, token_limit=token_limit, profile=profile)
        return cls._bound(memory=memory, url=url, unknown=unknown, **fields, **shown)

    def get(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002 - the host's name
        initial_token_count: int = 0,
        **kwargs: Any,  # noqa: ARG002 - the host's signature
    ) -> list[ChatMessage]:
        """What the model should see next: instructions and summary, recent turns with what was recalled for them.

        The first of the turns is the user's, and a tool call comes with its results. One recall serves all calls
        between two messages of the user. Of a question that was not put yet only what was recalled for it comes back,
        as the last message, because the engine adds the question itself.

        Args:
            input: the question to recall for; without one the user's last message is.
            initial_token_count: of what the caller adds; ``token_limit`` counts it.
            kwargs: what other memories take; without effect.
        """
        return drive(self._open().prompt(_INLINE, input, self.token_limit - initial_token_count))

    async def aget(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002 - the host's name
        initial_token_count: int = 0,
        **kwargs: Any,  # noqa: ARG002 - the host's signature
    ) -> list[ChatMessage]:
        """Async twin of `get`."""
        return await (await self._aopen()).prompt(_TWINS, input, self.token_limit - initial_token_count)

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
            memory = self._scoped(self._store(), self.session)
            if self.paging is not None:
                prepared(memory)
            self._conversation = self._converse(memory)
        return self._conversation

    async def _aopen(self) -> Conversation:
        if self._conversation is None:
            memory = self._scoped(await self._astore(), self.session)
            if self.paging is not None:
                await aprepared(memory)
            self._conversation = self._converse(memory)
        return self._conversation

    def _converse(self, memory: ScopedMemory) -> Conversation:
        return Conversation(memory, k=self.k, profile=self.profile, paging=Paging.of(self.paging, self.url))
