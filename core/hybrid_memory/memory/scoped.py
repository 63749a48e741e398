"""The handle of one owner's memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from hybrid_memory import display
from hybrid_memory.config.weights import Weights
from hybrid_memory.context import conversation as following
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.index.record import RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory.conversation import Conversation
from hybrid_memory.memory.knowledge import Knowledge
from hybrid_memory.memory.media import Media
from hybrid_memory.memory.runtime import INLINE, flush_owners
from hybrid_memory.memory.upkeep import Upkeep
from hybrid_memory.recall.hit import Hits
from hybrid_memory.recall.plan import Intent
from hybrid_memory.recall.recall import recall
from hybrid_memory.recall.request import Request
from hybrid_memory.runtime.runners import Runner, drive
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.sharing import decide as sharing
from hybrid_memory.store import history, remember
from hybrid_memory.store.remember import Content, as_messages
from hybrid_memory.store.uses import count_uses

SHOWN_TURNS, SHOWN_CHARS = 5, 300
"""Turns that a notebook shows of a memory, and of each."""


class ScopedMemory(Conversation, Knowledge, Media, Upkeep):
    """One owner's memory; made by `HybridMemory.scoped`.

    Attributes:
        scope: whose it is.
    """

    def remember(
        self,
        content: Content,
        *,
        role: Role | str = Role.USER,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name, as in Message
    ) -> Receipt:
        """Write text, a message, a dict (``{"role": ..., "content": ...}``) or a list of these, all or none.

        The events are durable when this returns; indexing comes later, at the latest with the next recall.
        Writing a message again under the same id changes nothing.

        Args:
            content: what was said.
            role: of plain texts.
            at: when it was said; aware. The clock's time if neither this nor the message says.
            metadata: JSON values of the caller's own, for every message; a message's own values win.
            id: makes the write of one message idempotent within its session.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            IdConflictError: the id is taken by another message. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        messages = as_messages(content, role=role, at=at, metadata=metadata, message_id=id)
        receipt = drive(remember.remember(INLINE, self._services, self.scope, messages))
        self._runtime.said(self.scope)
        return receipt

    async def aremember(
        self,
        content: Content,
        *,
        role: Role | str = Role.USER,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name, as in Message
    ) -> Receipt:
        """Async twin of `remember`."""
        messages = as_messages(content, role=role, at=at, metadata=metadata, message_id=id)
        receipt = await remember.remember(self._runtime.loop, self._services, self.scope, messages)
        self._runtime.said(self.scope)
        return receipt

    def follow(self, messages: Sequence[Message]) -> list[str | None]:
        """Bring the log up to a conversation that somebody else holds, such as an agent's state or a chat window.

        Give all of it, or the end of it; what the log has already is not written again, whether the messages have their
        ids or were sent without. What the log was told to forget is not written again either. All or nothing.

        Returns:
            For each message the id of its event, None where the log has none.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        ids = drive(following.follow(INLINE, self._services, self.scope, as_messages(messages)))
        self._runtime.said(self.scope)
        return ids

    async def afollow(self, messages: Sequence[Message]) -> list[str | None]:
        """Async twin of `follow`."""
        ids = await following.follow(self._runtime.loop, self._services, self.scope, as_messages(messages))
        self._runtime.said(self.scope)
        return ids

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | Literal["auto", "fact", "reasoning", "contextual"] = Intent.AUTO,
        spaces: Collection[str] | Literal["all"] = (),
    ) -> Hits:
        """The records that answer the query best, at most k, best first; what was just written is found.

        Names, ids, paths and "quoted words" are looked for word for word, times such as "two weeks ago" as stretches of
        time, and words that nobody used here as slips of the fingers; `Hit.why` tells what was made of the query.
        What was learned to be out of date falls back, unless the question is about the past; and where it is about how
        things are now, the newer of two hits that say much the same stands first, whatever their scores.

        Args:
            query: a question or any text.
            k: how many at most; more than there is means all.
            within: all sessions of the owner, or this handle's session only.
            kinds: only these; empty means any.
            categories: only these; empty means any.
            since: only what was said then or later; aware.
            until: only what was said before; aware.
            metadata: only records whose metadata has exactly these values: text, finite numbers, booleans or None.
                Types are kept apart (1, 1.0, True and "1" are four values); text is compared whole, beyond a NUL too.
            weights: of the signals, instead of the configured ones.
            intent: which paths search how far, see `Intent`; by default the words of the query decide.
            spaces: shared spaces to search beside this memory, in one ranking; ``all`` for those that may be read. A
                hit's ``record.scope.space`` and ``record.author`` tell where it comes from.

        Raises:
            InvalidInputError: a query that is empty or no text, k below 1, ``within="session"`` without a session, an
                unknown kind or intent, a naive instant, metadata of other values than these.
            AccessDeniedError: a space that is named may not be read.
        """
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, spaces=spaces,
        )  # fmt: skip
        return drive(self._recall(INLINE, request))

    async def arecall(
        self,
        query: str,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | Literal["auto", "fact", "reasoning", "contextual"] = Intent.AUTO,
        spaces: Collection[str] | Literal["all"] = (),
    ) -> Hits:
        """Async twin of `recall`."""
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, spaces=spaces,
        )  # fmt: skip
        return await self._recall(self._runtime.loop, request)

    async def _recall(self, run: Runner, request: Request) -> Hits:
        services = self._services
        with at_priority(INTERACTIVE), services.statistics.timed("recall"):
            spaces = await sharing.reached(run, services, self._principal, request.spaces, "recall")
            hits = await recall(run, services, request, [space for space in spaces if space != self.scope.owner])
        if count_uses(services, self.scope.owner, hits):
            self._runtime.recalled()
        return Hits(hits, request.query)

    def history(
        self, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Message]:
        """The messages as they were said, oldest first: of the session, or of all sessions if the scope names none.

        Args:
            limit: the newest so many; None is all.
            since: only what was said then or later; aware.
            until: only what was said before; aware.

        Raises:
            InvalidInputError: a negative limit, or an instant that is naive or after the other.
        """
        flow = history.history(INLINE, self._services, self.scope, limit=limit, since=since, until=until)
        return drive(flow)

    async def ahistory(
        self, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Message]:
        """Async twin of `history`."""
        services = self._services
        return await history.history(self._runtime.loop, services, self.scope, limit=limit, since=since, until=until)

    def events(
        self,
        *,
        before: int | None = None,
        kinds: Collection[EventKind | str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """All that the log holds of this owner or session, oldest first: messages, and what was derived and decided.

        Args:
            before: only those below this position.
            kinds: only these, see `EventKind`; empty means any.
            since: only what happened then or later; aware.
            until: only what happened before; aware.
            limit: the newest so many; None is all.

        Raises:
            InvalidInputError: an unknown kind, a number out of range, or an instant that is naive or after the other.
        """
        return drive(
            history.events(
                INLINE, self._services, self.scope, before=before, kinds=kinds, since=since, until=until, limit=limit
            )
        )

    async def aevents(
        self,
        *,
        before: int | None = None,
        kinds: Collection[EventKind | str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Async twin of `events`."""
        return await history.events(
            self._runtime.loop,
            self._services,
            self.scope,
            before=before,
            kinds=kinds,
            since=since,
            until=until,
            limit=limit,
        )

    def flush(self, *, progress: bool | None = None) -> Receipt:
        """Do now what waits for a pause: index what was written, which recall would do first, and fold what is due.

        Args:
            progress: show a bar; None shows it on a terminal.

        Raises:
            ModelError: the embedder failed; texts are indexed, and the vectors that wait are made next time.
        """
        drive(self._runtime.fold_ahead(INLINE, self.scope.owner))
        return drive(flush_owners(INLINE, self._services, [self.scope.owner], progress))

    async def aflush(self, *, progress: bool | None = None) -> Receipt:
        """Async twin of `flush`."""
        await self._runtime.fold_ahead(self._runtime.loop, self.scope.owner)
        return await flush_owners(self._runtime.loop, self._services, [self.scope.owner], progress)

    def _repr_html_(self) -> str:
        try:
            turns = self.history(limit=SHOWN_TURNS)
        except HybridMemoryError as error:
            return f"<p>{display.text(repr(self))}: {display.text(error)}</p>"
        said = [
            display.under(
                display.EPISODIC,
                display.text(turn.text if len(turn.text) <= SHOWN_CHARS else f"{turn.text[:SHOWN_CHARS]}…"),
                f"{turn.at:%Y-%m-%d %H:%M} {display.text(turn.speaker)}",
            )
            for turn in turns
        ]
        newest = f"<small>the newest {len(said)} turns</small>" if said else "<p>nothing was said yet</p>"
        return display.card(display.text(repr(self)[1:-1]), newest + "".join(said))

    def __repr__(self) -> str:
        past = "" if self._horizon is None else f" as of {self._horizon}"
        return f"<ScopedMemory {self.scope} in {self._runtime}{past}>"
