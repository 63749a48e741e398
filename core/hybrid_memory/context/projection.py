"""The queues of sessions as a projection: what is cached, how they forget, and the audits of their summaries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any, TypeAlias

from hybrid_memory.artifacts import read_ledger
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.lines import candidates
from hybrid_memory.context.queue import QueueState, ledger_payload
from hybrid_memory.context.shortening import Costs, Shown
from hybrid_memory.context.summary import Audit, Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.views import Stretches, outermost, within
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import Projection, revision_id
from hybrid_memory.store.services import Services

STATES_BATCH = 32
"""Queue states read at once, as each contains its whole summary."""

SHOWN_CACHE = 8192
WARNED_CACHE = 1024

MAX_SESSIONS = 1000
"""The most sessions of one owner whose compactions are summed, those that began compacting last."""

Payload: TypeAlias = dict[str, Any]


class QueueProjection(Projection):
    """The queues of sessions: summaries of compacted turns, and memories recalled for the others.

    Attributes:
        shown: cached messages as shown in prompts, with their tokens.
        warned: budgets that were too small, of which callers were warned once.
    """

    kinds = frozenset({EventKind.COMPACTION, EventKind.RESET, EventKind.RECALLED})
    repeats = frozenset({EventKind.COMPACTION, EventKind.RECALLED})

    def __init__(self) -> None:
        self.shown: LruCache[tuple[object, ...], Shown] = LruCache(SHOWN_CACHE)
        self.warned: LruCache[tuple[Scope, int], bool] = LruCache(WARNED_CACHE)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the cached messages."""
        self.shown.clear(lambda key, _: owner in (None, key[0]))

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the turns behind a summary line."""
        return item.sources if isinstance(item, Line) else None

    def parse(self, event: Event) -> object:
        """The state of the queue, or the note."""
        return event.payload["text"] if event.kind is EventKind.RECALLED else QueueState.of(event)

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Rewrite each revision of a summary without the turns; drop notes of recalled memories entirely."""
        await super().forget(run, services, erasure)
        if erasure.everything:
            return
        rewriting = _Rewriting(run, services, erasure)
        async for events in self.of(run, services, erasure, EventKind.COMPACTION, STATES_BATCH):
            for event in events:
                await rewriting.rewrite(event)
        async for events in self.of(run, services, erasure, EventKind.RECALLED):
            # Besides memories a note has the question, and may name files of any earlier turn in its session.
            erasure.drop(
                (
                    note
                    for note in events
                    if note.position > erasure.first.get(note.scope, note.position)
                    or erasure.made_of((note.payload.get("turn"), *note.sources))
                    or erasure.has_words([note.payload["query"], note.payload["text"]])
                ),
                "notes of what was recalled",
            )

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        """The audit of critical items over all sessions; the newest compaction of each has its session's sum."""
        total = Audit()
        kinds = (EventKind.COMPACTION,)
        for owner in await run.call(services.log.newest, kinds):
            first = await run.call(
                services.log.read, owner, ids=[revision_id("queue", 1)], limit=MAX_SESSIONS, newest=True
            )
            for scope in {event.scope for event in first}:
                limit = STATES_BATCH if scope == owner else 1
                events = await run.call(services.log.read, scope, kinds=kinds, limit=limit, newest=True)
                for event in [event for event in events if event.scope == scope][-1:]:
                    total += Audit.of(event.payload["audit"])
        return {"compactions": total}


def costs_of(services: Services) -> Costs:
    """Counts the tokens of messages in a prompt."""
    return Costs(services.count, services.state(QueueProjection).shown, services.author)


class _Rewriting:
    """Rewrites the revisions of an owner's summaries, by position, as if the erased turns had never existed.

    From the first revision that has an erased turn on, the ledgers of its session are read from the turns again. A
    revision continues the one before it, so that each turn is read once.
    """

    def __init__(self, run: Runner, services: Services, erasure: Erasure) -> None:
        self._run, self._services, self._erasure = run, services, erasure
        self._places = sorted(erasure.places)
        self._ledgers: dict[Scope, tuple[Stretches, Ledger]] = {}
        self._lines: dict[tuple[Scope, Line], Payload | None] = {}
        self._has_words = cache(erasure.has_words)

    async def rewrite(self, event: Event) -> None:
        erasure, session = self._erasure, event.scope
        payload: Payload = erasure.rewritten.get(event.position, event.payload)
        lines = [await self._line(session, row) for row in payload["lines"]]
        new = {
            **payload,
            "lines": [row for row in lines if row is not None],
            "ledger": await self._ledger(session, payload, changed=lines != payload["lines"]),
            "kept": [place for place in payload["kept"] if place not in erasure.places],
            "anchor": 0 if payload["anchor"] in erasure.places else payload["anchor"],
        }
        if new != payload:
            pairs = zip(lines, payload["lines"], strict=True)
            erasure.counts["summary lines"] += lines.count(None)
            erasure.counts["summary lines rewritten"] += sum(row is not None and row is not old for row, old in pairs)
            erasure.rewrite({event.position: new}, "summaries rewritten")

    async def _line(self, session: Scope, row: Payload) -> Payload | None:
        """The line; if affected, a quotation of its remaining sources, or None if none remains."""
        erasure, line = self._erasure, Line.of(row)
        if not erasure.made_of(line.sources, session.session):
            return None if self._has_words(line.text) else row
        if (session, line) not in self._lines:
            left = [name for name in line.sources if not erasure.made_of([name], session.session)]
            events = await self._run.call(self._services.truth.get, session, left) if left else []
            messages = [event for event in events if event.kind is EventKind.MESSAGE]
            quotations = [
                other
                for other in candidates(messages, self._services.config.cleaning)
                if not self._has_words(other.text)
            ]
            best = max(quotations, key=lambda other: (other.section is line.section, other.importance), default=None)
            self._lines[session, line] = None if best is None else asdict(replace(best, section=line.section))
        return self._lines[session, line]

    async def _ledger(self, session: Scope, payload: Payload, *, changed: bool) -> Payload:
        stored: Payload = payload["ledger"]
        stretches: Stretches = tuple((first, last) for first, last in payload["stretches"])
        if session not in self._ledgers:
            at = [(bisect_left(self._places, first), last) for first, last in stretches]
            erased = any(row < len(self._places) and self._places[row] <= last for row, last in at)
            if not (changed or erased or any(map(self._has_words, _texts(stored)))):
                return stored
        before, ledger = self._ledgers.get(session, ((), Ledger()))
        if not all(within(first, stretches) for first, _ in before):  # the conversation was reset
            before, ledger = (), Ledger()
        for first, last in outermost(sorted(stretches)):
            if within(first, before):
                continue
            events = await self._run.call(
                self._services.truth.read, session, after=first - 1, upto=last, kinds=(EventKind.MESSAGE,)
            )
            messages = [event.message for event in events if event.position not in self._erasure.places]
            ledger = read_ledger(messages, ledger)
        self._ledgers[session] = stretches, ledger
        return ledger_payload(ledger)


def _texts(value: Any) -> Iterator[str]:
    """The texts in this JSON, other than ids of messages."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name not in {"sources", "source"}:
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield str(value)
