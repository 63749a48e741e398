"""`HybridChatStore`: the log as the store of the stock ``Memory``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from llamaindex_hybrid_memory.conversation import TwinRunner
from llamaindex_hybrid_memory.stores.keyed_log import Status
from llamaindex_hybrid_memory.stores.keyed_store import KeyedStore, as_chats, as_messages, at, everything, only

_TWINS = TwinRunner()


class HybridChatStore(KeyedStore, AsyncDBChatStore):
    """The log as ``chat_store`` of the stock ``Memory``, whose ``session_id`` is the session; see `KeyedStore`.

    Adding and archiving at the same time lose nothing, in one process or several, and messages come back as they were
    written, as copies.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "HybridChatStore"

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Its ids and URL, with ``class_name``; LlamaIndex's serializers expect this of what has one."""
        return {**self.model_dump(**kwargs), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The store that `to_dict` told of."""
        return cls(**{name: value for name, value in {**data, **kwargs}.items() if name in cls.model_fields})

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """The messages of a key, oldest first: of a status, or of both.

        Args:
            key: the session.
            status: None is both.
            limit: how many at most.
            offset: how many are left out before.
        """
        found = await (await self._aopen()).read(_TWINS, key, _ours(status))
        start = offset or 0
        return as_chats(found[start : None if limit is None else start + limit])

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """How many messages of this status, or of both, a key has."""
        return len(await (await self._aopen()).read(_TWINS, key, _ours(status)))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Write one message."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Write the messages, next to each other and all or none.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored.
        """
        await (await self._aopen()).add(_TWINS, key, as_messages(messages), Status(status.value))

    async def set_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Let a key have exactly these messages.

        Raises:
            InvalidMessageError: one of them holds what cannot be stored; nothing has changed.
        """
        await (await self._aopen()).replace(_TWINS, key, as_messages(messages), Status(status.value))

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """The message at this place among all of a key, from 0, which is gone now; None if there is none."""
        return only(await (await self._aopen()).remove(_TWINS, key, at(idx)))

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Let all messages of this status, or of both, be gone."""
        await (await self._aopen()).remove(_TWINS, key, everything, _ours(status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """The n oldest active messages, which are gone now."""
        log = await self._aopen()
        return as_chats(await log.remove(_TWINS, key, lambda found: found[: max(n, 0)], Status.ACTIVE))

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """The n oldest active messages, which are archived now."""
        return as_chats(await (await self._aopen()).archive(_TWINS, key, n))

    async def get_keys(self) -> list[str]:
        """The keys under which this store wrote something that is not gone."""
        return await (await self._aopen()).keys(_TWINS)


def _ours(status: MessageStatus | None) -> Status | None:
    return None if status is None else Status(status.value)
