"""The part of the event log contract about forgetting, archiving, and restoring events from another log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import EventLog
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.testing.drafts import ALICE, NOON, OWNERS, appended, draft

BOB = OWNERS[1]
NOTE = draft(1000, kind=EventKind.ERASED, payload={"positions": [1, 2]}, author="user alice")


class EventLogRemovalContract:
    """The tests of `EventLogContract` about removing and restoring events; subclass that class instead."""

    def test_erasing_destroys_rewrites_and_notes_at_once(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(8))
        before = {event.position: event for event in log.read(ALICE)}
        payload = {"content": "rewritten \u6539\u5199", "deep": [None, {"a": 1.5}]}
        note = log.erase(ALICE, [at[1], at[5], at[7]], {at[2]: payload, at[6]: {}}, NOTE)
        assert note.fresh
        assert note.position > at[-1]
        expected = [before[at[n]] for n in (0, 2, 3, 4, 6)]
        expected[1], expected[4] = replace(expected[1], payload=payload), replace(expected[4], payload={})
        written = Event(note.position, NOTE.id, ALICE, NOTE.kind, NOTE.at, NOTE.payload, (), NOTE.author)
        assert log.read(ALICE) == [*expected, written]
        assert log.read(ALICE, after=at[1], upto=at[5]) == expected[1:4]
        assert log.read(ALICE, after=at[0], limit=2) == expected[1:3]
        assert log.read(ALICE, upto=at[7], limit=2, newest=True) == expected[3:]
        assert [event.id for event in log.get(ALICE, ["e1", "e2", "e7", NOTE.id])] == ["e2", NOTE.id]
        assert log.get(ALICE, ["e2"]) == expected[1:2]
        assert log.heads() == log.heads(ALICE) == {ALICE: note.position}
        assert log.count(ALICE) == log.size().events == len(expected) + 1
        assert log.count(ALICE, after=at[3]) == len(expected[3:]) + 1

    def test_what_is_not_there_is_left_out(self, log: EventLog) -> None:
        """Also if it is another owner's or already erased. Erased events are not rewritten."""
        at = appended(log, ALICE, *range(8))
        (other,) = log.append(OWNERS[1], [draft(50)])
        theirs = log.read(OWNERS[1])
        absent = other.position + 100
        log.erase(ALICE, [at[0], other.position, absent, at[0]], {at[0]: {}, other.position: {}, absent: {}}, NOTE)
        assert [event.id for event in log.read(ALICE)] == [*(f"e{n}" for n in range(1, 8)), NOTE.id]
        assert log.read(OWNERS[1]) == theirs
        second = replace(NOTE, id="second note", session="s2")
        log.erase(replace(ALICE, session="s1"), [at[0], at[2]], {at[0]: {"content": "back?"}}, second)
        assert log.get(ALICE, ["e0", "e1", "e2"]) == log.read(ALICE, limit=1), "a session does not narrow it"
        assert [event.id for event in log.read(replace(ALICE, session="s2"))] == [second.id]

    def test_positions_are_never_given_out_again(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(8))
        note = log.erase(ALICE, at, {}, NOTE)
        again = log.erase(ALICE, [note.position], {}, replace(NOTE, id="second note"))
        assert again.position > note.position
        (new,) = log.append(ALICE, [draft(2000)])
        assert new.position > again.position
        assert [event.position for event in log.read(ALICE)] == [again.position, new.position]

    def test_an_erased_id_is_free_again(self, log: EventLog) -> None:
        """For the same text or another, also in the same call. A rewritten event is compared by its new payload."""
        at = appended(log, ALICE, *range(8))
        log.erase(ALICE, [at[0], at[1]], {at[4]: {"content": "new"}}, draft(1, payload={"content": "the note"}))
        (again,) = log.append(ALICE, [draft(0)])
        assert again.fresh
        (known,) = log.append(ALICE, [draft(4, payload={"content": "new"})])
        assert (known.position, known.fresh) == (at[4], False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(4)])

    def test_a_note_that_cannot_be_written_leaves_everything(self, log: EventLog) -> None:
        """Of what is there, and of what was dropped."""
        at = appended(log, ALICE, *range(8))
        log.drop(ALICE, at[4:6])
        before = log.read(ALICE)
        with pytest.raises(IdConflictError):
            log.erase(ALICE, [at[1], at[4]], {at[2]: {}, at[5]: {}}, draft(0, payload={"content": "other words"}))
        assert log.read(ALICE) == before
        repeated = log.append(ALICE, [draft(1), draft(4), draft(5)])
        assert [(again.position, again.fresh) for again in repeated] == [(at[n], False) for n in (1, 4, 5)]

    def test_what_was_made_of_what_is_erased_by_now_is_refused(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(4))
        log.append(BOB, [draft(30)])
        log.append(ALICE, [draft(10, kind=EventKind.COMPACTION)], seen=at[-1])
        log.append(ALICE, [draft(11)], seen=0)
        note = log.erase(ALICE, at[:2], {}, NOTE)
        before = log.read(ALICE)
        for kind in (EventKind.MESSAGE, EventKind.RECALLED):
            for seen in (0, note.position - 1):
                with pytest.raises(OutdatedError):
                    log.append(ALICE, [draft(12), draft(13, kind=kind)], seen=seen)
        assert log.read(ALICE) == before
        log.append(ALICE, [draft(12)])
        log.append(BOB, [draft(31)], seen=0)
        (done,) = log.append(ALICE, [draft(13)], seen=note.position)
        assert done.fresh

    def test_an_erasure_is_refused_if_events_came_since_it_was_planned(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(4))
        log.append(BOB, [draft(30)])
        before = log.read(ALICE)
        for seen in (0, at[-2]):
            with pytest.raises(OutdatedError):
                log.erase(ALICE, at[:2], {at[2]: {}}, NOTE, seen=seen)
        assert log.read(ALICE) == before
        assert log.erase(ALICE, at[:2], {at[2]: {}}, NOTE, seen=at[-1]).fresh
        note = log.erase(OWNERS[2], [1, 2], {3: {}}, NOTE, seen=0)
        assert note.fresh
        assert log.heads()[OWNERS[2]] == note.position, "the note alone makes an owner known"

    def test_of_an_erasure_and_what_is_derived_meanwhile_one_is_refused(self, log: EventLog) -> None:
        """However they interleave, no event is left afterwards that names an erased one."""

        def derive(number: int, seen: int) -> None:
            with suppress(OutdatedError):
                log.append(ALICE, [draft(2000 + number, kind=EventKind.RECALLED)], seen=seen)

        for number in range(20):
            (turn,) = log.append(ALICE, [draft(number)])
            with ThreadPoolExecutor(max_workers=2) as pool:
                derived = pool.submit(derive, number, turn.position)
                try:
                    log.erase(ALICE, [turn.position], {}, replace(NOTE, id=f"note {number}"), seen=turn.position)
                    erased = True
                except OutdatedError:
                    erased = False
                derived.result()
            assert erased != bool(log.get(ALICE, [f"e{2000 + number}"]))

    def test_scrubbing_changes_nothing_that_is_left(self, log: EventLog) -> None:
        log.scrub()
        at = appended(log, ALICE, *range(8))
        log.scrub()
        log.erase(ALICE, at[::2], {at[1]: {"content": "new"}}, NOTE)
        before, heads = log.read(ALICE), log.heads()
        for _ in range(2):
            log.scrub()
            assert log.read(ALICE) == before
            assert log.heads() == heads
        assert log.append(ALICE, [draft(3000)])[0].position > heads[ALICE]

    def test_readers_see_an_erasure_whole_or_not_at_all(self, log: EventLog) -> None:
        rounds, size = 12, 6
        pairs = [appended(log, ALICE, *range(100 * number, 100 * number + size)) for number in range(rounds)]

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

    def test_dropped_events_are_gone_and_the_others_stand(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(6), session="s1")
        before = log.read(ALICE)
        log.drop(ALICE, [at[0], at[3], at[1], at[3]])
        left = [before[2], *before[4:]]
        assert log.read(ALICE) == log.read(replace(ALICE, session="s1")) == left
        assert log.read(ALICE, limit=2, newest=True) == left[-2:]
        assert log.read(ALICE, after=at[0], upto=at[4]) == left[:2]
        assert log.get(ALICE, ["e0", "e2", "e3"]) == left[:1]
        assert log.heads() == log.heads(ALICE) == {ALICE: at[-1]}
        assert log.count(ALICE) == log.size().events == len(left)
        assert log.count(ALICE, after=at[2]) == len(left) - 1
        (new,) = log.append(ALICE, [draft(10)])
        assert new.position > at[-1]

    def test_a_dropped_id_is_known(self, log: EventLog) -> None:
        """The same payload, at any time, is a repetition at the old position; another payload is a conflict."""
        payload = {"content": "words \u8bdd", "deep": {"a": [1, None], "b": 2.5}}
        (first, second) = log.append(ALICE, [draft(1, session="s1", payload=payload), draft(2, session="s1")])
        log.drop(ALICE, [first.position])
        turned = {"deep": {"b": 2.5, "a": [1, None]}, "content": "words \u8bdd"}
        for again in (draft(1, session="s1", payload=payload), draft(1, session="s1", payload=turned, at=NOON)):
            (known,) = log.append(ALICE, [again])
            assert (known.id, known.position, known.fresh) == ("e1", first.position, False)
        assert [event.position for event in log.read(ALICE)] == [second.position]
        for other in (
            draft(1, session="s1"),
            draft(1, session="s1", payload=payload, kind=EventKind.CLAIM),
            draft(1, session="s1", payload=payload, fixed=False),
        ):
            with pytest.raises(IdConflictError, match="e1"):
                log.append(ALICE, [draft(3), other, draft(4)])
        assert log.count(ALICE) == 1
        assert log.append(ALICE, [draft(1, session="s2")])[0].fresh
        assert log.append(OWNERS[1], [draft(1, session="s1")])[0].fresh

    def test_only_the_owners_events_are_dropped(self, log: EventLog) -> None:
        at = {owner: log.append(owner, [draft(1), draft(2)])[0].position for owner in OWNERS[:3]}
        theirs = [log.read(owner) for owner in OWNERS[1:3]]
        absent = max(at.values()) + 100
        for _ in range(2):
            log.drop(replace(ALICE, session="a session does not narrow"), [*at.values(), absent])
            assert [event.id for event in log.read(ALICE)] == ["e2"]
            assert [log.read(owner) for owner in OWNERS[1:3]] == theirs
            assert not log.append(ALICE, [draft(1)])[0].fresh
        log.drop(OWNERS[5], [at[ALICE]])
        assert OWNERS[5] not in log.heads()
        log.drop(ALICE, [])
        assert [event.id for event in log.read(ALICE)] == ["e2"]

    def test_sessions_stay_counted(self, log: EventLog) -> None:
        at = log.append(ALICE, [draft(1, session="s1"), draft(2, session="s2"), draft(3), draft(4, session="s3")])
        log.drop(ALICE, [done.position for done in at[:3]])
        size = log.size()
        assert (size.owners, size.sessions, size.events) == (1, 4, 1)
        log.erase(ALICE, [done.position for done in at[:2]], {}, NOTE)
        assert log.size().sessions == 2  # noqa: PLR2004 - what was said without a session, and the last one

    def test_erasing_forgets_dropped_ids(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(4))
        (other,) = log.append(OWNERS[1], [draft(0)])
        log.drop(ALICE, at[:2])
        log.drop(OWNERS[1], [other.position])
        log.erase(ALICE, [at[0], other.position], {}, NOTE)
        (again,) = log.append(ALICE, [draft(0, payload={"content": "other words"})])
        assert again.fresh
        assert again.position > at[-1]
        assert not log.append(ALICE, [draft(1)])[0].fresh
        assert not log.append(OWNERS[1], [draft(0)])[0].fresh

    def test_a_dropped_event_that_is_rewritten_is_known_by_its_new_words(self, log: EventLog) -> None:
        (first, *_) = log.append(ALICE, [draft(1), draft(2)])
        log.drop(ALICE, [first.position])
        log.erase(ALICE, [], {first.position: {"content": "new"}}, NOTE)
        (known,) = log.append(ALICE, [draft(1, payload={"content": "new"}, at=NOON + timedelta(days=1))])
        assert (known.position, known.fresh) == (first.position, False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(1)])

    def test_restored_events_are_as_they_were_and_their_ids_are_known(self, log: EventLog) -> None:
        """Restoring again changes nothing."""
        other = InMemoryLog()
        drafts = [draft(number, session="s1", payload={"content": f"\u8bdd {number}"}) for number in range(6)]
        for number, original in enumerate(drafts):
            other.append(ALICE if number % 2 else BOB, [original])
        for owner in (ALICE, BOB):
            events = other.read(owner)
            for part in (events[:2], events[:2], events[1:], []):
                log.restore(owner, part)
            assert log.read(owner) == other.read(owner)
            assert log.read(replace(owner, session="s1"), limit=2, newest=True) == other.read(owner)[-2:]
        assert log.heads() == other.heads()
        assert log.size().events == 6  # noqa: PLR2004 - as above
        (again,) = log.append(ALICE, drafts[1:2])
        assert (again.position, again.fresh) == (log.read(ALICE)[0].position, False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [replace(drafts[1], payload={"content": "others"})])
        (new,) = log.append(BOB, [draft(10)])
        assert new.position > max(other.heads().values())

    def test_what_an_archive_has_is_counted_apart(self, log: EventLog) -> None:
        places = [one.position for one in log.append(ALICE, [draft(number) for number in range(3)])]
        if isinstance(log, ArchivedLog):
            assert log.expire(ALICE, datetime.max.replace(tzinfo=UTC)) == len(places[:-1]), "the newest stays"
            assert (log.size().events, log.size().archived) == (3, 0), "it has its archive"
        else:
            log.drop(ALICE, places[:2])
            assert (log.size().events, log.size().archived) == (1, 2)
