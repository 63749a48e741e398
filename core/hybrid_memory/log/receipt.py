"""What a write did."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from hybrid_memory import display
from hybrid_memory.log.event import handle


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write did.

    Attributes:
        ids, positions: of the events, in the order given.
        duplicates: those of the ids that were in the log before.
        quarantined: those of the ids that wait for an admin of the space to approve them.
        waiting: those of the ids that are in the outbox, because the log could not be reached; they have no position.
        indexed, embedded: how many records and vectors were derived.
        compacted: how many messages went into the summary.
        learned: how many claims were read from turns.
        archived: how many messages went into the archive.
        erased: what was forgotten where, or with ``dry_run`` would be: turns, claims, records, summary lines, ...
        note: what the caller may not expect, such as turns of other sessions that hold the words to be forgotten.
    """

    ids: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    duplicates: tuple[str, ...] = ()
    indexed: int = 0
    embedded: int = 0
    compacted: int = 0
    learned: int = 0
    erased: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    quarantined: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    archived: int = 0
    note: str = ""

    @property
    def folded(self) -> int:
        """Deprecated name of ``compacted``."""
        warnings.warn("Receipt.folded is Receipt.compacted now", DeprecationWarning, stacklevel=2)
        return self.compacted

    def __repr__(self) -> str:
        return f"<Receipt{' of a dry run' if self.dry_run else ''} {', '.join(self._told()) or 'nothing was done'}>"

    def _repr_html_(self) -> str:
        rows = [(display.text(told),) for told in self._told()] or [("nothing was done",)]
        ids = display.details(f"{len(self.ids)} ids", display.text(", ".join(self.ids))) if self.ids else ""
        return display.card("receipt of a dry run" if self.dry_run else "receipt", display.table((), rows) + ids)

    def _told(self) -> list[str]:
        """What was done, each in a few words."""
        lists = {"duplicates": self.duplicates, "quarantined": self.quarantined, "waiting": self.waiting}
        counts = {
            **{name: len(ids) for name, ids in lists.items()},
            **{name: getattr(self, name) for name in ("indexed", "embedded", "compacted", "learned", "archived")},
            **{f"erased {name}": count for name, count in self.erased.items()},
        }
        return [
            *([display.counted(len(self.ids), "event")] if self.ids else []),
            *([f"at {handle(self.positions[0], self.positions[-1])}"] if self.positions else []),
            *(f"{count:,} {name}" for name, count in counts.items() if count),
            *([self.note] if self.note else []),
        ]
