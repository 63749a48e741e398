"""The contract of an event log: appending and reading, then forgetting, archiving, and restoring from another log."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from operator import attrgetter
from random import Random

import pytest

from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogState, Payloads, Readable
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


Write = Callable[..., list[Event]]  # stores drafts, given after their owner, and returns the events

Erase = Callable[[Scope, Sequence[int], Payloads], list[Event]]
"""Erases and rewrites events of an owner, and returns the note of it if there is one."""


class ReadableContract:
    """Tests that a log and an archive must pass alike; a suite has the fixtures ``readable``, ``write``, ``erase``."""

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

    def test_erasing_destroys_and_rewrites(self, readable: Readable, write: Write, erase: Erase) -> None:
        """Whatever the session. What is absent, another owner's or erased by now is neither erased nor rewritten."""
        notes = erase(ALICE, [1], {2: {}})
        (theirs,) = write(BOB, draft(50))
        events = write(ALICE, *(draft(number, session=f"s{number % 2}") for number in range(8)))
        at = [event.position for event in events]
        absent, payload = at[-1] + 100, {"content": "rewritten \u6539\u5199", "deep": [None, {"a": 1.5}]}
        kept = [replace(events[2], payload=payload), events[3], replace(events[6], payload={}), events[7]]
        for session in (None, "s9"):
            gone = [at[1], at[4], theirs.position, absent, at[4]]
            rewritten = {at[2]: payload, at[4]: {}, at[6]: {}, theirs.position: {}, absent: {}}
            notes += erase(replace(ALICE, session=session), gone, rewritten)
            assert readable.get(ALICE, ["e1", "e2", "e4"]) == kept[:1]
            here = [theirs, events[0], *kept[:2], events[5], *kept[2:]]
            assert_readings_agree(readable, sorted([*here, *notes], key=attrgetter("position")), [ALICE, BOB])
        erase(ALICE, [], {at[2]: {"content": "once more"}})
        assert readable.get(ALICE, ["e2"])[0].payload == {"content": "once more"}

    def test_after_close_no_event_is_read_or_written(self, readable: Readable, write: Write, erase: Erase) -> None:
        write(ALICE, draft(1))
        assert_closed(
            readable,
            lambda: write(ALICE, draft(2)),
            lambda: erase(ALICE, [1], {}),
            *(partial(readable.read, owner) for owner in (ALICE, BOB)),
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

    @pytest.fixture
    def erase(self, log: EventLog) -> Erase:
        numbers = itertools.count()

        def erased(owner: Scope, positions: Sequence[int], rewritten: Payloads) -> list[Event]:
            note = replace(NOTE, id=f"note {next(numbers)}")
            return [event_of(note, owner.owner, log.erase(owner, positions, rewritten, note).position)]

        return erased

    @pytest.fixture
    def at(self, log: EventLog) -> list[int]:
        """The positions of eight events of Alice, ``e0`` to ``e7``."""
        return appended(log, ALICE, *range(8))

    def test_a_mark_is_of_an_event_and_not_of_its_place_or_words(self, log: EventLog, at: list[int]) -> None:
        marks = [event.mark for event in log.read(ALICE)]
        assert [log.mark(ALICE, position) for position in at] == marks
        assert len(set(marks)) == len(at)
        assert log.mark(BOB, at[0]) == log.mark(ALICE, at[-1] + 1) == log.mark(ALICE, 0) == ""
        log.erase(ALICE, at[1:2], {at[0]: {"content": "other"}}, NOTE)
        assert [log.mark(ALICE, position) for position in at[:2]] == [marks[0], ""]

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

    @pytest.mark.parametrize("kept", ["here", "dropped", "restored"])
    def test_a_known_id_repeats_its_event_or_is_refused_with_the_batch(self, log: EventLog, kept: str) -> None:
        """The same payload, at any time, has the old position, also within a batch; anything else is a conflict."""
        payload = {"content": "words \u8bdd", "deep": {"a": [1, None], "b": 2.5}}
        made, ours = draft(1, session="s1", payload=payload), draft(2, session="s1", fixed=False)
        source = InMemoryLog() if kept == "restored" else log
        first, twin, _ = source.append(ALICE, [made, made, ours])
        assert (first.id, first.fresh, twin) == ("e1", True, replace(first, fresh=False))
        if kept == "restored":
            log.restore(ALICE, source.read(ALICE))
        elif kept == "dropped":
            log.drop(ALICE, [first.position])
        before = log.read(ALICE)
        turned = {"deep": {"b": 2.5, "a": [1, None]}, "content": "words \u8bdd"}
        for again in (made, replace(made, payload=turned, at=NOON)):
            assert log.append(ALICE, [again]) == [twin]
        for other in (draft(1, session="s1"), replace(made, kind=EventKind.CLAIM), replace(made, fixed_id=False), ours):
            with pytest.raises(IdConflictError, match=other.id):
                log.append(ALICE, [draft(3), other, draft(4)])
        assert log.read(ALICE) == before
        free = [*((ALICE, draft(number, session="s2")) for number in (1, 3)), (ALICE, draft(3)), (BOB, made)]
        assert all(log.append(owner, [other])[0].fresh for owner, other in free)

    def test_a_first_batch_that_contradicts_itself_leaves_no_owner(self, log: EventLog) -> None:
        other = draft(1, payload={"content": "other"})
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(1), other])
        assert_readings_agree(log, [])
        assert log.append(ALICE, [other])[0].fresh

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

    def test_positions_are_never_given_out_again(self, log: EventLog, at: list[int]) -> None:
        notes = [log.erase(ALICE, at, {}, replace(NOTE, session="s2")).position]
        notes.append(log.erase(ALICE, notes, {}, replace(NOTE, id="second note", session="s2")).position)
        (new,) = log.append(ALICE, [draft(2000)])
        assert at[-1] < notes[0] < notes[1] < new.position
        assert [event.position for event in log.read(ALICE)] == [notes[1], new.position]
        assert [event.id for event in log.read(replace(ALICE, session="s2"))] == ["second note"]

    @pytest.mark.parametrize("dropped", [False, True], ids=["here", "dropped"])
    def test_an_erased_id_is_free_again(self, log: EventLog, at: list[int], dropped: bool) -> None:
        """For the same text or another, also in the same call. A rewritten event is compared by its new payload."""
        (theirs,) = log.append(BOB, [draft(0)])
        if dropped:
            log.drop(ALICE, at[:5])
            log.drop(BOB, [theirs.position])
        new = draft(1, payload={"content": "the note"})
        assert log.erase(ALICE, [*at[:2], theirs.position], {at[4]: {"content": "new"}}, new).fresh
        rewritten = draft(4, payload={"content": "new"}, at=NOON + timedelta(days=1))
        again, *repeated = log.append(ALICE, [draft(0), draft(2), rewritten])
        assert again.fresh
        assert again.position > at[-1]
        assert repeated == [Appended("e2", at[2], fresh=False), Appended("e4", at[4], fresh=False)]
        assert not log.append(BOB, [draft(0)])[0].fresh
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(4)])

    def test_a_note_that_cannot_be_written_leaves_everything(self, log: EventLog, at: list[int]) -> None:
        """Of what is there, and of what was dropped."""
        log.drop(ALICE, at[4:6])
        before = log.read(ALICE)
        with pytest.raises(IdConflictError):
            log.erase(ALICE, [at[1], at[4]], {at[2]: {}, at[5]: {}}, draft(0, payload={"content": "other words"}))
        assert log.read(ALICE) == before
        repeated = log.append(ALICE, [draft(1), draft(4), draft(5)])
        assert repeated == [Appended(f"e{number}", at[number], fresh=False) for number in (1, 4, 5)]

    def test_what_was_made_of_what_is_erased_by_now_is_refused(self, log: EventLog, at: list[int]) -> None:
        """And so is an erasure that was planned before the last events came."""
        log.append(BOB, [draft(30)])
        before = log.read(ALICE)
        for seen in (0, at[-2]):
            with pytest.raises(OutdatedError):
                log.erase(ALICE, at[:2], {at[2]: {}}, NOTE, seen=seen)
        assert log.read(ALICE) == before
        log.append(ALICE, [draft(10, kind=EventKind.COMPACTION)], seen=at[-1])
        (last,) = log.append(ALICE, [draft(11)], seen=0)
        note = log.erase(ALICE, at[:2], {}, NOTE, seen=last.position)
        before = log.read(ALICE)
        for kind, seen in itertools.product((EventKind.MESSAGE, EventKind.RECALLED), (0, note.position - 1)):
            with pytest.raises(OutdatedError):
                log.append(ALICE, [draft(12), draft(13, kind=kind)], seen=seen)
        assert log.read(ALICE) == before
        log.append(ALICE, [draft(12)])
        log.append(BOB, [draft(31)], seen=0)
        assert log.append(ALICE, [draft(13)], seen=note.position)[0].fresh
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
        """Those of the owner, whatever the session; what is not there is ignored."""
        at = appended(log, ALICE, *range(6), session="s1")
        (theirs,) = log.append(BOB, [draft(0)])
        before = [*log.read(ALICE), *log.read(BOB)]
        for session in ("another", None):
            log.drop(replace(ALICE, session=session), [at[0], at[3], at[1], at[3], theirs.position, at[-1] + 100])
            assert log.get(ALICE, ["e0", "e2", "e3"]) == before[2:3]
            assert_readings_agree(log, [before[2], *before[4:]], [ALICE, replace(ALICE, session="s1"), BOB])
        log.drop(OWNERS[5], at)
        log.drop(ALICE, [])
        assert log.heads() == {ALICE: at[-1], BOB: theirs.position}
        assert log.append(ALICE, [draft(10)])[0].position > at[-1]

    def test_sessions_and_what_an_archive_has_stay_counted(self, log: EventLog) -> None:
        at = log.append(ALICE, [draft(1, session="s1"), draft(2, session="s2"), draft(3), draft(4, session="s3")])
        log.drop(ALICE, [done.position for done in at[:3]])
        size, archived = log.size(), 0 if isinstance(log, ArchivedLog) else 3  # that one has its archive
        assert (size.owners, size.sessions, size.events, size.archived) == (1, 4, 1, archived)
        log.erase(ALICE, [done.position for done in at[:2]], {}, NOTE)
        assert log.size().sessions == 2  # noqa: PLR2004 - what was said without a session, and the last one

    def test_restored_events_are_as_they_were(self, log: EventLog) -> None:
        """Restoring again changes nothing."""
        other = InMemoryLog()
        for number in range(6):
            made = draft(number, session="s1", payload={"content": f"\u8bdd {number}"})
            other.append(ALICE if number % 2 else BOB, [made])
        for owner in (ALICE, BOB):
            events = other.read(owner)
            for part in (events[:2], events[:2], events[1:], []):
                log.restore(owner, part)
        written = sorted([*other.read(ALICE), *other.read(BOB)], key=attrgetter("position"))
        assert_readings_agree(log, written, [ALICE, replace(BOB, session="s1")])
        assert log.append(BOB, [draft(10)])[0].position > written[-1].position

    def test_after_close_nothing_is_changed(self, log: EventLog) -> None:
        log.append(ALICE, [draft(1)])
        assert_closed(log, lambda: log.state(ALICE), lambda: log.drop(ALICE, [1]), log.scrub)
