"""Logs that stand before another one: one passes everything on, one refuses to be written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Unpack

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, Reading
from hybrid_memory.scope import Scope


class DelegatingLog(EventLog):
    """Passes everything on.

    Args:
        log: where to.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """See `EventLog.append`."""
        return self._log.append(owner, drafts)

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        """See `EventLog.read`."""
        return self._log.read(scope, **which)

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """See `EventLog.erase`."""
        return self._log.erase(owner, positions, rewritten, note)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """See `EventLog.drop`."""
        self._log.drop(owner, positions)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """See `EventLog.restore`."""
        self._log.restore(owner, events)

    def scrub(self) -> None:
        """See `EventLog.scrub`."""
        self._log.scrub()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """See `EventLog.heads`."""
        return self._log.heads(scope)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """See `EventLog.count`."""
        return self._log.count(owner, after=after)

    def size(self) -> LogSize:
        """See `EventLog.size`."""
        return self._log.size()

    def close(self) -> None:
        """Close the other log."""
        self._log.close()


class ReadOnlyLog(DelegatingLog):
    """A log that can be read, and raises `InvalidInputError` where it is written to."""

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
