"""The verbs of what was said: written, read as it was said, and recalled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from hybrid_memory.arrays import Floats
from hybrid_memory.config.memory import Weights
from hybrid_memory.context import conversation as following
from hybrid_memory.context import why_not as missing
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.facts.fact import Explanation
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.origin import Origin
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.media import recall as media_recall
from hybrid_memory.memory.faces import Handle, faces
from hybrid_memory.recall.cache import count_uses
from hybrid_memory.recall.hit import Hit, Hits
from hybrid_memory.recall.plan import Intent
from hybrid_memory.recall.recall import recall as search
from hybrid_memory.recall.request import Request
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.sharing.decide import reached
from hybrid_memory.sharing.grant import Right
from hybrid_memory.store import remember
from hybrid_memory.store import view as reading
from hybrid_memory.store.remember import Content, as_messages
from hybrid_memory.validation import checked_count


class Turns(Handle):
    """What was said to one owner's memory, shown to it, or played to it."""

    async def _remember(
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
        receipt = await remember.remember(run, self._services, self.scope, messages)
        self._runtime.after_write(self.scope)
        return receipt

    # Takes no trust: what is written without it waits for an admin.
    remember, aremember = faces(_remember, needs=Right.WRITE, trusted=False, refusal=InvalidMessageError)

    async def _follow(self, run: Runner, messages: Sequence[str | Message | Mapping[str, Any]]) -> list[str | None]:
        """Bring the log up to a conversation that somebody else holds, such as an agent's state or a chat window.

        Give all of it, or the end of it; what the log has already is not written again, whether the messages have their
        ids or were sent without. What the log was told to forget is not written again either. All or nothing.

        Returns:
            For each message the id of its event, None where the log has none.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        ids = await following.follow(run, self._services, self.scope, as_messages(messages))
        self._runtime.after_write(self.scope)
        return ids

    follow, afollow = faces(_follow, needs=Right.WRITE, refusal=InvalidMessageError)

    async def _history(
        self, run: Runner, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Message]:
        """The messages as they were said, oldest first: of the session, or of all sessions if the scope names none.

        Args:
            limit: the newest so many; None is all.
            since: only what was said then or later; aware.
            until: only what was said before; aware.

        Raises:
            InvalidInputError: a negative limit, or an instant that is naive or after the other.
        """
        return await reading.history(run, self._services, self.scope, limit=limit, since=since, until=until)

    history, ahistory = faces(_history, needs=Right.READ)

    async def _events(
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
        """All that the log holds of this owner or session, oldest first: messages, and what was derived and decided.

        Args:
            before: only those below this position.
            kinds: only these, see `EventKind`; empty means any.
            since: only what happened then or later; aware.
            until: only what happened before; aware.
            limit: the newest so many; None is all.
            which: just the entries with these ids or positions, as far as there are any, also those that a rollback or
                an edit hides; nothing else is given with it.

        Raises:
            InvalidInputError: an unknown kind, a number out of range, or an instant that is naive or after the other.
        """
        if which is not None:
            return await reading.entries(run, self._services, self.scope, which)
        return await reading.events(
            run, self._services, self.scope, before=before, kinds=kinds, since=since, until=until, limit=limit
        )

    events, aevents = faces(_events, needs=Right.ADMIN)

    async def _recall(
        self,
        run: Runner,
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
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Hits:
        """The records that answer the query best, at most k, best first; what was just written is found.

        Names, ids, paths and "quoted words" are looked for word for word, times such as "two weeks ago" as stretches of
        time, and words that nobody used here as misspellings; `Hit.why` tells what was made of the query.
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
            origins: only the words of these, such as ``["user", "operator"]``, see `Origin`; empty means any that
                `RecallConfig.origins` allows.
            min_confidence: hits that are less sure than this to answer are left out, see `Hit.confidence`; in 0 to 1,
                by default as configured. Those of which nothing tells it stay.

        Raises:
            InvalidInputError: a query that is empty or no text, k below 1, ``within="session"`` without a session, an
                unknown kind, origin or intent, a naive instant, metadata of other values than these, a confidence out
                of range.
            AccessDeniedError: a space that is named may not be read.
        """
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, spaces=spaces, origins=origins,
            min_confidence=min_confidence,
        )  # fmt: skip
        services = self._services
        with at_priority(INTERACTIVE), services.statistics.timed("recall"):
            shared = await reached(run, services, self._principal, request.spaces, "recall")
            found = await search(run, services, request, [space for space in shared if space != self.scope.owner])
        self._runtime.make_vectors()
        hits = [hit for hit in found if request.keeps(hit, services.config.recall.min_confidence)]
        if count_uses(services, self.scope.owner, hits):
            self._runtime.after_recall()
        return Hits(hits, request.query, unsure=len(found) - len(hits))

    recall, arecall = faces(_recall, needs=Right.READ)

    async def _why_not(
        self,
        run: Runner,
        query: str,
        what: str | Hit | Record,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | str = Intent.AUTO,
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Explanation:
        """Why `recall` does not return a turn for this query: its rank and what it lacks, or what left it out.

        Args:
            query: as given to `recall`.
            what: the turn: a handle such as ``#12``, the id of its event, or what recall found of it.
            k: as given to `recall`, as are all others.

        Raises:
            InvalidInputError: there is no such turn of this owner, or `recall` would not take an argument.
        """
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, origins=origins,
            min_confidence=min_confidence,
        )  # fmt: skip
        return await missing.why_not(run, self._services, request, self.scope, what)

    why_not, awhy_not = faces(_why_not, needs=Right.READ)

    async def _recall_media(
        self,
        run: Runner,
        query: str | bytes | Mapping[str, Any],
        *,
        k: int = 10,
        kinds: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        within: Literal["user", "session"] = "user",
    ) -> list[Hit]:
        """The images or sounds in messages that answer a text best, or are most like an example, best first.

        For a text ``0.7 * vector + 0.3 * text``, where the words are those of the message around it and the name of the
        file; for an example nearness alone. What was just written is found, if its data stood in the message: links are
        not followed, and system messages are left out.

        A hit is no bytes: ``record.metadata`` has ``handle``, which `expand` takes and whose message has the medium,
        ``block``, its place among the content blocks, ``media``, its media type, and ``bytes``, its size.

        Args:
            query: a text, the bytes of an example, or a content block with its data, as messages have it.
            k: how many at most.
            kinds: ``image``, ``audio``; empty means any that the embedder embeds.
            since: only what was said then or later; aware.
            until: only what was said before; aware.
            within: all sessions of the owner, or this handle's session only.

        Raises:
            InvalidInputError: the memory has no embedder for media, or none for this kind; an example that cannot be
                decoded or read; and as `recall`.
            ModelError: the embedder failed on an example. For a text the words are left, and each hit has a note.
        """
        services = self._services
        with at_priority(INTERACTIVE), services.statistics.timed("recall_media"):
            request = media_recall.MediaRequest.of(
                self.scope, query, k=k, kinds=kinds, since=since, until=until, within=within
            )
            return await media_recall.recall_media(run, services, request)

    recall_media, arecall_media = faces(_recall_media, needs=Right.READ)

    async def _records(self, run: Runner, positions: Collection[int]) -> list[Record]:
        """What the index holds of the turns at these positions of the log."""
        records = await run.call(self._services.index.get, list(positions))
        return [record for record in records if record.scope.owner == self.scope.owner]

    records, arecords = faces(_records, needs=Right.READ)

    async def _vectors(
        self, run: Runner, positions: Collection[int], *, query: str = ""
    ) -> tuple[dict[int, Floats], Floats | None]:
        """The stored vectors of the turns at these positions, as far as they have one, and that of a query.

        Args:
            positions: as in `records`.
            query: embedded as `recall` does it.

        Returns:
            Unit vectors of shape ``(dim,)`` by position, and the query's; None without a query or an embedder.

        Raises:
            ModelError: the embedder failed.
        """
        services = self._services
        rows = await run.call(services.index.vectors, list(positions), self.scope.owner)
        stored = {key: row for key, row in rows.items() if isinstance(key, int)}
        if not query or services.embedder is None:
            return stored, None
        return stored, await run.call(services.embedder.embed_query, query)

    vectors, avectors = faces(_vectors, needs=Right.READ)

    async def _activity(self, run: Runner, *, newest: int = 10_000) -> Counter[tuple[date, EventKind]]:
        """How many events were written on each day (UTC), by kind, among the newest of this owner or session.

        The log counts them, also those that a rollback hides, and no words are read.

        Args:
            newest: how many events are counted at most.
        """
        return await run.call(self._services.truth.tally, self.scope, newest=checked_count("newest", newest, least=1))

    activity, aactivity = faces(_activity, needs=Right.READ)

    async def _count(self, run: Runner) -> int:
        """How many entries the log of this owner has."""
        return await run.call(self._services.truth.count, self.scope.owner)

    count, acount = faces(_count, needs=Right.READ)
