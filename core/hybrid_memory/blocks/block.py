"""Working context: labelled texts of limited size that an agent edits itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from hybrid_memory import display
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

MAX_CHARS = 2000
"""Of a block, where nothing else was said."""

MOST_CHARS = 100_000

_LABEL = re.compile(r"[\w.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled text that always stands in the prompt, as it is after a change or was then.

    Attributes:
        label: letters, digits, ``_``, ``.`` and ``-``, at most 64.
        value: the text; never longer than ``max_chars``.
        description: for the model: what belongs into it.
        read_only: only `BlockHandle.put` changes it, not the model.
        revision: number of the change that made it so, from 1.
        change: what that was: put, append, replace, rethink, undo, attach or remove.
        at: when it was; author: who did it, in a shared space.
        sources: ids of the messages in which the model asked for it.
        space: the shared space that it lives in; None where it is the owner's alone.
        removed: whether it is gone since this change.
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
    space: str | None = None
    removed: bool = False

    def __str__(self) -> str:
        return self.value

    @property
    def written(self) -> str:
        """As a model sees it that may edit it: how full it is, what belongs into it, and the text."""
        marks = ", read-only" if self.read_only else ""
        head = f"({len(self.value)} of {self.max_chars} characters{marks}) {self.description}".rstrip()
        return f"{head}\n{self.value}" if self.value else head

    def __repr__(self) -> str:
        marks = "".join([", read-only" if self.read_only else "", f", shared in {self.space!r}" if self.space else ""])
        return f"<Block {self.label} {len(self.value)}/{self.max_chars}{marks}: {shown(self.value)}>"

    def _repr_html_(self) -> str:
        full = len(self.value) / self.max_chars
        marks = " · read-only" if self.read_only else ""
        marks += f" · {display.text(self.space)}" if self.space else ""
        status = f"{len(self.value)} of {self.max_chars} characters, revision {self.revision}{marks}"
        used = display.bar([display.Part("used", min(full, 1.0), display.CONTEXT, f"{full:.0%}")], width="8em")
        return display.under(display.CONTEXT, display.text(self.value), f"<b>{escape(self.label)}</b> {used} {status}")


def checked_label(label: Any) -> str:
    """The label; raises `InvalidInputError` if it is none."""
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise InvalidInputError(f"a block's label has 1 to 64 letters, digits, '_', '.' or '-', got {shown(label)}")
    return label


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
        count = block.value.count(old) if old else 0
        if not count:
            raise InvalidInputError(
                f"{shown(old)} is not in the block {block.label!r}, give a part of it letter for letter; "
                f"it says:\n{block.value}"
            )
        if count > 1:
            raise InvalidInputError(
                f"{shown(old)} stands {count} times in the block {block.label!r}: give a longer part"
            )


def checked_length(label: str, text: str, max_chars: int) -> str:
    """The text, if it fits; raises `InvalidInputError`."""
    if len(text) > max_chars:
        raise InvalidInputError(
            f"the block {label!r} would have {len(text)} of {max_chars} characters: shorten what it says first, or "
            "keep details in archival memory"
        )
    return text
