"""Logs that wrap another log: one delegates everything, one refuses writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn, Unpack

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, LogState, Reading
from hybrid_memory.scope import Scope


class DelegatingLog(EventLog):
    """Delegates every call to another log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        return self._log.append(owner, drafts, seen=seen)

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        return self._log.read(scope, **which)

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        return self._log.erase(owner, positions, rewritten, note, seen=seen)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        self._log.drop(owner, positions)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        self._log.restore(owner, events)

    def scrub(self) -> None:
        self._log.scrub()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        return self._log.heads(scope)

    def mark(self, owner: Scope, position: int) -> str:
        return self._log.mark(owner, position)

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        return self._log.state(owner, kinds)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        return self._log.count(owner, after=after)

    def size(self) -> LogSize:
        return self._log.size()

    def close(self) -> None:
        self._log.close()


class ReadOnlyLog(DelegatingLog):
    """A log that can only be read; writes raise `InvalidInputError`."""

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        self._refuse(owner, drafts, seen)

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        self._refuse(owner, positions, rewritten, note, seen)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        self._refuse(owner, positions)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        self._refuse(owner, events)

    def scrub(self) -> None:
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise InvalidInputError("this memory is opened read-only: open it without read_only to change it")
