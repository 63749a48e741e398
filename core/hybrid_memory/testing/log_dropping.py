"""What every event log must do with events that an archive has taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import EventLog
from hybrid_memory.testing.drafts import ALICE, NOON, OWNERS, draft

NOTE = draft(1000, kind=EventKind.ERASED, payload={"positions": [1, 2]})


class EventLogDroppingContract:
    """The part of `EventLogContract` that drops; subclass that."""

    def test_dropped_events_are_gone_and_the_others_stand(self, log: EventLog) -> None:
        """In every reading; positions and heads stay."""
        at = [appended.position for appended in log.append(ALICE, [draft(n, session="s1") for n in range(6)])]
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
        """The same words are a repetition at the old place, whenever they are said; others a conflict."""
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
        """What is not there is left out: another owner's, what was dropped or erased before, what never was."""
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
        """Also when all of their events were dropped."""
        at = log.append(ALICE, [draft(1, session="s1"), draft(2, session="s2"), draft(3), draft(4, session="s3")])
        log.drop(ALICE, [appended.position for appended in at[:3]])
        size = log.size()
        assert (size.owners, size.sessions, size.events) == (1, 4, 1)
        log.erase(ALICE, [appended.position for appended in at[:2]], {}, NOTE)
        assert log.size().sessions == 2  # noqa: PLR2004 - what was said without a session, and the last one

    def test_erasing_forgets_dropped_ids(self, log: EventLog) -> None:
        """They are free again, for any words."""
        at = [appended.position for appended in log.append(ALICE, [draft(n) for n in range(4)])]
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
        """As one that stands in the log."""
        (first, *_) = log.append(ALICE, [draft(1), draft(2)])
        log.drop(ALICE, [first.position])
        log.erase(ALICE, [], {first.position: {"content": "new"}}, NOTE)
        (known,) = log.append(ALICE, [draft(1, payload={"content": "new"}, at=NOON + timedelta(days=1))])
        assert (known.position, known.fresh) == (first.position, False)
        with pytest.raises(IdConflictError):
            log.append(ALICE, [draft(1)])

    def test_a_note_that_cannot_be_written_leaves_dropped_ids(self, log: EventLog) -> None:
        """All or nothing."""
        at = [appended.position for appended in log.append(ALICE, [draft(n) for n in range(3)])]
        log.drop(ALICE, at[:2])
        with pytest.raises(IdConflictError):
            log.erase(ALICE, [at[0]], {at[1]: {}}, draft(2, payload={"content": "other words"}))
        repeated = log.append(ALICE, [draft(0), draft(1)])
        assert [(again.position, again.fresh) for again in repeated] == [(at[0], False), (at[1], False)]
