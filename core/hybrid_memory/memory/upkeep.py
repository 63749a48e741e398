"""The verbs of time and forgetting: views of the past, rollback, and what is destroyed for good."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Self

from hybrid_memory.context.summary import Line
from hybrid_memory.facts.fact import Fact
from hybrid_memory.index.record import Record
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory.handle import Handle
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import drive
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store import view as rolling

Forgettable = str | Hit | Fact | Line | Record


class Upkeep(Handle):
    """What one owner can do with time."""

    def at(self, moment: datetime | int) -> Self:
        """This memory as it was: turns, recall, facts, profile and summary, to be read only.

        Args:
            moment: an instant, for all that was said by then; or a position, for the log as it stood there.

        Raises:
            InvalidInputError: a naive datetime, or neither.
        """
        return type(self)(self._runtime, self.scope, rolling.horizon(moment))

    def rollback(self, to: datetime | int) -> Receipt:
        """Show the whole memory of this owner, all sessions, as it stood at this place in the log.

        What came after is hidden, not destroyed: rolling back to the position before this rollback restores it.

        Raises:
            InvalidInputError: it is no place in this owner's log.
        """
        return drive(rolling.rollback(INLINE, self._services, self.scope, to))

    async def arollback(self, to: datetime | int) -> Receipt:
        """Async twin of `rollback`."""
        return await rolling.rollback(self._runtime.loop, self._services, self.scope, to)

    def forget(
        self,
        *,
        ids: Forgettable | Collection[Forgettable] | None = None,
        query: str | None = None,
        user: str | None = None,
        before: datetime | None = None,
        expired: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Destroy turns and everything derived from them: records, vectors, claims, summary lines, notes, payloads.

        What mixes them with other turns is written anew without them, and blocks without the lines that came of them.
        Exactly one of the first five says which turns:

        Args:
            ids: event ids, handles such as ``#12``, hits, facts or lines; all turns behind them.
            query: words; every turn that contains them, in any case: of the session if the handle names one, with what
                was noted outside of any.
            user: everything in all sessions, given the user of this scope again.
            before: what was said before this instant; aware.
            expired: what the retention policy hides.
            dry_run: only say what would be destroyed.

        Raises:
            InvalidInputError: none or several are given, or an id is not there. Nothing was destroyed.
            StoreUnavailableError: another process keeps the engine from cleaning its files; call it again.
        """
        request = forgetting.Request.of(
            self.scope, ids=ids, query=query, user=user, before=before, expired=expired, dry_run=dry_run
        )
        return drive(forgetting.forget(INLINE, self._services, self.scope, request))

    async def aforget(
        self,
        *,
        ids: Forgettable | Collection[Forgettable] | None = None,
        query: str | None = None,
        user: str | None = None,
        before: datetime | None = None,
        expired: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Async twin of `forget`."""
        request = forgetting.Request.of(
            self.scope, ids=ids, query=query, user=user, before=before, expired=expired, dry_run=dry_run
        )
        return await forgetting.forget(self._runtime.loop, self._services, self.scope, request)
