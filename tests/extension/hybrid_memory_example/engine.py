"""``jsonl:///log.jsonl``: a log as lines of JSON, for a single process.

An append is a line. What takes something out of the log writes the file anew, so that nothing of it stays there. The
index lies in memory: after each opening it is derived from the log again.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.engines.in_memory import InMemoryIndex, InMemoryLog
from hybrid_memory.ports import Appended, Draft, Engine, EventLog, SemanticIndex


class JsonlLog(InMemoryLog):
    """The log in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            event = event_of(json.loads(line))
            super().restore(event.scope, [event])

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        """Append to the file; durable on return."""
        with self._lock:
            appended = super().append(owner, drafts, seen=seen)
            fresh = [one.position for one in appended if one.fresh]
            self._write(self.read(owner.owner, after=fresh[0] - 1) if fresh else ())
            return appended

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Append what another log has."""
        with self._lock:
            new = [event for event in events if not self.get(event.scope, [event.id])]
            super().restore(owner, new)
            self._write(new)

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        """Write the file without these events."""
        with self._anew():
            return super().erase(owner, positions, rewritten, note, seen=seen)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Write the file without these events; their ids are known until the process ends."""
        with self._anew():
            super().drop(owner, positions)

    @contextmanager
    def _anew(self) -> Iterator[None]:
        """The file is replaced by one with what is left, or stays as it is where the change fails."""
        with self._lock:
            path, self._path = self._path, self._path.with_suffix(".new")
            try:
                yield
                self._path.unlink(missing_ok=True)
                for owner in self.heads():
                    self._write(self.read(owner))
                if self._path.exists():
                    self._path.replace(path)
            finally:
                self._path = path

    def _write(self, events: Sequence[Event]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(values_of(event))}\n" for event in events)
            file.flush()
            os.fsync(file.fileno())


def values_of(event: Event) -> dict[str, Any]:
    """An event as JSON."""
    scope = {name: getattr(event.scope, name) for name in ("tenant", "user", "agent", "session", "space")}
    return {**vars(event), "scope": scope, "at": event.at.isoformat(), "message": None}


def event_of(values: dict[str, Any]) -> Event:
    """The event that `values_of` wrote."""
    del values["message"]
    made = {"scope": Scope(**values["scope"]), "kind": EventKind(values["kind"]), "sources": tuple(values["sources"])}
    return Event(**{**values, **made, "at": datetime.fromisoformat(values["at"])})


class JsonlEngine(Engine):
    """What ``jsonl:///path`` opens."""

    def log(self) -> EventLog:
        """The log in the file."""
        return JsonlLog(Path(self.url.removeprefix("jsonl:///")))

    def index(self) -> SemanticIndex:
        """An empty index, which follows the log."""
        return InMemoryIndex()
