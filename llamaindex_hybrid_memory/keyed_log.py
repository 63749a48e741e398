"""The sessions of one owner for a chat store: each message is active, archived or removed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from llama_index.core.storage.chat_store.base_db import MessageStatus

from hybrid_memory import HybridMemory, Message, Scope, ScopedMemory
from hybrid_memory.adapters import FindItems, GetItem, Item, PutItem, Runner, hide, new_id
from llamaindex_hybrid_memory.revision import show

AGENT = "llamaindex.chat_store"
"""The agent that owns the keys and the archived ids; no conversation reads them."""

ALL = 1_000_000

PAGE = 100
"""How many messages to read first to find the active ones; LlamaIndex's queues are about this long."""


class KeyedLog:
    """The sessions of an owner, by key.

    Messages are events of the log, written once and never changed. Removed messages are those that a reset hid; the log
    keeps them, and they can be recalled. The ids of archived messages are stored separately and only ever added to, so
    that concurrent adding and archiving lose nothing, in any number of processes.
    """

    def __init__(self, memory: HybridMemory, owner: Scope) -> None:
        self._memory = memory
        self._owner = owner
        self._items = memory.items(AGENT, tenant=owner.tenant)
        # A digest, since items stay when the user is forgotten.
        names = json.dumps([owner.tenant, owner.user, owner.agent])
        self._root = hashlib.blake2b(names.encode(), digest_size=16).hexdigest()
        self._known: set[str] = set()

    async def read(self, run: Runner, key: str, status: MessageStatus | None) -> list[Message]:
        """The messages of a key, oldest first: those of one status, or all that are not removed."""
        session = self._session(key)
        if status is None:
            return await run.call(session.history, current=True)
        swept, single = await self._archived(run, key)
        limit = PAGE if swept and status is MessageStatus.ACTIVE else None
        shown = await run.call(session.history, current=True, limit=limit)
        # What stands before a message that was archived with all before it is archived too.
        while limit and len(shown) == limit and swept.isdisjoint(one.id for one in shown):
            limit *= 4
            shown = await run.call(session.history, current=True, limit=limit)
        archived = swept | single
        return [one for one in shown if (one.id in archived) == (status is MessageStatus.ARCHIVED)]

    async def add(self, run: Runner, key: str, messages: Sequence[Message], status: MessageStatus) -> None:
        """Write the messages next to each other, all or none."""
        if not messages:
            return
        await self._register(run, key)
        named = [message.model_copy(update={"id": new_id()}) for message in messages]
        if status is MessageStatus.ARCHIVED:
            await self._archive(run, key, named, oldest=False)
        await run.call(self._session(key).remember, named)

    async def replace(self, run: Runner, key: str, messages: Sequence[Message], status: MessageStatus) -> None:
        """Make the key contain exactly these messages; messages that its session has are not written again."""
        await self._register(run, key)
        marks = await self._items_in(run, self._root, "archived", key)
        await self._put(
            run, [PutItem(mark.namespace, mark.key, {**mark.value, "ids": []}) for mark in marks if mark.value["ids"]]
        )
        await show(run, self._session(key), messages)
        if status is MessageStatus.ARCHIVED:
            await self._archive(run, key, await self.read(run, key, MessageStatus.ACTIVE))

    async def archive(self, run: Runner, key: str, count: int) -> list[Message]:
        """Archive the oldest active messages and return them."""
        oldest = (await self.read(run, key, MessageStatus.ACTIVE))[: max(count, 0)]
        await self._archive(run, key, oldest)
        return oldest

    async def remove(
        self,
        run: Runner,
        key: str,
        chosen: Callable[[list[Message]], Sequence[Message]],
        status: MessageStatus | None = None,
    ) -> list[Message]:
        """Remove the chosen messages and return them."""
        gone = list(chosen(await self.read(run, key, status)))
        await hide(run, self._session(key), gone)
        return gone

    async def keys(self, run: Runner) -> list[str]:
        """The keys under which this store wrote messages that are not removed."""
        names = sorted(item.key for item in await self._items_in(run, self._root, "keys"))
        return [name for name in names if await run.call(self._session(name).history, current=True, limit=1)]

    def _session(self, key: str) -> ScopedMemory:
        owner = self._owner
        return self._memory.scoped(tenant=owner.tenant, user=owner.user, agent=owner.agent, session=key)

    async def _register(self, run: Runner, key: str) -> None:
        if key not in self._known:
            self._session(key)  # refuses what can be no key
            name = (self._root, "keys")
            (registered,) = await run.call(self._items.batch, [GetItem(name, key)])
            await self._put(run, [PutItem(name, key, {})] if registered is None else [])
            self._known.add(key)

    async def _archived(self, run: Runner, key: str) -> tuple[set[str | None], set[str | None]]:
        """The ids archived as the oldest ones, and those archived when they were written."""
        swept: set[str | None] = set()
        single: set[str | None] = set()
        for mark in await self._items_in(run, self._root, "archived", key):
            (swept if mark.value["oldest"] else single).update(mark.value["ids"])
        return swept, single

    async def _items_in(self, run: Runner, *namespace: str) -> list[Item]:
        (found,) = await run.call(self._items.batch, [FindItems(namespace, limit=ALL)])
        return [item for item in found if isinstance(item, Item)] if isinstance(found, list) else []

    async def _archive(self, run: Runner, key: str, messages: Sequence[Message], *, oldest: bool = True) -> None:
        if messages:
            ids = [str(message.id) for message in messages]
            await self._put(run, [PutItem((self._root, "archived", key), ids[-1], {"ids": ids, "oldest": oldest})])

    async def _put(self, run: Runner, puts: Sequence[PutItem]) -> None:
        if puts:
            await run.call(self._items.batch, puts)
