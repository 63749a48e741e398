"""What every event log must do to forget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import EventLog
from hybrid_memory.testing.drafts import ALICE, NOON, OWNERS, draft

NOTE = draft(1000, kind=EventKind.ERASED, payload={"positions": [1, 2]}, author="user alice")


def fill(log: EventLog, size: int = 8) -> list[int]:
    """Events of Alice's, two in each session; returns their positions."""
    drafts = [draft(number, session=[None, "s1"][number // 2 % 2]) for number in range(size)]
    return [appended.position for appended in log.append(ALICE, drafts)]


class EventLogErasureContract:
    """The part of `EventLogContract` that erases; subclass that."""

    def test_erasing_destroys_rewrites_and_notes_at_once(self, log: EventLog) -> None:
        """What is left stands where it stood; the note comes last."""
        at = fill(log)
        before = {event.position: event for event in log.read(ALICE)}
        payload = {"content": "rewritten \u6539\u5199", "deep": [None, {"a": 1.5}]}
        note = log.erase(ALICE, [at[1], at[5], at[7]], {at[2]: payload, at[6]: {}}, NOTE)
        assert note.fresh
        assert note.position > at[-1]
        expected = [before[at[n]] for n in (0, 2, 3, 4, 6)]
        expected[1], expected[4] = replace(expected[1], payload=payload), replace(expected[4], payload={})
        said = Event(note.position, NOTE.id, ALICE, NOTE.kind, NOTE.at, NOTE.payload, (), NOTE.author)
        assert log.read(ALICE) == [*expected, said]
        assert log.read(ALICE, after=at[1], upto=at[5]) == expected[1:4]
        assert log.read(ALICE, after=at[0], limit=2) == expected[1:3]
        assert log.read(ALICE, upto=at[7], limit=2, newest=True) == expected[3:]
        assert [event.id for event in log.get(ALICE, ["e1", "e2", "e7", NOTE.id])] == ["e2", NOTE.id]
        assert log.get(ALICE, ["e2"]) == expected[1:2]
        assert log.heads() == log.heads(ALICE) == {ALICE: note.position}
        assert log.count(ALICE) == log.size().events == len(expected) + 1
        assert log.count(ALICE, after=at[3]) == len(expected[3:]) + 1

    def test_what_is_not_there_is_left_out(self, log: EventLog) -> None:
        """Also when it is another owner's, or erased before; what is erased is not rewritten."""
        at = fill(log)
        (other,) = log.append(OWNERS[1], [draft(50)])
        theirs = log.read(OWNERS[1])
        absent = other.position + 100
        log.erase(ALICE, [at[0], other.position, absent, at[0]], {at[0]: {}, other.position: {}, absent: {}}, NOTE)
        assert [event.id for event in log.read(ALICE)] == [*(f"e{n}" for n in range(1, 8)), NOTE.id]
        assert log.read(OWNERS[1]) == theirs
        log.erase(ALICE, [at[0]], {at[0]: {"content": "back?"}}, replace(NOTE, id="second note"))
        assert log.get(ALICE, ["e0"]) == []

    def test_a_session_does_not_narrow_what_is_erased(self, log: EventLog) -> None:
        """Positions are the owner's; the note says its own session."""
        at = fill(log)
        log.erase(replace(ALICE, session="s1"), [at[0], at[2]], {}, replace(NOTE, session="s2"))
        assert [event.id for event in log.read(ALICE)] == ["e1", "e3", "e4", "e5", "e6", "e7", NOTE.id]
        assert [event.id for event in log.read(replace(ALICE, session="s2"))] == [NOTE.id]

    def test_positions_are_never_given_out_again(self, log: EventLog) -> None:
        """Not even when all were erased."""
        at = fill(log)
        note = log.erase(ALICE, at, {}, NOTE)
        again = log.erase(ALICE, [note.position], {}, replace(NOTE, id="second note"))
        assert again.position > note.position
        (new,) = log.append(ALICE, [draft(2000)])
        assert new.position > again.position
        assert [event.position for event in log.read(ALICE)] == [again.position, new.position]

    def test_an_erased_id_is_free_again(self, log: EventLog) -> None:
        """For the same words or others, in one call too; a rewritten event is known by its new payload."""
        at = fill(log)
        log.erase(ALICE, [at[0], at[1]], {at[4]: {"content": "new"}}, draft(1, payload={"content": "the note"}))
        (again,) = log.append(ALICE, [draft(0)])
        assert again.fresh
        (known,) = log.append(ALICE, [draft(4, payload={"content": "new"})])
        assert (known.position, known.fresh) == (at[4], False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(4)])

    def test_a_note_that_cannot_be_written_leaves_everything(self, log: EventLog) -> None:
        """All or nothing."""
        at = fill(log)
        before = log.read(ALICE)
        with pytest.raises(IdConflictError):
            log.erase(ALICE, [at[1]], {at[2]: {}}, draft(0, payload={"content": "other words"}))
        assert log.read(ALICE) == before
        assert log.append(ALICE, [draft(1)])[0].position == at[1]

    def test_the_note_alone_makes_an_owner_known(self, log: EventLog) -> None:
        """Who has nothing to forget."""
        note = log.erase(ALICE, [1, 2], {3: {}}, NOTE)
        assert log.heads() == {ALICE: note.position}

    def test_scrubbing_changes_nothing_that_is_left(self, log: EventLog) -> None:
        """Before, between and after erasures; again and again."""
        log.scrub()
        at = fill(log)
        log.scrub()
        log.erase(ALICE, at[::2], {at[1]: {"content": "new"}}, NOTE)
        before, heads = log.read(ALICE), log.heads()
        for _ in range(2):
            log.scrub()
            assert log.read(ALICE) == before
            assert log.heads() == heads
        assert log.append(ALICE, [draft(3000)])[0].position > heads[ALICE]

    def test_readers_see_an_erasure_whole_or_not_at_all(self, log: EventLog) -> None:
        """From other threads, while the log is scrubbed as well."""
        rounds, size = 12, 6
        pairs = [[*fill_batch(log, number, size)] for number in range(rounds)]

        def erase() -> None:
            for number, at in enumerate(pairs):
                log.erase(ALICE, at, {}, replace(NOTE, id=f"note {number}", at=NOON))
                log.scrub()

        with ThreadPoolExecutor(max_workers=3) as pool:
            erasing = pool.submit(erase)
            while not erasing.done():
                for events in pool.map(lambda _: log.read(ALICE), range(2)):
                    notes = sum(event.kind is EventKind.ERASED for event in events)
                    assert len(events) == notes + size * (rounds - notes)
            erasing.result()
        assert log.count(ALICE) == rounds


def fill_batch(log: EventLog, number: int, size: int) -> list[int]:
    """Positions of so many events."""
    return [appended.position for appended in log.append(ALICE, [draft(100 * number + n) for n in range(size)])]
