"""An archive in a dict: the oracle of the others."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogSize
from hybrid_memory.scope import Scope


class InMemoryArchive:
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

    def read(
        self,
        scope: Scope,
        *,
        after: int = 0,
        upto: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Collection[EventKind] = (),
        limit: int | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Archived events of the scope, by position; see `Archive.read`."""
        found = [
            event
            for event in self._all(scope)
            if event.position > after
            and (upto is None or event.position <= upto)
            and (since is None or event.at >= since)
            and (until is None or event.at < until)
            and (not kinds or event.kind in kinds)
        ]
        if limit is None:
            return found
        return found[max(0, len(found) - limit) :] if newest else found[: max(0, limit)]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The archived events with these ids; see `Archive.get`."""
        wanted = set(ids)
        return [event for event in self._all(scope) if event.id in wanted]

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

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many of the owner's archived events stand beyond this position."""
        return len(self.read(owner.owner, after=after))

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

    def _all(self, scope: Scope) -> list[Event]:
        """The events of the scope, by position."""
        with self._lock:
            self._check_open()
            mine = self._owners.get(scope.owner, {})
            return [mine[at] for at in sorted(mine) if scope.session in (None, mine[at].scope.session)]

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _with_payload(event: Event, payload: dict[str, Any]) -> Event:
    return replace(event, payload=json.loads(json.dumps(payload)))
