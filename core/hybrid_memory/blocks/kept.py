"""L1: the blocks of working context, as the events that changed them come to, and how these forget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.blocks.block import Block
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.projection import Erasure, FoldedProjection, plain
from hybrid_memory.store.services import Services


@dataclass(frozen=True, slots=True)
class Revision:
    """A block after one change; ``call`` made the change idempotent, ``base`` is the revision whose text it has."""

    block: Block
    call: str = ""
    base: int = 0


@dataclass(frozen=True, slots=True)
class KeptBlocks:
    """All blocks of an owner after the events up to a position.

    Attributes:
        histories: the revisions by label, oldest first.
    """

    position: int = 0
    histories: Mapping[str, tuple[Revision, ...]] = field(default_factory=dict)

    def after(self, events: Iterable[Event]) -> KeptBlocks:
        """What stands after these, which follow by position."""
        position, fresh = self.position, dict[str, list[Revision]]()
        for event in events:
            position = event.position
            if event.kind is EventKind.BLOCK:
                made = revision(event)
                fresh.setdefault(made.block.label, []).append(made)
        added = {label: (*self.histories.get(label, ()), *revisions) for label, revisions in fresh.items()}
        return KeptBlocks(position, {**self.histories, **added})

    def number(self, label: str) -> int:
        """Of the last change of this label; 0 before the first."""
        history = self.histories.get(label, ())
        return history[-1].block.revision if history else 0

    def get(self, label: str) -> Block | None:
        """The block as it stands, if there is one."""
        history = self.histories.get(label, ())
        return None if not history or history[-1].block.removed else history[-1].block

    @property
    def standing(self) -> dict[str, Block]:
        """The blocks that there are, by label, in the order in which they were first put."""
        return {label: block for label in self.histories if (block := self.get(label)) is not None}

    def before(self, label: str) -> Revision | None:
        """What an undo of this label leads back to; None if there is nothing before."""
        by_number = {revision.block.revision: revision for revision in self.histories.get(label, ())}
        if not by_number:
            return None
        last = by_number[max(by_number)]
        # What a rollback hides is not there to go back to.
        earlier = [number for number in by_number if number < last.base]
        return by_number[by_number[max(earlier)].base] if earlier else None


def revision(event: Event) -> Revision:
    """The block after this event."""
    payload = event.payload
    block = Block(
        label=payload["label"],
        value=payload["value"],
        description=payload["description"],
        max_chars=payload["max_chars"],
        read_only=payload["read_only"],
        revision=payload["number"],
        change=payload["change"],
        at=event.at,
        author=event.author,
        sources=event.sources,
        space=payload.get("space"),
        removed=payload.get("removed", False),
    )
    return Revision(block, payload.get("call", ""), payload.get("base", payload["number"]))


def payload(made: Revision) -> dict[str, Any]:
    """What the event says; `revision` reads it."""
    block = made.block
    values: dict[str, Any] = {
        "label": block.label,
        "number": block.revision,
        "change": block.change,
        "value": block.value,
        "description": block.description,
        "max_chars": block.max_chars,
        "read_only": block.read_only,
    }
    if made.base != block.revision:
        values["base"] = made.base
    if made.call:
        values["call"] = made.call
    if block.space is not None:
        values["space"] = block.space
    if block.removed:
        values["removed"] = True
    return values


class BlocksProjection(FoldedProjection[KeptBlocks]):
    """The blocks of each owner; lines go that came from what is destroyed, from a block and from all its history."""

    kinds = frozenset({EventKind.BLOCK})
    repeats = kinds
    start = KeptBlocks
    follows = frozenset({EventKind.BLOCK, EventKind.ERASED})
    anew = True

    def parse(self, event: Event) -> object:
        """The block after the change."""
        return revision(event)

    async def forget(self, run: Runner, services: Services, events: Sequence[Event], erasure: Erasure) -> None:
        """All blocks of a user, or the lines that came from the turns, from their author, or have the words."""
        if erasure.user and erasure.scope.space is None:
            erasure.derived += events
            return
        erasure.rewrite(rewritten(events, erasure), "changes of blocks rewritten")


def rewritten(changes: Sequence[Event], erasure: Erasure) -> dict[int, dict[str, Any]]:
    """New payloads for these changes of an owner's blocks, by position."""
    turns = {turn.id for turn in erasure.turns}
    gone = {
        change.position
        for change in changes
        if not turns.isdisjoint(change.sources)
        or (erasure.user and change.author and principal_of(change.author).user == erasure.user)
    }
    by_label: dict[str, list[Event]] = {}
    for change in changes:
        by_label.setdefault(change.payload["label"], []).append(change)
    payloads: dict[int, dict[str, Any]] = {}
    for events in by_label.values():
        banned, described = _banned(events, gone, erasure.words), _described(events, gone)
        for event in events:
            payload = _without(event.payload, banned, described, erasure.words)
            if payload != event.payload:
                payloads[event.position] = payload
    return payloads


def _banned(events: Iterable[Event], gone: Collection[int], words: str) -> set[str]:
    """The lines that go, of one label's changes: what a change put there that goes, and what was made of it later."""
    banned: set[str] = set()
    before: set[str] = set()
    earlier: set[str] = set()
    for event in events:
        lines = set(event.payload["value"].split("\n"))
        if event.position in gone or not banned.isdisjoint(before - lines):
            banned |= lines - earlier  # an undo brings back what stood there before
        before = lines
        earlier |= lines
    return banned | {line for line in earlier if words and words in plain(line)}


def _described(events: Iterable[Event], gone: Collection[int]) -> set[str]:
    """The descriptions that go with who gave them."""
    descriptions: set[str] = set()
    before = ""
    for event in events:
        now = event.payload["description"]
        if now != before and event.position in gone:
            descriptions.add(now)
        before = now
    return descriptions


def _without(payload: dict[str, Any], banned: set[str], descriptions: set[str], words: str) -> dict[str, Any]:
    value = "\n".join(line for line in payload["value"].split("\n") if line not in banned)
    if words and words in plain(value):  # across two lines
        value = ""
    described = payload["description"]
    goes = described in descriptions or (words and words in plain(described))
    return {**payload, "value": value, "description": "" if goes else described}
