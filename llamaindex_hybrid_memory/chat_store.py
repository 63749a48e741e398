"""The log as the chat store of LlamaIndex's own ``Memory``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import PrivateAttr

from hybrid_memory import Message, ScopedMemory
from hybrid_memory.adapters import TWINS, FindItems, GetItem, ItemOperation, PutItem, checked, hide, new_id
from llamaindex_hybrid_memory.bound import Bound
from llamaindex_hybrid_memory.messages import as_chats, as_messages
from llamaindex_hybrid_memory.revision import show

AGENT = "llamaindex.chat_store"
"""The agent that owns the keys and the archived ids; no conversation reads them."""

ALL = 1_000_000

PAGE = 100
"""How many messages to read first to find the active ones; LlamaIndex's queues are about this long."""


class HybridChatStore(Bound, AsyncDBChatStore):
    """The log as ``chat_store`` of the stock ``Memory``, whose ``session_id`` is the session. See `Bound` for fields.

    Messages are events of the log and come back unchanged, as copies. Replaced and deleted messages no longer appear
    under their key, but can be recalled; only `ScopedMemory.forget` destroys them. Setting the messages of a key does
    not write those again that it already has.

    The ids of archived messages are stored separately and only ever added to, so that concurrent adding and archiving
    lose nothing, in one process or several.
    """

    _items: Any = PrivateAttr(default=None)
    _registered: set[str] = PrivateAttr(default_factory=set)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """The ids and the URL, with ``class_name``, which LlamaIndex's serializers require."""
        return {**self.model_dump(**kwargs), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The store described by `to_dict`."""
        return cls(**{name: value for name, value in {**data, **kwargs}.items() if name in cls.model_fields})

    @checked
    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        found, start = await self._read(key, status), offset or 0
        return as_chats(found[start : None if limit is None else start + limit])

    @checked
    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        return len(await self._read(key, status))

    @checked
    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        await self.add_messages(key, [message], status)

    @checked
    async def add_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Write the messages next to each other, all or none.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing was written.
        """
        said = as_messages(messages)
        if not said:
            return
        session = await self._register(key)
        named = [message.model_copy(update={"id": new_id()}) for message in said]
        if status is MessageStatus.ARCHIVED:
            await self._archive(key, named, oldest=False)
        await session.aremember(named)

    @checked
    async def set_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make a key contain exactly these messages.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing has changed.
        """
        said = as_messages(messages)
        session = await self._register(key)
        marks = [mark for mark in await self._items_in("archived", key) if mark.value["ids"]]
        await self._put([PutItem(mark.namespace, mark.key, {**mark.value, "ids": []}) for mark in marks])
        await show(TWINS, session, said)
        if status is MessageStatus.ARCHIVED:
            await self._archive(key, await self._read(key, MessageStatus.ACTIVE))

    @checked
    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        gone = (await self._read(key, None))[idx : idx + 1] if idx >= 0 else []
        await hide(await self._session(key), gone)
        return as_chats(gone)[0] if gone else None

    @checked
    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        await hide(await self._session(key), await self._read(key, status))

    @checked
    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        oldest = (await self._read(key, MessageStatus.ACTIVE))[: max(n, 0)]
        await hide(await self._session(key), oldest)
        return as_chats(oldest)

    @checked
    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        oldest = (await self._read(key, MessageStatus.ACTIVE))[: max(n, 0)]
        await self._archive(key, oldest)
        return as_chats(oldest)

    async def get_keys(self) -> list[str]:
        """The keys under which this store wrote messages that are not removed."""
        names = sorted(item.key for item in await self._items_in("keys"))
        return [name for name in names if await (await self._session(name)).ahistory(current=True, limit=1)]

    async def _session(self, key: str) -> ScopedMemory:
        return self._scoped(await self._astore(), key)

    async def _read(self, key: str, status: MessageStatus | None) -> list[Message]:
        """The messages of a key, oldest first: those of one status, or all that are not removed."""
        session = await self._session(key)
        if status is None:
            return await session.ahistory(current=True)
        swept: set[str | None] = set()  # archived as the oldest ones
        single: set[str | None] = set()  # archived when they were written
        for mark in await self._items_in("archived", key):
            (swept if mark.value["oldest"] else single).update(mark.value["ids"])
        limit = PAGE if swept and status is MessageStatus.ACTIVE else None
        shown = await session.ahistory(current=True, limit=limit)
        # What stands before a message that was archived with all before it is archived too.
        while limit and len(shown) == limit and swept.isdisjoint(one.id for one in shown):
            limit *= 4
            shown = await session.ahistory(current=True, limit=limit)
        archived = swept | single
        return [one for one in shown if (one.id in archived) == (status is MessageStatus.ARCHIVED)]

    async def _register(self, key: str) -> ScopedMemory:
        session = await self._session(key)  # refuses what can be no key
        if key not in self._registered:
            name = (self._root, "keys")
            (registered,) = await self._batch([GetItem(name, key)])
            await self._put([PutItem(name, key, {})] if registered is None else [])
            self._registered.add(key)
        return session

    async def _archive(self, key: str, messages: Sequence[Message], *, oldest: bool = True) -> None:
        if messages:
            ids = [str(message.id) for message in messages]
            await self._put([PutItem((self._root, "archived", key), ids[-1], {"ids": ids, "oldest": oldest})])

    @property
    def _root(self) -> str:
        # A digest, since items stay when the user is forgotten.
        names = json.dumps([self.tenant, self.user, self.agent])
        return hashlib.blake2b(names.encode(), digest_size=16).hexdigest()

    async def _items_in(self, *place: str) -> list[Any]:
        (found,) = await self._batch([FindItems((self._root, *place), limit=ALL)])
        return list(found)

    async def _put(self, puts: Sequence[PutItem]) -> None:
        if puts:
            await self._batch(puts)

    async def _batch(self, operations: Sequence[ItemOperation]) -> list[Any]:
        if self._items is None:
            self._items = (await self._astore()).items(AGENT, tenant=self.tenant)
        answers: list[Any] = await self._items.abatch(operations)
        return answers
