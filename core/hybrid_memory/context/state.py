"""The start of a session's queue and the summary of the turns before it, all in one event of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.summary import Audit, Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.store.projection import number_of


@dataclass(frozen=True, slots=True)
class Attempt:
    """Turns summarised without the model because it failed: where they are, how often it failed, and what survived."""

    positions: tuple[int, ...]
    tries: int
    report: Audit

    @property
    def once_more(self) -> Attempt:
        """The attempt after another failure."""
        return replace(self, tries=self.tries + 1)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The attempt that `asdict` wrote."""
        return cls(tuple(values["positions"]), values["tries"], Audit.of(values["report"]))


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a session's queue; its revisions are events, of which the last one counts.

    Attributes:
        number: the number of the revision, from 1; 0 before the first. It determines the event's id, so that only one
            of two concurrent processes can write.
        cursor: the position up to which the queue is compacted or reset.
        kept: positions up to the cursor that the queue still shows: opening instructions, messages kept by a reset.
        anchor: position of the user's turn to which the first turns after the cursor belong; 0 if they begin with one.
        lines, ledger: the current summary.
        stretches: first and last position of each compacted stretch, oldest first.
        retry: stretches for which the model will be asked again.
        audit, latest: over all compactions, and over the last one.
        strategy: the strategy that made the last summary.
        episode: number of the revision in which messages last left, or the conversation was reset.
    """

    number: int = 0
    cursor: int = 0
    kept: tuple[int, ...] = ()
    anchor: int = 0
    lines: tuple[Line, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    stretches: tuple[tuple[int, int], ...] = ()
    retry: tuple[Attempt, ...] = ()
    audit: Audit = field(default_factory=Audit)
    latest: Audit = field(default_factory=Audit)
    strategy: str = ""
    episode: int = 0

    def as_payload(self) -> dict[str, Any]:
        """The state as JSON, without the number."""
        return {
            "cursor": self.cursor,
            "kept": list(self.kept),
            "anchor": self.anchor,
            "lines": [asdict(line) for line in self.lines],
            "ledger": ledger_payload(self.ledger),
            "stretches": [list(stretch) for stretch in self.stretches],
            "retry": [asdict(attempt) for attempt in self.retry],
            "audit": asdict(self.audit),
            "latest": asdict(self.latest),
            "strategy": self.strategy,
            "episode": self.episode,
        }

    @classmethod
    def of(cls, event: Event | None) -> Self:
        """The state in an event; without one, that of a new session."""
        if event is None:
            return cls()
        number = number_of(event)
        payload = event.payload
        if event.kind is EventKind.RESET:
            return cls(number=number, cursor=event.position, kept=tuple(payload["kept"]), episode=number)
        return cls(
            number=number,
            cursor=payload["cursor"],
            kept=tuple(payload["kept"]),
            anchor=payload["anchor"],
            lines=tuple(Line.of(line) for line in payload["lines"]),
            ledger=Ledger.model_validate(payload["ledger"]),
            stretches=_pairs(payload["stretches"]),
            retry=tuple(map(Attempt.of, payload["retry"])),
            audit=Audit.of(payload["audit"]),
            latest=Audit.of(payload["latest"]),
            strategy=payload["strategy"],
            episode=payload.get("episode", number),
        )


def ledger_payload(ledger: Ledger) -> dict[str, Any]:
    """The ledger as JSON."""
    return ledger.model_dump(mode="json", exclude_defaults=True)


def _pairs(values: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((first, last) for first, last in values)
