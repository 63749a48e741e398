"""Rewrites summaries without what is forgotten: each revision as if the turns had never existed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from hybrid_memory.artifacts import read_ledger
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.state import ledger_payload
from hybrid_memory.context.summaries.lines import candidates
from hybrid_memory.context.summary import Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.visible import Stretches, outermost
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import number_of, revision_id
from hybrid_memory.store.services import Services

Payload: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Known:
    """The ledger over these stretches without erased turns.

    Attributes:
        stored: as JSON.
        same: whether it equals the stored one; anew: whether it was read from the turns, starting with the first.
    """

    stretches: Stretches
    stored: Payload
    same: bool
    anew: bool = False


class Rewriting:
    """Reads the revisions of an owner's summaries, by position, and rewrites those affected by the erasure.

    A revision continues the previous one: only its additions are read again, and not even those once the ledgers agree.
    As revisions largely repeat each other, rewritten ones share equal parts and need the memory of one.
    """

    def __init__(self, run: Runner, services: Services, erasure: Erasure) -> None:
        self._run, self._services, self._erasure = run, services, erasure
        self._places = sorted(erasure.places)
        self._known: dict[Scope, _Known] = {}
        self._lines: dict[tuple[Scope, Line], Payload | None] = {}
        self._gone: dict[Scope, frozenset[str]] = {}
        self._worded: dict[str, bool] = {}
        self._rows: dict[tuple[str, str], Payload] = {}

    async def read(self, event: Event) -> None:
        """Process the next revision, rewriting it if necessary."""
        erasure, session = self._erasure, event.scope
        payload: Payload = erasure.rewritten.get(event.position, event.payload)
        lines = [await self._line(session, row) for row in payload["lines"]]
        worded = self._has_words(payload["ledger"]) or any(self._has_words(row["text"]) for row in payload["lines"])
        named = bool(erasure.lost) and any(self._named(session, row) for row in payload["lines"])
        new = {
            **payload,
            "lines": [row for row in lines if row is not None],
            "ledger": await self._ledger(event, payload, anew=worded or named),
            "kept": [place for place in payload["kept"] if place not in erasure.places],
            "anchor": 0 if payload["anchor"] in erasure.places else payload["anchor"],
            "retry": _remaining(payload["retry"], erasure.places),
        }
        if new != payload:
            pairs = zip(lines, payload["lines"], strict=True)
            erasure.counts["summary lines"] += lines.count(None)
            erasure.counts["summary lines rewritten"] += sum(row is not None and row is not old for row, old in pairs)
            erasure.rewrite({event.position: self._sharing(new)}, "summaries rewritten")

    def _named(self, session: Scope, row: Payload) -> bool:
        """Whether a line has an erased turn among its sources."""
        if session not in self._gone:
            names = self._erasure.names
            mine = names.values() if session.session is None else [names.get(session.session, set())]
            self._gone[session] = frozenset().union(self._erasure.lost, *mine)
        return not self._gone[session].isdisjoint(row["sources"])

    def _has_words(self, value: Any) -> bool:
        """Whether a text in this JSON, other than message ids, contains the requested words."""
        if not self._erasure.words or value is None:
            return False
        if isinstance(value, dict):
            return any(self._has_words(item) for name, item in value.items() if name not in {"sources", "source"})
        if isinstance(value, list):
            return any(map(self._has_words, value))
        text = str(value)
        if text not in self._worded:
            self._worded[text] = self._erasure.has_words(text)
        return self._worded[text]

    async def _line(self, session: Scope, row: Payload) -> Payload | None:
        """The line; if affected, a quotation of its remaining sources, or None if none remains."""
        if not self._named(session, row):
            return None if self._has_words(row["text"]) else row
        erasure, line = self._erasure, Line.of(row)
        if (session, line) not in self._lines:
            left = [name for name in line.sources if not erasure.made_of([name], session.session)]
            events = await self._run.call(self._services.truth.get, session, left) if left else []
            messages = [event for event in events if event.kind is EventKind.MESSAGE]
            offered = [
                one for one in candidates(messages, self._services.config.cleaning) if not erasure.has_words(one.text)
            ]
            best = max(offered, key=lambda other: (other.section is line.section, other.importance), default=None)
            self._lines[session, line] = None if best is None else asdict(replace(best, section=line.section))
        return self._lines[session, line]

    async def _ledger(self, event: Event, payload: Payload, *, anew: bool) -> Payload:
        """The ledger over the remaining turns; ``anew`` if the stored one is unreliable."""
        stored: Payload = payload["ledger"]
        session, stretches = event.scope, _pairs(payload["stretches"])
        known = self._known.get(session)
        if (known is None or known.same) and not anew and not self._within(stretches):
            self._known[session] = _Known(stretches, stored, same=True)
            return stored
        known = known or await self._before(session, number_of(event))
        added = _added(known.stretches, stretches)
        if added is None or (anew and not known.anew):
            known, added = _Known((), {}, same=False, anew=True), stretches
        same, ledger = True, stored
        if not known.same or self._within(added):
            found = await self._over(session, Ledger.model_validate(known.stored), added)
            same = found == Ledger.model_validate(stored)
            ledger = stored if same else ledger_payload(found)
        self._known[session] = _Known(stretches, ledger, same, known.anew)
        return ledger

    async def _before(self, session: Scope, number: int) -> _Known:
        """The revision that this one continues, if the erasure does not affect it."""
        for event in await self._run.call(self._services.truth.get, session, [revision_id("queue", number - 1)]):
            if event.scope == session and event.kind is EventKind.COMPACTION:
                stretches = _pairs(event.payload["stretches"])
                if not self._within(stretches):
                    return _Known(stretches, event.payload["ledger"], same=True)
        return _Known((), {}, same=True)

    async def _over(self, session: Scope, ledger: Ledger, stretches: Stretches) -> Ledger:
        for first, last in stretches:
            events = await self._run.call(
                self._services.truth.read, session, after=first - 1, upto=last, kinds=(EventKind.MESSAGE,)
            )
            messages = [event.message for event in events if event.position not in self._erasure.places]
            ledger = read_ledger(messages, ledger)
        return ledger

    def _within(self, stretches: Stretches) -> bool:
        """Whether something erased is in one of these stretches."""
        at = [(bisect_left(self._places, first), last) for first, last in stretches]
        return any(row < len(self._places) and self._places[row] <= last for row, last in at)

    def _sharing(self, payload: Payload) -> Payload:
        """The payload, sharing equal parts with others."""
        ledger = {name: self._shared(name, value) for name, value in payload["ledger"].items()}
        return {**payload, "lines": self._shared("lines", payload["lines"]), "ledger": ledger}

    def _shared(self, name: str, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        shared = []
        for row in value:
            key = name, str(row.get("text", row.get("path")))
            if self._rows.get(key) != row:
                self._rows[key] = row
            shared.append(self._rows[key])
        return shared


def _added(known: Stretches, stretches: Stretches) -> Stretches | None:
    """The stretches that a revision added to the known ones, some of which it may have joined; None if unrelated.

    Between two joined stretches there are no turns, or only ones that an edit replaced.
    """
    if known == stretches[: len(known)]:
        return stretches[len(known) :]
    known, stretches = outermost(known), outermost(stretches)
    firsts, lasts = {first for first, _ in known}, {last for _, last in known}
    added = tuple(stretch for stretch in stretches if stretch[0] not in firsts)
    going_on = [stretch for stretch in stretches if stretch[0] in firsts]
    continued = all(last in lasts for _, last in going_on) and all(
        any(begin <= first and last <= end for begin, end in going_on) for first, last in known
    )
    return added if continued else None


def _pairs(values: Sequence[Sequence[int]]) -> Stretches:
    return tuple((first, last) for first, last in values)


def _remaining(attempts: Sequence[Payload], places: set[int]) -> list[Payload]:
    left = [{**one, "positions": [place for place in one["positions"] if place not in places]} for one in attempts]
    return [attempt for attempt in left if attempt["positions"]]
