"""The log as the chat store of LlamaIndex's own memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import PrivateAttr

from hybrid_memory import Message, Scope
from hybrid_memory.adapters import TWINS, Runner, checked, faces
from llamaindex_hybrid_memory.bound import Bound
from llamaindex_hybrid_memory.keyed_log import KeyedLog
from llamaindex_hybrid_memory.messages import as_chats, as_messages, to_chat_message


class KeyedStore(Bound):
    """The sessions of one owner, each under its key. See `Bound` for the fields.

    The log is append-only. Replaced and deleted messages no longer appear under their key, but can be recalled; only
    `ScopedMemory.forget` destroys them. Setting the messages of a key does not write those again that it already has.
    """

    _log: KeyedLog | None = PrivateAttr(default=None)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    async def _open(self, run: Runner) -> KeyedLog:
        if self._log is None:
            owner = Scope(tenant=self.tenant, user=self.user, agent=self.agent)
            self._log = KeyedLog(await run.call(self._store), owner)
        return self._log


class HybridBufferStore(KeyedStore, BaseChatStore):
    """The log as ``chat_store`` of ``ChatMemoryBuffer``, ``ChatSummaryMemoryBuffer`` and other blocking memories.

    Their ``chat_store_key`` is the session. `HybridChatStore` is a separate class, since its methods of the same names
    are coroutines. Both show the same messages.
    """

    async def _set_messages(self, run: Runner, /, key: str, messages: Sequence[ChatMessage]) -> None:
        await (await self._open(run)).replace(run, key, as_messages(messages), MessageStatus.ACTIVE)

    set_messages, aset_messages = faces(_set_messages)

    async def _get_messages(self, run: Runner, /, key: str) -> list[ChatMessage]:
        return as_chats(await (await self._open(run)).read(run, key, None))

    get_messages, aget_messages = faces(_get_messages)

    async def _add_message(self, run: Runner, /, key: str, message: ChatMessage) -> None:
        await (await self._open(run)).add(run, key, as_messages([message]), MessageStatus.ACTIVE)

    add_message, async_add_message = faces(_add_message)

    async def _delete_messages(self, run: Runner, /, key: str) -> list[ChatMessage]:
        return as_chats(await (await self._open(run)).remove(run, key, list))

    delete_messages, adelete_messages = faces(_delete_messages)

    async def _delete_message(self, run: Runner, /, key: str, idx: int) -> ChatMessage | None:
        return _only(await (await self._open(run)).remove(run, key, _at(idx)))

    delete_message, adelete_message = faces(_delete_message)

    async def _delete_last_message(self, run: Runner, /, key: str) -> ChatMessage | None:
        return _only(await (await self._open(run)).remove(run, key, lambda found: found[-1:]))

    delete_last_message, adelete_last_message = faces(_delete_last_message)

    async def _get_keys(self, run: Runner, /) -> list[str]:
        return await (await self._open(run)).keys(run)

    get_keys, aget_keys = faces(_get_keys)


class HybridChatStore(KeyedStore, AsyncDBChatStore):
    """The log as ``chat_store`` of the stock ``Memory``, whose ``session_id`` is the session; see `KeyedStore`.

    Concurrent adding and archiving lose nothing, in one process or several. Messages come back unchanged, as copies.
    """

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
        found = await (await self._open(TWINS)).read(TWINS, key, status)
        start = offset or 0
        return as_chats(found[start : None if limit is None else start + limit])

    @checked
    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        return len(await (await self._open(TWINS)).read(TWINS, key, status))

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
        await (await self._open(TWINS)).add(TWINS, key, as_messages(messages), status)

    @checked
    async def set_messages(
        self, key: str, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make a key contain exactly these messages.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing has changed.
        """
        await (await self._open(TWINS)).replace(TWINS, key, as_messages(messages), status)

    @checked
    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        return _only(await (await self._open(TWINS)).remove(TWINS, key, _at(idx)))

    @checked
    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        await (await self._open(TWINS)).remove(TWINS, key, list, status)

    @checked
    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        log = await self._open(TWINS)
        return as_chats(await log.remove(TWINS, key, lambda found: found[: max(n, 0)], MessageStatus.ACTIVE))

    @checked
    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        return as_chats(await (await self._open(TWINS)).archive(TWINS, key, n))

    async def get_keys(self) -> list[str]:
        return await (await self._open(TWINS)).keys(TWINS)


def _only(gone: Sequence[Message]) -> ChatMessage | None:
    return to_chat_message(gone[0]) if gone else None


def _at(place: int) -> Callable[[list[Message]], list[Message]]:
    return lambda found: found[place : place + 1] if place >= 0 else []
