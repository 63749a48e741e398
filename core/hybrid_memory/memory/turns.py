"""The verbs of what was said: written, read as it was said, and recalled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from hybrid_memory.config import Weights
from hybrid_memory.context import conversation as logged
from hybrid_memory.context.layout import Host
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.index.record import RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Origin, Role
from hybrid_memory.log.port import Receipt
from hybrid_memory.memory.faces import Handle, verb
from hybrid_memory.recall.cache import count_uses
from hybrid_memory.recall.hit import Hits
from hybrid_memory.recall.plan import Intent, Request
from hybrid_memory.recall.recall import asks_by_request, finds
from hybrid_memory.recall.recall import recall as search
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.runtime.tracing import traced
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import Right, reached
from hybrid_memory.store import remember
from hybrid_memory.store import view as reading
from hybrid_memory.store.remember import Content, as_messages
from hybrid_memory.store.services import Services


@traced("recall", asks_by_request, finds)
async def _recalled(run: Runner, services: Services, request: Request, principal: Scope) -> Hits:
    """The hits in this memory and in the spaces that the principal may read, without uncertain ones."""
    spaces = []
    if request.spaces:
        readable = await reached(run, services, principal, request.spaces, "recall")
        spaces = [space for space in readable if space != request.where.scope.owner]
    found = await search(run, services, request, spaces)
    hits = [hit for hit in found if request.keeps(hit.confidence, services.config.recall.min_confidence)]
    return Hits(hits, request.query, unsure=len(found) - len(hits))


class Turns(Handle):
    """Writing and recalling the turns of one owner."""

    @verb(Right.WRITE, refusal=InvalidMessageError)
    async def remember(
        self,
        run: Runner,
        content: Content,
        *,
        role: Role | str = Role.USER,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name, as in Message
    ) -> Receipt:
        """Write text, a message, a dict (``{"role": ..., "content": ...}``) or a list of these, all or none.

        The events are durable when this returns. They are indexed in the background, at the latest by the next recall.
        Writing a message again under the same id changes nothing, also if it was forgotten meanwhile.

        Args:
            content: what was said.
            role: the role of plain texts.
            at: when it was said, timezone-aware; by default the message's own time, or now.
            metadata: your own JSON values, added to every message; a message's own values win.
            id: makes writing a single message idempotent within its session.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            IdConflictError: the id is taken by another message. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        messages = as_messages(content, role=role, at=at, metadata=metadata, message_id=id)
        if not self.remembers:
            return Receipt()
        receipt = await remember.remember(run, self._services, self.scope, messages)
        self._runtime.after_write(self.scope)
        return receipt

    @verb(Right.WRITE, refusal=InvalidMessageError)
    async def mirror(
        self, run: Runner, messages: Sequence[str | Message | Mapping[str, Any]], *, host: Host | None = None
    ) -> list[str | None]:
        """Add to the log what is new in a conversation that your program holds, such as an agent's state.

        Pass the whole conversation or its end. Messages that the log already has are not written again, with or without
        ids, and neither are messages that were forgotten. Either all new messages are written or none.

        Args:
            messages: the conversation or its end.
            host: from ``began`` on, your program has only the messages in ``among``, and these. Others of the session
                that a program of the same kind wrote are no longer shown and recalled, as if they had been edited,
                until a program has them again.

        Returns:
            The id of each message's event, or None if the log has none.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        if not self.remembers:
            return [None for _ in as_messages(messages)]
        ids = await logged.mirror(run, self._services, self.scope, as_messages(messages), host)
        self._runtime.after_write(self.scope)
        return ids

    @verb(Right.READ)
    async def history(
        self,
        run: Runner,
        *,
        current: bool = False,
        limit: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Message]:
        """The original messages, oldest first: of this session, or of all sessions if the scope names none.

        Args:
            current: only the conversation since the last `reset`, compacted or not, with what that kept.
            limit: return only the newest messages, at most this many; None returns all.
            since: only messages from this instant on, timezone-aware.
            until: only messages before this instant, timezone-aware.

        Raises:
            InvalidInputError: the limit is negative, an instant has no time zone, or since is after until.
        """
        return await logged.history(run, self._services, self.scope, limit, current=current, since=since, until=until)

    @verb(Right.ADMIN)
    async def events(
        self,
        run: Runner,
        *,
        before: int | None = None,
        kinds: Collection[EventKind | str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        which: Collection[str | int] | None = None,
    ) -> list[Event]:
        """All events of this owner or session, oldest first: messages, and everything derived from them.

        Args:
            before: only events below this position.
            kinds: only these kinds, see `EventKind`; empty means any.
            since: only events from this instant on, timezone-aware.
            until: only events before this instant, timezone-aware.
            limit: return only the newest events, at most this many; None returns all.
            which: only the events with these ids or positions, including those hidden by a rollback or an edit; cannot
                be combined with the other arguments.

        Raises:
            InvalidInputError: a kind is unknown, a number is out of range, or an instant has no time zone.
        """
        if which is not None:
            return await reading.entries(run, self._services, self.scope, which)
        return await reading.events(
            run, self._services, self.scope, before=before, kinds=kinds, since=since, until=until, limit=limit
        )

    @verb(Right.READ)
    async def recall(
        self,
        run: Runner,
        query: str,
        *,
        k: int = 10,
        scope: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | Literal["auto", "fact", "reasoning", "contextual"] = Intent.AUTO,
        spaces: Collection[str] | Literal["all"] = (),
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Hits:
        """The records that answer the query best, best first, at most k; includes what was written a moment ago.

        Names, ids, paths and "quoted words" are matched exactly. Times such as "two weeks ago" become time ranges, and
        words that occur nowhere are treated as misspellings; `Hit.why` shows how the query was read. Outdated facts
        rank lower unless the question is about the past. For a question about the present, the newer of two similar
        hits comes first, whatever their scores.

        Args:
            query: a question or any text.
            k: the most hits to return.
            scope: search all sessions of the owner, or only this session.
            kinds: only records of these kinds; empty means any.
            categories: only records of these categories; empty means any.
            since: only turns from this instant on, timezone-aware.
            until: only turns before this instant, timezone-aware.
            metadata: only records whose metadata has exactly these values: text, finite numbers, booleans or None.
                Types matter: 1, 1.0, True and "1" are four different values.
            weights: weights of the signals, instead of the configured ones.
            intent: which search paths run and how far, see `Intent`; by default the words of the query decide.
            spaces: shared spaces to search as well, in the same ranking; ``all`` for every space that may be read. A
                hit's ``record.scope.space`` and ``record.author`` say where it comes from.
            origins: only words of these origins, such as ``["user", "operator"]``, see `Origin`; empty means any that
                `RecallConfig.origins` allows.
            min_confidence: leave out hits with a lower `Hit.confidence`, in [0, 1]; by default as configured. Hits
                without a confidence are kept.

        Raises:
            InvalidInputError: the query is empty or not text, k is below 1, ``scope="session"`` has no session, a
                kind, origin or intent is unknown, an instant has no time zone, or a value is out of range.
            AccessDeniedError: a named space may not be read.
        """
        request = Request.of(
            self.scope, query, k=k, within=scope, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, spaces=spaces, origins=origins,
            min_confidence=min_confidence,
        )  # fmt: skip
        services = self._services
        with at_priority(INTERACTIVE), services.statistics.timed("recall"):
            hits = await _recalled(run, services, request, self._principal)
        self._runtime.make_vectors()
        if count_uses(services, self.scope.owner, hits):
            self._runtime.after_recall()
        return hits

    aremember = remember.twin
    amirror = mirror.twin
    ahistory = history.twin
    aevents = events.twin
    arecall = recall.twin
