"""What every event log must do with the events of another log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.port import EventLog
from hybrid_memory.testing.drafts import ALICE, OWNERS, draft

BOB = OWNERS[1]


class EventLogRestoringContract:
    """The part of `EventLogContract` that restores; subclass that."""

    def test_restored_events_are_as_they_were(self, log: EventLog) -> None:
        """With their positions, of several owners; what comes later stands behind them."""
        other = InMemoryLog()
        for number in range(6):
            other.append(
                ALICE if number % 2 else BOB, [draft(number, session="s1", payload={"content": f"\u8bdd {number}"})]
            )
        for owner in (ALICE, BOB):
            log.restore(owner, other.read(owner))
            assert log.read(owner) == other.read(owner)
            assert log.read(replace(owner, session="s1"), limit=2, newest=True) == other.read(owner)[-2:]
        assert log.heads() == other.heads()
        assert log.size().events == 6  # noqa: PLR2004 - as above
        (new,) = log.append(BOB, [draft(10)])
        assert new.position > max(other.heads().values())

    def test_restoring_again_changes_nothing(self, log: EventLog) -> None:
        """Nor does an overlap; what is missing is added."""
        other = InMemoryLog()
        other.append(ALICE, [draft(number) for number in range(5)])
        events = other.read(ALICE)
        log.restore(ALICE, events[:3])
        log.restore(ALICE, events[:3])
        log.restore(ALICE, events[2:])
        log.restore(ALICE, [])
        assert log.read(ALICE) == events
        assert log.count(ALICE) == len(events)

    def test_restored_ids_are_known(self, log: EventLog) -> None:
        """A repetition is told from a conflict."""
        other = InMemoryLog()
        said = draft(1, payload={"content": "words"})
        (there,) = other.append(ALICE, [said])
        log.restore(ALICE, other.read(ALICE))
        (again,) = log.append(ALICE, [said])
        assert (again.position, again.fresh) == (there.position, False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [replace(said, payload={"content": "others"})])
