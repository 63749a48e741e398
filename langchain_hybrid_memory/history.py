"""The log of one session as a LangChain chat message history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config

from hybrid_memory import HybridMemory, Message, Role, Scope, ScopedMemory
from hybrid_memory.adapters import Runner, checked, faces
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory.messages import from_langchain, to_langchain
from langchain_hybrid_memory.scopes import Binding


class HybridChatMessageHistory(BaseChatMessageHistory):
    """All messages of one session verbatim, oldest first: no window, no summary, nothing recalled.

    Adding always appends, even if an id repeats: LangChain's cache gives every repetition of an answer the same id.

    The log is append-only, so `clear` deletes nothing: the history starts again from there, also after a restart and in
    other processes, and earlier messages can still be recalled.

    With ``remember=False``, here or in the run's configuration, messages are kept by this object only.

    Args:
        memory: an open memory.
        session: the conversation.
        user, agent, tenant: the owner. Omitted parts, including the session, are taken from the run that uses the
            history, as in `HybridMemoryMiddleware`: ``config={"configurable": {"user_id": ...}}``.
        remember: False stores nothing.

    Attributes:
        memory: the open memory.

    Raises:
        InvalidScopeError: a name is malformed; or, on use, neither the history nor the run names a session, or a user,
            agent or tenant.
    """

    @checked
    def __init__(
        self,
        memory: HybridMemory,
        *,
        session: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        remember: bool = True,
    ) -> None:
        super().__init__()
        self.memory = memory
        self._binding = Binding(memory, user=user, session=session, agent=agent, tenant=tenant, remember=remember)
        self._passing: dict[Scope, list[Message]] = {}
        self._fixed = False

    def fixed(self) -> Self:
        """This history with only the names given to it, whatever a run names.

        Raises:
            InvalidScopeError: no session was given, or none of user, agent and tenant.
        """
        self._fixed = True
        _ = self.scoped
        return self

    @property
    def scoped(self) -> ScopedMemory:
        """The session's memory, with omitted names taken from the run."""
        binding = self._binding
        scoped = binding.alone() if self._fixed else binding.of_run(ensure_config())
        if scoped.scope.session is None:
            raise InvalidScopeError(
                "no session given: give session=, or name it in the run: config={'configurable': {'session_id': ...}}"
            )
        return scoped

    def __repr__(self) -> str:
        return f"<HybridChatMessageHistory {self._binding.given} in {self.memory!r}>"

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # LangChain's own histories do it this way
        """All messages since the last `clear`, oldest first."""
        return [to_langchain(message) for message in self.recent()]

    async def aget_messages(self) -> list[BaseMessage]:
        return [to_langchain(message) for message in await self.arecent()]

    async def _add_messages(self, run: Runner, /, messages: Sequence[BaseMessage]) -> None:
        """Append the messages, all or none.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing was written.
        """
        scoped, said = self.scoped, [from_langchain(message, keep_id=False) for message in messages]
        await run.call(scoped.remember, said)
        if not scoped.remembers:
            self._passing.setdefault(scoped.scope, []).extend(said)

    add_messages, aadd_messages = faces(_add_messages)

    async def _clear(self, run: Runner, /) -> None:
        """Start the history again from here; earlier messages stay in the log and can be recalled."""
        self._passing.pop(self.scoped.scope, None)
        await run.call(self.scoped.reset)

    clear, aclear = faces(_clear)

    async def _recent(self, run: Runner, /, limit: int | None = None, rounds: int = 1) -> list[Message]:
        """The newest messages since the last `clear`, oldest first; more than ``limit`` for so many user turns."""
        if not self.scoped.remembers:
            said = [*await run.call(self.scoped.history, current=True), *self._passing.get(self.scoped.scope, ())]
            return said[-limit:] if limit else said
        found = await run.call(self.scoped.history, current=True, limit=limit)
        while limit and len(found) == limit and sum(message.role is Role.USER for message in found) < rounds:
            limit *= 2
            found = await run.call(self.scoped.history, current=True, limit=limit)
        return found

    recent, arecent = faces(_recent)
