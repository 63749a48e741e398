"""`HybridBufferStore`: the log as the store of ``ChatMemoryBuffer`` and its family."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import BaseChatStore

from hybrid_memory import Message
from hybrid_memory.runtime.runners import InlineRunner, drive
from llamaindex_hybrid_memory.conversation import TwinRunner
from llamaindex_hybrid_memory.stores.keyed_log import Status
from llamaindex_hybrid_memory.stores.keyed_store import KeyedStore, as_chats, as_messages, at, everything, only

_INLINE, _TWINS = InlineRunner(), TwinRunner()


class HybridBufferStore(KeyedStore, BaseChatStore):
    """The log as ``chat_store`` of ``ChatMemoryBuffer``, ``ChatSummaryMemoryBuffer`` and what else has a blocking face.

    Its ``chat_store_key`` is the session. `HybridChatStore` cannot be the same class: there the names belong to
    coroutines. Both show the same messages.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex serialises it."""
        return "HybridBufferStore"

    def set_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Let a key have exactly these messages."""
        drive(self._open().replace(_INLINE, key, as_messages(messages), Status.ACTIVE))

    async def aset_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        """Async twin of `set_messages`."""
        await (await self._aopen()).replace(_TWINS, key, as_messages(messages), Status.ACTIVE)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """All messages of a key, oldest first."""
        return as_chats(drive(self._open().read(_INLINE, key, None)))

    async def aget_messages(self, key: str) -> list[ChatMessage]:
        """Async twin of `get_messages`."""
        return as_chats(await (await self._aopen()).read(_TWINS, key, None))

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Write one message."""
        drive(self._open().add(_INLINE, key, as_messages([message]), Status.ACTIVE))

    async def async_add_message(self, key: str, message: ChatMessage) -> None:
        """Async twin of `add_message`."""
        await (await self._aopen()).add(_TWINS, key, as_messages([message]), Status.ACTIVE)

    def delete_messages(self, key: str) -> list[ChatMessage]:
        """The messages of a key, which are gone now."""
        return as_chats(drive(self._open().remove(_INLINE, key, everything)))

    async def adelete_messages(self, key: str) -> list[ChatMessage]:
        """Async twin of `delete_messages`."""
        return as_chats(await (await self._aopen()).remove(_TWINS, key, everything))

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """The message at this place, from 0, which is gone now; None if there is none."""
        return only(drive(self._open().remove(_INLINE, key, at(idx))))

    async def adelete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Async twin of `delete_message`."""
        return only(await (await self._aopen()).remove(_TWINS, key, at(idx)))

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """The last message, which is gone now; None if there is none."""
        return only(drive(self._open().remove(_INLINE, key, _last)))

    async def adelete_last_message(self, key: str) -> ChatMessage | None:
        """Async twin of `delete_last_message`."""
        return only(await (await self._aopen()).remove(_TWINS, key, _last))

    def get_keys(self) -> list[str]:
        """The keys under which this store wrote something that is not gone."""
        return drive(self._open().keys(_INLINE))

    async def aget_keys(self) -> list[str]:
        """Async twin of `get_keys`."""
        return await (await self._aopen()).keys(_TWINS)


def _last(found: list[Message]) -> list[Message]:
    return found[-1:]
