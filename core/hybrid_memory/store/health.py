"""Whether an index fits its log, as far as the ports of any engine tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hybrid_memory.index.derive import derive
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import EventLog
from hybrid_memory.scope import Scope

State: TypeAlias = Literal["ok", "note", "wrong"]

REBUILD = "hybrid-memory rebuild mends it"
RESTORE = "restore a backup; hybrid-memory export may still save what can be read"

BATCH = 1000
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: in a word; told: what was found.
        mend: what to do about it; empty if nothing.
    """

    what: str
    state: State
    told: str
    mend: str = ""


def check_contents(log: EventLog, index: SemanticIndex, outbox: EventLog | None = None) -> Iterator[Finding]:
    """What both hold, what of the log is not indexed yet, and what of the index belongs to nothing.

    Raises:
        StoreError: an engine failed.
    """
    there, size, total = index.embedder(), index.size(), log.size()
    yield Finding("log", "ok", f"{total.events:,} events, {total.sessions:,} sessions, {total.owners:,} owners")
    vectors = "no vectors" if there is None else f"vectors of {there[0]}, width {there[1]}"
    yield Finding("index", "ok", f"{size.records:,} records, {size.vectors:,} with {vectors}")
    unindexed = found = 0
    for owner, head in log.heads().items():
        applied = index.applied(owner)
        if applied > head:
            yield Finding("index", "wrong", f"of {owner} it has seen #{applied}, and the log ends at #{head}", REBUILD)
        unindexed += log.count(owner, after=applied)
        here, missing = _compared(log, index, owner, applied)
        found += here
        if missing:
            named = ", ".join(f"#{place}" for place in missing[:SHOWN])
            yield Finding("orphans", "wrong", f"{len(missing):,} turns of {owner} have no record: {named}", REBUILD)
    if size.records > found:
        yield Finding("orphans", "wrong", f"{size.records - found:,} records have no event in the log", REBUILD)
    if unindexed:
        yield Finding("index", "note", f"{unindexed:,} events are not indexed yet", "the next search does it")
    if size.pending and there is not None:
        yield Finding("index", "note", f"{size.pending:,} records wait for a vector", "the next search makes them")
    if outbox is not None and (waiting := outbox.size().events):
        yield Finding("outbox", "note", f"{waiting:,} messages wait for the log", "the next write or search moves them")


def _compared(log: EventLog, index: SemanticIndex, owner: Scope, applied: int) -> tuple[int, list[int]]:
    """How many records the owner's events have, and which turns should have one and do not."""
    found = after = 0
    missing: list[int] = []
    while events := log.read(owner, after=after, limit=BATCH):
        after = events[-1].position
        there = {record.id for record in index.get([event.position for event in events])}
        turns = [event for event in events if event.kind is EventKind.MESSAGE and event.position <= applied]
        missing += [one.record.id for one in derive(turns, {}) if one.record.id not in there]
        found += len(there)
    return found, missing
