"""An archive in a dict: the oracle of the others."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Archive, LogSize, Reading, Selection
from hybrid_memory.scope import Scope


class InMemoryArchive(Archive):
    """An archive that lives as long as the process."""

    def __init__(self) -> None:
        self._owners: dict[Scope, dict[int, Event]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def put(self, events: Sequence[Event]) -> None:
        """Take these events; see `Archive.put`."""
        with self._lock:
            self._check_open()
            for event in events:
                mine = self._owners.setdefault(event.scope.owner, {})
                mine.setdefault(event.position, _with_payload(event, event.payload))

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        """Archived events of the scope, by position; see `Archive.read`."""
        with self._lock:
            self._check_open()
            mine = self._owners.get(scope.owner, {})
            events = [mine[at] for at in sorted(mine) if scope.session in (None, mine[at].scope.session)]
        return Selection(**which).of(events)

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]]) -> None:
        """Destroy events, rewrite others; see `Archive.erase`."""
        with self._lock:
            self._check_open()
            gone = set(positions)
            self._owners[owner.owner] = {
                position: _with_payload(event, rewritten.get(position, event.payload))
                for position, event in self._owners.get(owner.owner, {}).items()
                if position not in gone
            }

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last archived position of each owner; see `Archive.heads`."""
        with self._lock:
            self._check_open()
            heads = {owner: max(events) for owner, events in self._owners.items() if events}
        return heads if scope is None else {owner: head for owner, head in heads.items() if owner == scope.owner}

    def size(self) -> LogSize:
        """Counts over all owners."""
        with self._lock:
            self._check_open()
            said = [event for events in self._owners.values() for event in events.values()]
        scopes = {e.scope for e in said if e.scope.session is not None or e.kind is EventKind.MESSAGE}
        return LogSize(
            owners=len({event.scope.owner for event in said}), sessions=len(scopes), events=len(said), bytes=0
        )

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._owners = {}

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _with_payload(event: Event, payload: dict[str, Any]) -> Event:
    return replace(event, payload=json.loads(json.dumps(payload)))
