"""What both chat stores are: the sessions of one owner, each under its key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from pydantic import PrivateAttr

from hybrid_memory import HybridMemory, Message, Scope
from llamaindex_hybrid_memory.bound import Bound
from llamaindex_hybrid_memory.messages import from_chat_message, to_chat_message
from llamaindex_hybrid_memory.stores.keyed_log import KeyedLog


class KeyedStore(Bound):
    """The sessions of one owner, each under its key. See `Bound` for the fields.

    The log only grows. What is replaced or deleted is no longer shown under its key; it can still be recalled, and only
    `ScopedMemory.forget` destroys it. What stands under a key already is not written again when its messages are set.
    """

    _log: KeyedLog | None = PrivateAttr(default=None)

    @classmethod
    def from_defaults(
        cls,
        *,
        user: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        url: str | None = None,
        memory: HybridMemory | None = None,
        **unknown: Any,
    ) -> Self:
        """A chat store on an open memory, or on the store behind a URL, which is opened with the first use.

        Args:
            user: whose sessions; at least one of user, tenant and agent is needed.
            tenant: whose, beside or instead of the user's.
            agent: whose, beside or instead of the user's.
            url: of the store, or the path of a YAML file.
            memory: instead of ``url``; the caller closes it.
            unknown: nothing else is accepted.

        Raises:
            InvalidScopeError: nobody is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, or an argument is unknown.
        """
        return cls._bound(memory=memory, url=url, unknown=unknown, tenant=tenant, user=user, agent=agent)

    def _open(self) -> KeyedLog:
        return self._log or self._keyed(self._store())

    async def _aopen(self) -> KeyedLog:
        return self._log or self._keyed(await self._astore())

    def _keyed(self, store: HybridMemory) -> KeyedLog:
        self._log = KeyedLog(store, Scope(tenant=self.tenant, user=self.user, agent=self.agent))
        return self._log


def as_messages(chats: Sequence[ChatMessage]) -> list[Message]:
    """The messages in our form."""
    return [from_chat_message(chat) for chat in chats]


def as_chats(found: Sequence[Message]) -> list[ChatMessage]:
    """The messages as LlamaIndex has them, new ones each time."""
    return [to_chat_message(message) for message in found]


def only(gone: Sequence[Message]) -> ChatMessage | None:
    """The one message, if there is one."""
    return to_chat_message(gone[0]) if gone else None


def at(place: int) -> Callable[[list[Message]], list[Message]]:
    """Chooses the message at a place, from 0."""
    return lambda found: found[place : place + 1] if place >= 0 else []


def everything(found: list[Message]) -> list[Message]:
    """Chooses all."""
    return found
