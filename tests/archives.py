"""An archive without a server."""

from collections.abc import Sequence
from typing import Unpack

from hybrid_memory import Event, Scope
from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.log.port import Archive, LogSize, Payloads, Reading


class InMemoryArchive(Archive):
    """An archive that exists as long as the process."""

    def __init__(self) -> None:
        self._log = InMemoryLog()

    def put(self, events: Sequence[Event]) -> None:
        for event in events[:1]:
            self._log.restore(event.scope, events)

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        return self._log.read(scope, **which)

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Payloads) -> None:
        self._log.destroy(owner, positions, rewritten)

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        return self._log.heads(scope)

    def size(self) -> LogSize:
        return self._log.size()

    def close(self) -> None:
        self._log.close()
