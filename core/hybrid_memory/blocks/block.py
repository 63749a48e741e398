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
        told = f"{len(self.value)} of {self.max_chars} characters, revision {self.revision}{marks}"
        used = display.bar([display.Part("used", min(full, 1.0), display.CONTEXT, f"{full:.0%}")], width="8em")
        return display.under(display.CONTEXT, display.text(self.value), f"<b>{escape(self.label)}</b> {used} {told}")


def checked_label(label: Any) -> str:
    """The label; raises `InvalidInputError` if it is none."""
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise InvalidInputError(f"a block's label has 1 to 64 letters, digits, '_', '.' or '-', got {shown(label)}")
    return label
