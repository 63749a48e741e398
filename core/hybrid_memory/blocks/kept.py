"""L1: the blocks of working context, a fold of the events that changed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.blocks.block import Block
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event
from hybrid_memory.validation import shown


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a block's text; exactly one of ``append``, ``old`` and ``value`` is given.

    Attributes:
        append: goes on a new line at its end.
        old, new: the one place where ``old`` stands becomes ``new``.
        value: the whole text anew.
    """

    append: str | None = None
    old: str | None = None
    new: str = ""
    value: str | None = None

    @property
    def change(self) -> str:
        """Its name."""
        return "append" if self.append is not None else "replace" if self.old is not None else "rethink"

    def applied(self, block: Block) -> str:
        """The new text; raises `InvalidInputError` where this block does not admit the edit."""
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
        found = block.value.count(old) if old else 0
        if not found:
            raise InvalidInputError(
                f"{shown(old)} is not in the block {block.label!r}, give a part of it letter for letter; "
                f"it says:\n{block.value}"
            )
        if found > 1:
            raise InvalidInputError(
                f"{shown(old)} stands {found} times in the block {block.label!r}: give a longer part"
            )


def checked_length(label: str, text: str, max_chars: int) -> str:
    """The text, if it fits; raises `InvalidInputError`."""
    if len(text) > max_chars:
        raise InvalidInputError(
            f"the block {label!r} would have {len(text)} of {max_chars} characters: shorten what it says first, or "
            "keep details in archival memory"
        )
    return text


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
            made = revision(event)
            fresh.setdefault(made.block.label, []).append(made)
            position = event.position
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
    said = event.payload
    block = Block(
        label=said["label"],
        value=said["value"],
        description=said["description"],
        max_chars=said["max_chars"],
        read_only=said["read_only"],
        revision=said["number"],
        change=said["change"],
        at=event.at,
        author=event.author,
        sources=event.sources,
        space=said.get("space"),
        removed=said.get("removed", False),
    )
    return Revision(block, said.get("call", ""), said.get("base", said["number"]))


def payload(made: Revision) -> dict[str, Any]:
    """What the event says; `revision` reads it."""
    block = made.block
    said: dict[str, Any] = {
        "label": block.label,
        "number": block.revision,
        "change": block.change,
        "value": block.value,
        "description": block.description,
        "max_chars": block.max_chars,
        "read_only": block.read_only,
    }
    if made.base != block.revision:
        said["base"] = made.base
    if made.call:
        said["call"] = made.call
    if block.space is not None:
        said["space"] = block.space
    if block.removed:
        said["removed"] = True
    return said
