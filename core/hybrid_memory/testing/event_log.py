"""The contract of an event log: appending and reading, then forgetting, archiving, and restoring from another log."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

import pytest

from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft, EventLog, LogState, Readable
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.scope import Scope
from hybrid_memory.testing.drafts import (
    ALICE,
    NAMES,
    NOON,
    OWNERS,
    appended,
    assert_closed,
    assert_readings_agree,
    check_during,
    draft,
    event_of,
)

BOB = OWNERS[1]
NOTE = draft(1000, kind=EventKind.ERASED, payload={"positions": [1, 2]}, author="user alice")


Write = Callable[..., list[Event]]
"""Stores drafts, given after their owner, and returns the events."""


class ReadableContract:
    """Tests that a log and an archive must pass alike. The suite has the fixtures ``readable`` and ``write``."""

    def test_what_is_empty_has_nothing_to_tell(self, readable: Readable, write: Write) -> None:
        assert write(ALICE) == []
        assert readable.get(ALICE, ["e1"]) == []
        assert_readings_agree(readable, [])

    def test_read_returns_what_was_written(self, readable: Readable, write: Write) -> None:
        payload = {"content": "NUL \x00, 中文, 🙂, \u2028", "deep": [{"a": None, "b": [True, 1, 1.5, "1"]}], "": {}}
        full = draft(1, session="s 1", payload=payload, at=NOON, sources=("b", "a"), author="user bob 你")
        events = write(ALICE, full, draft(2, at=NOON.replace(year=1999, microsecond=999_999), payload={}))
        assert readable.read(ALICE) == events
        (event,) = readable.get(ALICE, ["e1"])
        assert event == events[0]
        assert event.at.utcoffset() == timedelta(0)
        assert [type(value) for value in event.payload["deep"][0]["b"]] == [bool, int, float, str]

    def test_scopes_are_matched_exactly(self, readable: Readable, write: Write) -> None:
        """A missing part is a value of its own. A session narrows the scope; without one, all sessions are read.

        Ids are free for other owners and in other sessions.
        """
        drafts = [draft(1), draft(2, session="s1"), draft(3, session="s2")]
        written = {owner: write(owner, *drafts) for owner in OWNERS}
        for owner, events in written.items():
            one = replace(owner, session="s1")
            assert readable.read(owner) == readable.get(owner, ["e1", "e2", "e3"]) == events
            assert readable.read(one) == readable.get(one, ["e1", "e2"]) == events[1:2]
            assert readable.count(owner) == len(events)
            assert readable.heads(one) == {owner: events[-1].position}
        assert readable.heads() == {owner: events[-1].position for owner, events in written.items()}
        size = readable.size()
        assert (size.owners, size.sessions, size.events) == (len(OWNERS), 3 * len(OWNERS), 3 * len(OWNERS))

    def test_names_may_hold_any_characters(self, readable: Readable, write: Write) -> None:
        written: dict[Scope, list[Event]] = {}
        for name in NAMES:
            drafts = [draft(1, session=at, payload={"content": f"of {at}"}) for at in (None, name, f"{name}x")]
            for owner in (Scope(user=name), Scope(tenant=name, user=name, agent=name), Scope(space=name)):
                written[owner] = write(owner, *(replace(made, id=name, author=name) for made in drafts))
        for owner, events in written.items():
            assert readable.read(owner) == readable.get(owner, NAMES) == events
            assert readable.read(events[1].scope) == events[1:2]
        assert readable.heads().keys() == written.keys()

    @pytest.mark.parametrize("seed", range(2))
    def test_every_reading_agrees_with_a_list(self, readable: Readable, write: Write, seed: int) -> None:
        chance = Random(seed)  # noqa: S311 - for tests
        written: list[Event] = []
        for number in range(60):
            session, kind = chance.choice([None, "s1", "s2"]), chance.choice(list(EventKind))
            at = NOON + timedelta(microseconds=chance.randrange(5), days=40 * chance.randrange(2))
            written += write(OWNERS[chance.randrange(3)], draft(number, session=session, kind=kind, at=at))
        sessions = [replace(ALICE, session="s1"), replace(ALICE, session="no")]
        assert_readings_agree(readable, written, [ALICE, BOB, OWNERS[3], *sessions], chance)

    def test_after_close_no_event_is_read_or_written(self, readable: Readable, write: Write) -> None:
        write(ALICE, draft(1))
        assert_closed(
            readable,
            lambda: write(ALICE, draft(2)),
            lambda: readable.read(ALICE),
            lambda: readable.read(BOB),
            lambda: readable.get(ALICE, ["e1"]),
            readable.heads,
            lambda: readable.heads(ALICE),
            lambda: readable.count(ALICE),
            readable.size,
        )


class EventLogContract(ReadableContract):
    """Tests that every event log must pass. Subclass it and provide a ``log`` fixture: empty, closed after the test."""

    @pytest.fixture
    def log(self) -> EventLog:
        raise NotImplementedError("give a fixture named 'log'")

    @pytest.fixture
    def readable(self, log: EventLog) -> Readable:
        return log

    @pytest.fixture
    def write(self, log: EventLog) -> Write:
        def append(owner: Scope, *drafts: Draft) -> list[Event]:
            done = [one.position for one in log.append(owner, drafts)]
            return [event_of(made, owner, position) for made, position in zip(drafts, done, strict=True)]

        return append

    def test_a_mark_is_of_an_event_and_not_of_its_place_or_words(self, log: EventLog) -> None:
        one, two = log.append(ALICE, [draft(1), draft(2)])
        events = log.read(ALICE)
        assert [log.mark(ALICE, event.position) for event in events] == [event.mark for event in events]
        assert events[0].mark != events[1].mark
        assert log.mark(BOB, one.position) == log.mark(ALICE, two.position + 1) == log.mark(ALICE, 0) == ""
        log.erase(ALICE, [two.position], {one.position: {"content": "other"}}, draft(3))
        assert log.mark(ALICE, one.position) == events[0].mark
        assert log.mark(ALICE, two.position) == ""

    def test_the_state_of_an_owner_tells_its_last_events(self, log: EventLog) -> None:
        """The owner's last event of any kind, and the last one of each requested kind; never another owner's."""
        assert log.state(ALICE) == log.state(ALICE, [EventKind.CLAIM]) == LogState()
        kinds = (EventKind.CLAIM, EventKind.ERASED, EventKind.USED)
        drafts = [draft(1, kind=EventKind.CLAIM), draft(2, kind=EventKind.CLAIM, session="s2"), draft(3)]
        _, claim, last = log.append(ALICE, drafts)
        used = log.append(BOB, [draft(4, kind=EventKind.USED)])[0]
        claimed = {EventKind.CLAIM: (claim.position, log.mark(ALICE, claim.position))}
        told = LogState(last.position, log.mark(ALICE, last.position), claimed)
        assert log.state(ALICE, kinds) == log.state(replace(ALICE, session="s2"), kinds) == told
        assert log.state(ALICE) == replace(told, last={})
        assert log.state(BOB, kinds).last == {EventKind.USED: (used.position, log.mark(BOB, used.position))}
        note = log.erase(ALICE, [last.position], {}, draft(5, kind=EventKind.ERASED))
        erased = {EventKind.ERASED: (note.position, log.mark(ALICE, note.position))}
        assert log.state(ALICE, kinds) == LogState(note.position, log.mark(ALICE, note.position), claimed | erased)

    def test_positions_grow_from_1_over_batches_and_owners(self, log: EventLog) -> None:
        positions = [
            appended.position
            for batch, owner in enumerate((*OWNERS, *OWNERS))
            for appended in log.append(owner, [draft(10 * batch + step) for step in range(3)])
        ]
        assert positions == sorted(set(positions))
        assert positions[0] >= 1
        assert all(event.position in positions for owner in OWNERS for event in log.read(owner))
        last = log.newest([None, EventKind.MESSAGE, EventKind.ERASED])
        assert last == {owner: dict.fromkeys([None, EventKind.MESSAGE], log.read(owner)[-1]) for owner in OWNERS}

    def test_the_same_event_under_a_fixed_id_is_written_once(self, log: EventLog) -> None:
        """Whether repeated later or in the same batch. A different time alone does not make it a different event."""
        first, twin = log.append(ALICE, [draft(1), draft(1)])
        (later,) = log.append(ALICE, [draft(1, at=NOON + timedelta(days=1))])
        assert (first.fresh, twin.fresh, later.fresh) == (True, False, False)
        assert first.position == twin.position == later.position
        (event,) = log.read(ALICE)
        assert (event.position, event.at, event.payload) == (first.position, draft(1).at, draft(1).payload)

        log.append(ALICE, [draft(2, payload={"a": 1, "b": {"c": 2, "d": 3}})])
        assert not log.append(ALICE, [draft(2, payload={"b": {"d": 3, "c": 2}, "a": 1})])[0].fresh

    def test_a_taken_id_leaves_nothing_of_the_batch(self, log: EventLog) -> None:
        """Nor an owner whose first batch it is."""
        log.append(ALICE, [draft(1)])
        before = log.read(ALICE)
        with pytest.raises(IdConflictError, match="e1"):
            log.append(ALICE, [draft(2), draft(1, payload={"content": "other"}), draft(3)])
        assert log.read(ALICE) == before
        with pytest.raises(IdConflictError):
            log.append(BOB, [draft(1), draft(1, payload={"content": "other"})])
        assert_readings_agree(log, before, (ALICE, BOB))
        for owner in (ALICE, BOB):
            assert log.append(owner, [draft(2, payload={"content": "now free"})])[0].fresh

    def test_an_id_of_ours_is_never_taken_for_a_repetition(self, log: EventLog) -> None:
        log.append(ALICE, [draft(1, fixed=False)])
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(1, fixed=False)])
        assert log.count(ALICE) == 1

    def test_ids_may_hold_any_characters(self, log: EventLog) -> None:
        log.append(ALICE, [draft(7)])
        for odd in NAMES:
            made = replace(draft(1, session="s1"), id=odd)
            places = [one.position for one in log.append(ALICE, [made, replace(made, session=None)])]
            assert [event.id for event in log.get(ALICE, [odd])] == [odd, odd]
            log.drop(ALICE, places[:1])
            assert not log.append(ALICE, [made])[0].fresh
            log.erase(ALICE, places, {}, replace(draft(9, kind=EventKind.ERASED), id=f"note {odd}"))
            assert log.get(ALICE, [odd]) == []
            assert log.append(ALICE, [made])[0].fresh

    def test_threads_write_without_losing_or_mixing_anything(self, log: EventLog) -> None:
        size, batches = 5, 20

        def write(writer: int) -> None:
            for batch in range(batches):
                start = 1000 * writer + size * batch
                log.append(ALICE, [draft(start + step, session=f"s{writer}") for step in range(size)])

        def check() -> None:
            assert log.count(ALICE) % size == 0

        check_during(check, *(partial(write, writer) for writer in range(4)))
        for writer in range(4):
            ids = [event.id for event in log.read(Scope(user="alice", session=f"s{writer}"))]
            assert ids == [f"e{1000 * writer + step}" for step in range(size * batches)]

    def test_erasing_destroys_rewrites_and_notes_at_once(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(8))
        before = {event.position: event for event in log.read(ALICE)}
        payload = {"content": "rewritten \u6539\u5199", "deep": [None, {"a": 1.5}]}
        note = log.erase(ALICE, [at[1], at[5], at[7]], {at[2]: payload, at[6]: {}}, NOTE)
        assert note.fresh
        assert note.position > at[-1]
        expected = [before[at[n]] for n in (0, 2, 3, 4, 6)]
        expected[1], expected[4] = replace(expected[1], payload=payload), replace(expected[4], payload={})
        assert log.get(ALICE, ["e1", "e2", "e7"]) == expected[1:2]
        assert_readings_agree(log, [*expected, event_of(NOTE, ALICE, note.position)])

    def test_what_is_not_there_is_left_out(self, log: EventLog) -> None:
        """Also if it is another owner's or already erased. Erased events are not rewritten."""
        at = appended(log, ALICE, *range(8))
        (other,) = log.append(BOB, [draft(50)])
        theirs = log.read(BOB)
        absent = other.position + 100
        log.erase(ALICE, [at[0], other.position, absent, at[0]], {at[0]: {}, other.position: {}, absent: {}}, NOTE)
        assert [event.id for event in log.read(ALICE)] == [*(f"e{n}" for n in range(1, 8)), NOTE.id]
        assert log.read(BOB) == theirs
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

        def check() -> None:
            events = log.read(ALICE)
            notes = sum(event.kind is EventKind.ERASED for event in events)
            assert len(events) == notes + size * (rounds - notes)

        check_during(check, erase, readers=2)
        assert log.count(ALICE) == rounds

    def test_dropped_events_are_gone_and_the_others_stand(self, log: EventLog) -> None:
        at = appended(log, ALICE, *range(6), session="s1")
        before = log.read(ALICE)
        log.drop(ALICE, [at[0], at[3], at[1], at[3]])
        assert log.get(ALICE, ["e0", "e2", "e3"]) == before[2:3]
        assert_readings_agree(log, [before[2], *before[4:]], [ALICE, replace(ALICE, session="s1")])
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
        assert log.append(BOB, [draft(1, session="s1")])[0].fresh

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
        (other,) = log.append(BOB, [draft(0)])
        log.drop(ALICE, at[:2])
        log.drop(BOB, [other.position])
        log.erase(ALICE, [at[0], other.position], {}, NOTE)
        (again,) = log.append(ALICE, [draft(0, payload={"content": "other words"})])
        assert again.fresh
        assert again.position > at[-1]
        assert not log.append(ALICE, [draft(1)])[0].fresh
        assert not log.append(BOB, [draft(0)])[0].fresh

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
        written = sorted([*other.read(ALICE), *other.read(BOB)], key=lambda event: event.position)
        assert_readings_agree(log, written, [ALICE, replace(BOB, session="s1")])
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

    def test_after_close_nothing_is_changed(self, log: EventLog) -> None:
        log.append(ALICE, [draft(1)])
        assert_closed(
            log,
            lambda: log.state(ALICE),
            lambda: log.erase(ALICE, [1], {}, NOTE),
            lambda: log.drop(ALICE, [1]),
            log.scrub,
        )
