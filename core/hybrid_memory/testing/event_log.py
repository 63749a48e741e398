"""The contract of an event log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from hybrid_memory.errors import IdConflictError, MemoryClosedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import EventLog, LogState
from hybrid_memory.scope import Scope
from hybrid_memory.testing.drafts import ALICE, NAMES, NOON, OWNERS, assert_readings_agree, draft
from hybrid_memory.testing.log_removal import EventLogRemovalContract


class EventLogContract(EventLogRemovalContract):
    """Tests that every event log must pass. Subclass it and provide a ``log`` fixture: empty, closed after the test."""

    @pytest.fixture
    def log(self) -> EventLog:
        raise NotImplementedError("give a fixture named 'log'")

    def test_an_empty_log_has_nothing_to_tell(self, log: EventLog) -> None:
        assert log.append(ALICE, []) == []
        assert log.read(ALICE) == []
        assert log.get(ALICE, ["e1"]) == []
        assert log.heads() == log.heads(ALICE) == {}
        assert log.count(ALICE) == 0
        size = log.size()
        assert (size.owners, size.sessions, size.events) == (0, 0, 0)

    def test_read_returns_what_was_appended(self, log: EventLog) -> None:
        payload = {"content": "NUL \x00, 中文, 🙂, \u2028", "deep": [{"a": None, "b": [True, 1, 1.5, "1"]}], "": {}}
        made = draft(1, session="s 1", payload=payload, at=NOON, sources=("b", "a"), author="user bob 你")
        (where,) = log.append(ALICE, [made])
        (event,) = log.read(ALICE)
        assert event == Event(
            position=where.position,
            id="e1",
            scope=Scope(user="alice", session="s 1"),
            kind=EventKind.MESSAGE,
            at=NOON,
            payload=payload,
            sources=("b", "a"),
            author="user bob 你",
        )
        assert event.at.utcoffset() == timedelta(0)
        assert [type(value) for value in event.payload["deep"][0]["b"]] == [bool, int, float, str]

    def test_a_mark_is_of_an_event_and_not_of_its_place_or_words(self, log: EventLog) -> None:
        one, two = log.append(ALICE, [draft(1), draft(2)])
        events = log.read(ALICE)
        assert [log.mark(ALICE, event.position) for event in events] == [event.mark for event in events]
        assert events[0].mark != events[1].mark
        assert log.mark(OWNERS[1], one.position) == log.mark(ALICE, two.position + 1) == log.mark(ALICE, 0) == ""
        log.erase(ALICE, [two.position], {one.position: {"content": "other"}}, draft(3))
        assert log.mark(ALICE, one.position) == events[0].mark
        assert log.mark(ALICE, two.position) == ""

    def test_the_state_of_an_owner_tells_its_last_events(self, log: EventLog) -> None:
        """The owner's last event of any kind, and the last one of each requested kind; never another owner's."""
        assert log.state(ALICE) == log.state(ALICE, [EventKind.CLAIM]) == LogState()
        kinds = (EventKind.CLAIM, EventKind.ERASED, EventKind.USED)
        drafts = [draft(1, kind=EventKind.CLAIM), draft(2, kind=EventKind.CLAIM, session="s2"), draft(3)]
        _, claim, last = log.append(ALICE, drafts)
        used = log.append(OWNERS[1], [draft(4, kind=EventKind.USED)])[0]
        claimed = {EventKind.CLAIM: (claim.position, claim.id)}
        told = LogState(last.position, log.mark(ALICE, last.position), claimed)
        assert log.state(ALICE, kinds) == log.state(replace(ALICE, session="s2"), kinds) == told
        assert log.state(ALICE) == replace(told, last={})
        assert log.state(OWNERS[1], kinds).last == {EventKind.USED: (used.position, used.id)}
        note = log.erase(ALICE, [last.position], {}, draft(5, kind=EventKind.ERASED))
        erased = {EventKind.ERASED: (note.position, note.id)}
        assert log.state(ALICE, kinds) == LogState(note.position, log.mark(ALICE, note.position), claimed | erased)

    def test_positions_grow_from_1_over_batches_and_owners(self, log: EventLog) -> None:
        positions = [
            appended.position
            for batch in range(6)
            for appended in log.append(OWNERS[batch % 2], [draft(10 * batch + step) for step in range(3)])
        ]
        assert positions == sorted(set(positions))
        assert positions[0] >= 1
        assert all(event.position in positions for owner in OWNERS[:2] for event in log.read(owner))

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
            log.append(OWNERS[1], [draft(1), draft(1, payload={"content": "other"})])
        assert log.heads().keys() == {ALICE}
        size = log.size()
        assert (size.owners, size.sessions, size.events) == (1, 1, 1)
        for owner in OWNERS[:2]:
            assert log.append(owner, [draft(2, payload={"content": "now free"})])[0].fresh

    def test_an_id_of_ours_is_never_taken_for_a_repetition(self, log: EventLog) -> None:
        log.append(ALICE, [draft(1, fixed=False)])
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(1, fixed=False)])
        assert log.count(ALICE) == 1

    def test_scopes_are_matched_exactly(self, log: EventLog) -> None:
        """A missing part is a value of its own. A session narrows the scope; without one, all sessions are read.

        Ids are free for other owners and in other sessions.
        """
        for owner in OWNERS:
            log.append(owner, [draft(1), draft(2, session="s1"), draft(3, session="s2")])
        for owner in OWNERS:
            one = replace(owner, session="s1")
            assert [(e.id, e.scope.owner) for e in log.read(owner)] == [(f"e{n}", owner) for n in (1, 2, 3)]
            assert [(e.id, e.scope) for e in log.read(one)] == [("e2", one)]
            assert [e.id for e in log.get(owner, ["e1", "e3"])] == ["e1", "e3"]
            assert [e.id for e in log.get(one, ["e1", "e2"])] == ["e2"]
            assert log.count(owner) == 3  # noqa: PLR2004 - as written above
            assert set(log.heads(one)) == {owner}
        assert set(log.heads()) == set(OWNERS)
        last = log.newest([None, EventKind.MESSAGE, EventKind.ERASED])
        assert last == {owner: dict.fromkeys([None, EventKind.MESSAGE], log.read(owner)[-1]) for owner in OWNERS}

    def test_names_may_hold_any_characters(self, log: EventLog) -> None:
        for name in NAMES:
            payloads = {session: {"content": f"of {session}"} for session in (None, name, f"{name}x")}
            log.append(Scope(user=name), [draft(1, session=at, payload=words) for at, words in payloads.items()])
        for name in NAMES:
            scopes = [Scope(user=name, session=session) for session in (None, name, f"{name}x")]
            assert [event.scope for event in log.read(Scope(user=name))] == scopes
            assert len(log.read(scopes[1])) == 1
            assert len(log.get(Scope(user=name), ["e1"])) == len(scopes)
        assert set(log.heads()) == {Scope(user=name) for name in NAMES}

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

    @pytest.mark.parametrize("seed", range(2))
    def test_every_reading_agrees_with_a_list(self, log: EventLog, seed: int) -> None:
        chance = Random(seed)  # noqa: S311 - for tests
        written: list[Event] = []
        for number in range(60):
            owner, session = OWNERS[chance.randrange(3)], chance.choice([None, "s1", "s2"])
            kind = chance.choice(list(EventKind))
            made = draft(number, session=session, kind=kind, at=NOON + timedelta(microseconds=chance.randrange(5)))
            (done,) = log.append(owner, [made])
            scope = replace(owner, session=session)
            written.append(Event(done.position, made.id, scope, made.kind, made.at, made.payload))
        one = [replace(ALICE, session="s1"), replace(ALICE, session="no")]
        assert_readings_agree(log, written, [OWNERS[0], OWNERS[1], OWNERS[3], *one], chance)

    def test_get_is_by_position_and_leaves_unknown_ids_out(self, log: EventLog) -> None:
        log.append(ALICE, [draft(number) for number in (3, 1, 2)])
        assert [event.id for event in log.get(ALICE, ["e2", "no", "e3", "e2"])] == ["e3", "e2"]
        assert log.get(ALICE, []) == []
        assert log.get(OWNERS[1], ["e1"]) == []

    def test_threads_write_without_losing_or_mixing_anything(self, log: EventLog) -> None:
        size, batches = 5, 20

        def write(writer: int) -> None:
            for batch in range(batches):
                start = 1000 * writer + size * batch
                log.append(ALICE, [draft(start + step, session=f"s{writer}") for step in range(size)])

        with ThreadPoolExecutor(max_workers=5) as pool:
            writing = [pool.submit(write, writer) for writer in range(4)]
            while not all(job.done() for job in writing):
                assert log.count(ALICE) % size == 0
            for job in writing:
                job.result()
        for writer in range(4):
            ids = [event.id for event in log.read(Scope(user="alice", session=f"s{writer}"))]
            assert ids == [f"e{1000 * writer + step}" for step in range(size * batches)]

    def test_after_close_every_call_says_so(self, log: EventLog) -> None:
        log.append(ALICE, [draft(1)])
        log.close()
        log.close()
        for call in (
            lambda: log.append(ALICE, [draft(2)]),
            lambda: log.read(ALICE),
            lambda: log.read(OWNERS[1]),
            lambda: log.get(ALICE, ["e1"]),
            log.heads,
            lambda: log.heads(ALICE),
            lambda: log.count(ALICE),
            lambda: log.state(ALICE),
            log.size,
            lambda: log.erase(ALICE, [1], {}, draft(3)),
            lambda: log.drop(ALICE, [1]),
            log.scrub,
        ):
            with pytest.raises(MemoryClosedError):
                call()
