"""Summaries without what is forgotten: each revision as if the turns had never been."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from hybrid_memory.artifacts import merge, read_on
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.state import Attempt, QueueState, ledger_payload
from hybrid_memory.context.summaries.lines import candidates
from hybrid_memory.context.summary import Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.visible import Stretches, outermost
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import revision_id
from hybrid_memory.store.services import Services


@dataclass(frozen=True, slots=True)
class _Known:
    """The ledger over these stretches without what goes.

    Attributes:
        same: whether it is the one that was stored; anew: whether it was read from the turns, from the first on.
    """

    stretches: Stretches
    ledger: Ledger
    same: bool
    anew: bool = False


class Rewriting:
    """Reads the revisions of an owner's summaries, by position, and writes anew those that what goes had a part in.

    A revision continues the one before: only what it added is read again, and no more once the ledgers agree.
    """

    def __init__(self, run: Runner, services: Services, erasure: Erasure) -> None:
        self._run, self._services, self._erasure = run, services, erasure
        self._places = sorted(erasure.places)
        self._known: dict[Scope, _Known] = {}
        self._lines: dict[tuple[Scope, Line], Line | None] = {}

    async def read(self, event: Event) -> None:
        """Let the next revision be written anew, if it has to be."""
        erasure = self._erasure
        payload = erasure.rewritten.get(event.position, event.payload)
        stretches = tuple((first, last) for first, last in payload["stretches"])
        worded = erasure.has_words([[line["text"] for line in payload["lines"]], payload["ledger"]])
        named = any(erasure.made_of(line["sources"], event.scope.session) for line in payload["lines"])
        covered = any(self._within(first, last) for first, last in stretches)
        retried = [place for attempt in payload["retry"] for place in attempt["positions"]]
        kept = not erasure.places.isdisjoint([*payload["kept"], payload["anchor"], *retried])
        if not (worded or named or kept):
            known = self._known.get(event.scope)
            if self._stays(known, stretches) if covered else known is None or known.same:
                # Else it would continue what is written anew, and cover it.
                self._known[event.scope] = _Known(stretches, Ledger.model_validate(payload["ledger"]), same=True)
                return
        await self._write(replace(event, payload=payload), anew=worded or (named and bool(erasure.lost)))

    async def _write(self, event: Event, *, anew: bool) -> None:
        erasure, state = self._erasure, QueueState.of(event)
        lines = [await self._line(event.scope, line) for line in state.lines]
        rows = {
            new: row if new is old else asdict(new)  # most lines stay as they are
            for row, old, new in zip(event.payload["lines"], state.lines, lines, strict=True)
            if new is not None
        }
        ledger = await self._ledger(event.scope, state, anew=anew)
        payload = {
            **event.payload,
            "lines": list(rows.values()),
            "ledger": event.payload["ledger"] if ledger is state.ledger else ledger_payload(ledger),
            "kept": [place for place in state.kept if place not in erasure.places],
            "anchor": 0 if state.anchor in erasure.places else state.anchor,
            "retry": [asdict(attempt) for attempt in _remaining(state.retry, erasure.places)],
        }
        if payload != event.payload:
            changed = sum(new is not None and new is not old for new, old in zip(lines, state.lines, strict=True))
            erasure.counts["summary lines"] += lines.count(None)
            erasure.counts["summary lines rewritten"] += changed
            erasure.rewrite({event.position: payload}, "summaries rewritten")

    async def _line(self, session: Scope, line: Line) -> Line | None:
        """The line, or what the turns that remain of its sources say in their own words, or None if none remains."""
        erasure, key = self._erasure, (session, line)
        if not erasure.made_of(line.sources, session.session):
            return None if erasure.has_words(line.text) else line
        if key not in self._lines:
            left = [name for name in line.sources if not erasure.made_of([name], session.session)]
            events = await self._run.call(self._services.truth.get, session, left) if left else []
            messages = [event for event in events if event.kind is EventKind.MESSAGE]
            offered = [
                one for one in candidates(messages, self._services.config.cleaning) if not erasure.has_words(one.text)
            ]
            best = max(offered, key=lambda other: (other.section is line.section, other.importance), default=None)
            self._lines[key] = None if best is None else replace(best, section=line.section)
        return self._lines[key]

    async def _ledger(self, session: Scope, state: QueueState, *, anew: bool) -> Ledger:
        """The ledger over the turns that stay; ``anew`` if what is stored is not to be relied on."""
        known = self._known.get(session) or await self._before(session, state)
        added = _beyond(known.stretches, state.stretches)
        if added is None or (anew and not known.anew):
            known, added = _Known((), Ledger(), same=False, anew=True), state.stretches
        if known.same and not any(self._within(first, last) for first, last in added):
            ledger = state.ledger
        else:
            ledger = await self._over(session, known.ledger, added)
        self._known[session] = _Known(state.stretches, ledger, ledger == state.ledger, known.anew)
        return ledger

    async def _before(self, session: Scope, state: QueueState) -> _Known:
        """The revision that this one continues, if nothing that goes had a part in it."""
        name = revision_id("queue", state.number - 1)
        for event in await self._run.call(self._services.truth.get, session, [name]):
            if event.scope == session and event.kind is EventKind.COMPACTION:
                before = QueueState.of(event)
                if not any(self._within(first, last) for first, last in before.stretches):
                    return _Known(before.stretches, before.ledger, same=True)
        return _Known((), Ledger(), same=True)

    async def _over(self, session: Scope, ledger: Ledger, stretches: Stretches) -> Ledger:
        for first, last in stretches:
            events = await self._run.call(
                self._services.truth.read, session, after=first - 1, upto=last, kinds=(EventKind.MESSAGE,)
            )
            messages = [event.message for event in events if event.position not in self._erasure.places]
            ledger = merge(ledger, read_on(ledger, messages))
        return ledger

    def _stays(self, known: _Known | None, stretches: Stretches) -> bool:
        """Whether it adds nothing that goes to a revision that stayed as it was without what goes."""
        added = _beyond(known.stretches, stretches) if known is not None and known.same else None
        return added is not None and not any(self._within(first, last) for first, last in added)

    def _within(self, first: int, last: int) -> bool:
        """Whether something that goes lies in this stretch."""
        at = bisect_left(self._places, first)
        return at < len(self._places) and self._places[at] <= last


def _beyond(before: Stretches, stretches: Stretches) -> Stretches | None:
    """Those behind the ones that cover what the stretches before covered, neighbours joined; None if they do not."""
    before, stretches = outermost(before), outermost(stretches)
    row = 0
    for number, (first, last) in enumerate(stretches):
        if row == len(before):
            return stretches[number:]
        if before[row][0] != first:
            return None
        while row < len(before) and before[row][1] < last:
            row += 1
        if row == len(before) or before[row][1] != last:
            return None
        row += 1
    return () if row == len(before) else None


def _remaining(attempts: Sequence[Attempt], places: set[int]) -> list[Attempt]:
    left = [replace(one, positions=tuple(p for p in one.positions if p not in places)) for one in attempts]
    return [attempt for attempt in left if attempt.positions]
