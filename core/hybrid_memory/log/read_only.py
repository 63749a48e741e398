"""A log that is only looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Appended, Draft, EventLog
from hybrid_memory.scope import Scope


class ReadOnlyLog:
    """A log whose readers work, and whose writers raise `InvalidInputError`.

    Args:
        log: what is read.
    """

    def __init__(self, log: EventLog) -> None:
        self.read = log.read
        self.get = log.get
        self.heads = log.heads
        self.count = log.count
        self.size = log.size
        self.close = log.close

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Refuse to."""
        self._refuse(owner, drafts)

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Refuse to."""
        self._refuse(owner, positions, rewritten, note)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Refuse to."""
        self._refuse(owner, positions)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Refuse to."""
        self._refuse(owner, events)

    def scrub(self) -> None:
        """Refuse to."""
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise InvalidInputError("this memory is opened read-only: open it without read_only to change it")
