"""L1, working context: labelled texts of limited size, how their events are read, and how they are forgotten."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.erasure import Erasure, holds, plain
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.validation import shown

MAX_CHARS = 2000
"""The default limit of a block."""

MOST_CHARS = 100_000

_LABEL = re.compile(r"[\w.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled text that is always in the prompt; as it is now, or as it was after a change.

    Attributes:
        label: letters, digits, ``_``, ``.`` and ``-``, at most 64.
        value: the text; never longer than ``max_chars``.
        description: tells the model what belongs into it.
        read_only: whether only `BlockHandle.put`, not the model, can change it.
        revision: the number of its last change, from 1.
        change: the kind of that change: put, append, replace, rethink, undo, attach or remove.
        at: when it was changed; author: by whom, in a shared space.
        sources: ids of the messages in which the model requested it.
        origin: the lowest origin of those who wrote its text; only text by operator and user goes into a system
            message.
        space: the shared space that it is attached from; None if it is the owner's own.
        removed: whether this change removed it.
    """

    label: str
    value: str = ""
    description: str = ""
    max_chars: int = MAX_CHARS
    read_only: bool = False
    revision: int = 0
    change: str = "put"
    at: datetime | None = None
    author: str = ""
    sources: tuple[str, ...] = ()
    origin: Origin = Origin.OPERATOR
    space: str | None = None
    removed: bool = False

    def __str__(self) -> str:
        return self.value

    @property
    def written(self) -> str:
        """The block as shown to a model that may edit it: how full it is, its description, and the text."""
        marks = ", read-only" if self.read_only else ""
        head = f"({len(self.value)} of {self.max_chars} characters{marks}) {self.description}".rstrip()
        return f"{head}\n{self.value}" if self.value else head

    def __repr__(self) -> str:
        marks = "".join([", read-only" if self.read_only else "", f", shared in {self.space!r}" if self.space else ""])
        return f"<Block {self.label} {len(self.value)}/{self.max_chars}{marks}: {shown(self.value)}>"


def checked_label(label: Any) -> str:
    """The label; raises `InvalidInputError` if it is invalid."""
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise InvalidInputError(f"a block's label has 1 to 64 letters, digits, '_', '.' or '-', got {shown(label)}")
    return label


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a block's text; exactly one of ``append``, ``old`` and ``value`` is given.

    Attributes:
        append: text to add on a new line at the end.
        old, new: replaces the only occurrence of ``old`` by ``new``.
        value: replaces the whole text.
    """

    append: str | None = None
    old: str | None = None
    new: str = ""
    value: str | None = None

    @property
    def change(self) -> str:
        """The name of the change."""
        return "append" if self.append is not None else "replace" if self.old is not None else "rethink"

    def origin(self, block: Block, editor: Origin) -> Origin:
        """The origin of the text after this edit: the editor's, or a lower one of text that remains."""
        return editor if self.value is not None or not block.value else lowest((block.origin, editor))

    def applied(self, block: Block) -> str:
        """The new text; raises `InvalidInputError` if the edit is not possible on this block."""
        if block.read_only:
            raise InvalidInputError(f"the block {block.label!r} is read-only")
        if self.append is not None:
            text = f"{block.value}\n{self.append}" if block.value else self.append
        elif self.old is not None:
            self._check_unique(self.old, block)
            text = block.value.replace(self.old, self.new)
        else:
            text = self.value or ""
        return checked_length(block.label, text, block.max_chars)

    def _check_unique(self, old: str, block: Block) -> None:
        count = block.value.count(old) if old else 0
        if not count:
            raise InvalidInputError(
                f"{shown(old)} does not occur in the block {block.label!r}: quote a part of it exactly; "
                f"it says:\n{block.value}"
            )
        if count > 1:
            raise InvalidInputError(
                f"{shown(old)} occurs {count} times in the block {block.label!r}: quote a longer part"
            )


def checked_length(label: str, text: str, max_chars: int) -> str:
    """The text; raises `InvalidInputError` if it is too long."""
    if len(text) > max_chars:
        raise InvalidInputError(
            f"the block {label!r} would have {len(text)} of {max_chars} characters: shorten what it says first, or "
            "keep details in archival memory"
        )
    return text


@dataclass(frozen=True, slots=True)
class Revision:
    """A block after one change; ``call`` makes the change idempotent, ``base`` is the revision with the same text."""

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
        """The blocks after these events, which follow by position."""
        position, fresh = self.position, dict[str, list[Revision]]()
        for event in events:
            position = event.position
            if event.kind is EventKind.BLOCK:
                made = revision(event)
                fresh.setdefault(made.block.label, []).append(made)
        added = {label: (*self.histories.get(label, ()), *revisions) for label, revisions in fresh.items()}
        return KeptBlocks(position, {**self.histories, **added})

    def number(self, label: str) -> int:
        """The number of the last change of this label; 0 before the first."""
        history = self.histories.get(label, ())
        return history[-1].block.revision if history else 0

    def get(self, label: str) -> Block | None:
        """The current block, if it exists."""
        history = self.histories.get(label, ())
        return None if not history or history[-1].block.removed else history[-1].block

    @property
    def standing(self) -> dict[str, Block]:
        """The existing blocks by label, in the order in which they were first put."""
        return {label: block for label in self.histories if (block := self.get(label)) is not None}

    def before(self, label: str) -> Revision | None:
        """The revision that an undo of this label restores; None if there is nothing to undo."""
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
        origin=_origin(event),
        space=payload.get("space"),
        removed=payload.get("removed", False),
    )
    return Revision(block, payload.get("call", ""), payload.get("base", payload["number"]))


def _origin(event: Event) -> Origin:
    """The origin of the block's text; version 0.9 did not record it, and let models edit what applications had put."""
    if (stated := event.payload.get("origin")) is not None:
        return Origin(stated)
    if event.author:
        return Origin.PERSON
    return Origin.OPERATOR if event.payload["change"] in ("put", "attach", "remove") else Origin.ASSISTANT


def payload(made: Revision) -> dict[str, Any]:
    """The payload of the event; `revision` reads it."""
    block = made.block
    values: dict[str, Any] = {
        "label": block.label,
        "number": block.revision,
        "change": block.change,
        "value": block.value,
        "description": block.description,
        "max_chars": block.max_chars,
        "read_only": block.read_only,
        "origin": block.origin.value,
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
    """The blocks of each owner. Lines that came from erased turns are removed from a block and all its history."""

    kinds = frozenset({EventKind.BLOCK})
    repeats = kinds
    start = KeptBlocks
    follows = frozenset({EventKind.BLOCK, EventKind.ERASED})
    anew = True

    def parse(self, event: Event) -> object:
        return revision(event)

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark all blocks of a user, or lines that came from the turns, are by their author, older, or have the words.

        A line is removed from the whole history of its block, which is checked again whenever a change is added.
        """
        await super().forget(run, services, erasure)
        if not erasure.everything:
            events = await run.call(services.truth.read, erasure.scope.owner, kinds=self.kinds)
            erasure.rewrite(rewritten(events, erasure), "changes of blocks rewritten")


def rewritten(changes: Sequence[Event], erasure: Erasure) -> dict[int, dict[str, Any]]:
    """New payloads for these changes of an owner's blocks, by position."""
    gone = {
        change.position
        for change in changes
        if erasure.made_of(change.sources)
        or (erasure.user and change.author and principal_of(change.author).user == erasure.user)
    }
    by_label: dict[str, list[Event]] = {}
    for change in changes:
        by_label.setdefault(change.payload["label"], []).append(change)
    payloads: dict[int, dict[str, Any]] = {}
    for events in by_label.values():
        old = {event.position for event in events if erasure.before is not None and event.at < erasure.before}
        banned = _banned(events, gone, old, erasure.words)
        described = _described(events, gone | old)
        for event in events:
            payload = _without(event.payload, banned, described, erasure.words)
            if payload != event.payload:
                payloads[event.position] = payload
    return payloads


def _banned(events: Iterable[Event], gone: Collection[int], old: Collection[int], words: str) -> set[str]:
    """The lines to remove from the changes of one label: those added by affected changes, and later versions of them.

    Of old changes, the lines they added, but not what replaced these since.
    """
    late: set[str] = set()
    banned: set[str] = set()
    before: set[str] = set()
    earlier: set[str] = set()
    for event in events:
        lines = set(event.payload["value"].split("\n"))
        if event.position in old:
            late |= lines - earlier
        if event.position in gone or not banned.isdisjoint(before - lines):
            banned |= lines - earlier  # an undo brings back what stood there before
        before = lines
        earlier |= lines
    return banned | late | {line for line in earlier if words and holds(words, plain(line))}


def _described(events: Iterable[Event], gone: Collection[int]) -> set[str]:
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
    if words and holds(words, plain(value)):  # across two lines
        value = ""
    described = payload["description"]
    goes = described in descriptions or (words and holds(words, plain(described)))
    return {**payload, "value": value, "description": "" if goes else described}
