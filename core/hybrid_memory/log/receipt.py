"""The result of a write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hybrid_memory import display
from hybrid_memory.log.event import handle
from hybrid_memory.log.port import Appended


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a write.

    Attributes:
        ids, positions: of the events, in the order given.
        duplicates: ids that were already in the log.
        forgotten: ids of messages that were forgotten, and are not stored again under their ids.
        quarantined: ids that await approval by an admin of the space.
        waiting: ids that are in the outbox because the log is unreachable; they have no position yet.
        indexed, embedded: how many records and vectors were made.
        compacted: how many messages went into the summary.
        learned: how many claims were extracted.
        archived: how many messages were archived.
        erased: how many turns, claims, records, summary lines and so on were forgotten, or would be with ``dry_run``.
        turns: with ``dry_run`` of forget, a line for each turn that would be destroyed.
        note: anything unexpected, such as turns of other sessions that contain the words to forget.
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
    turns: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        return f"<Receipt{' of a dry run' if self.dry_run else ''} {', '.join(self._told()) or 'nothing was done'}>"

    def _told(self) -> list[str]:
        """The effects of the write, each in a few words."""
        lists = {name: getattr(self, name) for name in ("duplicates", "forgotten", "quarantined", "waiting")}
        counts = {
            **{name: len(ids) for name, ids in lists.items()},
            **{name: getattr(self, name) for name in ("indexed", "embedded", "compacted", "learned", "archived")},
            **{f"erased {name}": count for name, count in self.erased.items()},
        }
        return [
            *([display.counted(len(self.ids), "event")] if self.ids else []),
            *([f"at {handle(self.positions[0], self.positions[-1])}"] if self.positions else []),
            *(display.amount(count, name) for name, count in counts.items() if count),
            *([self.note] if self.note else []),
        ]


def receipt_of(appended: Sequence[Appended]) -> Receipt:
    """The receipt for a write to the log."""
    return Receipt(
        ids=tuple(event.id for event in appended),
        positions=tuple(event.position for event in appended),
        duplicates=tuple(event.id for event in appended if not event.fresh),
    )
