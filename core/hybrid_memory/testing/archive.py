"""The contract of an archive."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Archive
from hybrid_memory.scope import Scope
from hybrid_memory.testing.drafts import ALICE, NAMES, NOON, OWNERS, archived, assert_readings_agree


class ArchiveContract:
    """Tests that every archive must pass. Subclass it and provide an empty ``archive``, closed after the test."""

    @pytest.fixture
    def archive(self) -> Archive:
        raise NotImplementedError("give a fixture named 'archive'")

    def test_an_empty_archive_has_nothing_to_tell(self, archive: Archive) -> None:
        archive.put([])
        archive.erase(ALICE, [1], {2: {}})
        assert archive.read(ALICE) == []
        assert archive.get(ALICE, ["e1"]) == archive.get(ALICE, []) == []
        assert archive.heads() == archive.heads(ALICE) == {}
        assert archive.count(ALICE) == 0
        size = archive.size()
        assert (size.owners, size.sessions, size.events) == (0, 0, 0)

    def test_read_returns_what_was_put(self, archive: Archive) -> None:
        payload = {"content": "NUL \x00, 中文, 🙂, \u2028", "deep": [{"a": None, "b": [True, 1, 1.5, "1"]}], "": {}}
        full = archived(7, replace(ALICE, session="s 1"), payload=payload, sources=("b", "a"), author="user bob 你")
        last = archived(2**53 + 1, id="\\'中 \t", at=NOON.replace(year=1999, microsecond=999_999), payload={})
        archive.put([full, last])
        assert archive.read(ALICE) == [full, last]
        (event,) = archive.get(ALICE, [full.id])
        assert event.at.utcoffset() == timedelta(0)
        assert [type(value) for value in event.payload["deep"][0]["b"]] == [bool, int, float, str]
        assert archive.get(ALICE, [last.id]) == [last]

    def test_what_is_put_twice_is_there_once(self, archive: Archive) -> None:
        events = [archived(n, replace(ALICE, session="s1")) for n in range(1, 8)]
        archive.put(events[:5])
        archive.put([*events[2:], events[6]])
        archive.put(events)
        assert archive.read(ALICE) == events
        assert archive.read(ALICE, limit=3, newest=True) == events[-3:]
        assert archive.get(ALICE, ["e3"]) == events[2:3]
        assert archive.count(ALICE) == archive.size().events == len(events)
        assert archive.count(ALICE, after=3) == len(events) - 3

    def test_scopes_are_matched_exactly(self, archive: Archive) -> None:
        """A missing part is a value of its own. A session narrows the scope; without one, all are read."""
        numbers = itertools.count(1)
        put = {
            owner: [archived(next(numbers), replace(owner, session=s)) for s in (None, "s1", "s2")] for owner in OWNERS
        }
        for events in put.values():
            archive.put(events)
        for owner, events in put.items():
            one = replace(owner, session="s1")
            assert archive.read(owner) == events
            assert archive.read(one) == events[1:2]
            assert archive.get(owner, [event.id for event in itertools.chain(*put.values())]) == events
            assert archive.get(one, [event.id for event in events]) == events[1:2]
            assert archive.count(owner) == len(events)
            assert archive.heads(one) == {owner: events[-1].position}
        assert archive.heads() == {owner: events[-1].position for owner, events in put.items()}
        size = archive.size()
        assert (size.owners, size.sessions, size.events) == (len(put), 3 * len(put), 3 * len(put))

    def test_names_may_hold_any_characters(self, archive: Archive) -> None:
        put = []
        for number, name in enumerate(NAMES):
            scope = Scope(tenant=name, user=name, agent=name, session=name)
            put += [archived(2 * number + 1, scope, id=name, author=name), archived(2 * number + 2, Scope(space=name))]
        for event in put:
            archive.put([event])
        for event in put:
            assert archive.read(event.scope) == [event]
            assert archive.get(event.scope.owner, [event.id, *NAMES]) == [event]
        archive.erase(put[0].scope, [event.position for event in put], {})
        assert [archive.count(event.scope) for event in put] == [0] + [1] * (len(put) - 1)

    @pytest.mark.parametrize("seed", range(2))
    def test_every_reading_agrees_with_a_list(self, archive: Archive, seed: int) -> None:
        chance = Random(seed)  # noqa: S311 - for tests
        written = [
            archived(
                position,
                replace(OWNERS[chance.randrange(2)], session=chance.choice([None, "s1", "s2"])),
                kind=chance.choice([EventKind.MESSAGE, EventKind.CLAIM]),
                at=NOON + timedelta(microseconds=chance.randrange(5), days=40 * chance.randrange(2)),
            )
            for position in sorted(chance.sample(range(1, 200), 50))
        ]
        for owner in OWNERS[:2]:
            archive.put([event for event in written if event.scope.owner == owner])
        assert_readings_agree(archive, written, [*OWNERS[:3], replace(ALICE, session="s1")], chance)

    def test_erasing_destroys_and_rewrites(self, archive: Archive) -> None:
        events = [archived(n, replace(ALICE, session=f"s{n % 2}")) for n in range(1, 9)]
        theirs = archived(20, OWNERS[1])
        archive.put(events)
        archive.put([theirs])
        payload = {"content": "rewritten \u6539\u5199", "deep": [None, {"a": 1.5}]}
        for _ in range(2):
            archive.erase(replace(ALICE, session="s9"), [2, 5, 20, 99, 5], {3: payload, 5: {}, 7: {}, 20: {}, 98: {}})
            expected = [event for event in events if event.position not in (2, 5)]
            expected[1], expected[4] = replace(expected[1], payload=payload), replace(expected[4], payload={})
            assert archive.read(ALICE) == expected
            assert archive.get(ALICE, ["e2", "e3"]) == expected[1:2]
            assert archive.count(ALICE) == len(expected)
            assert archive.read(OWNERS[1]) == [theirs]
        archive.erase(ALICE, [8], {3: {"content": "once more"}})
        assert archive.get(ALICE, ["e3"])[0].payload == {"content": "once more"}
        assert archive.heads() == {ALICE: 7, OWNERS[1]: 20}
        archive.erase(ALICE, range(1, 9), {})
        assert archive.heads() == {OWNERS[1]: 20}, "without events no head"
        assert (archive.heads(ALICE), archive.size().owners) == ({}, 1)

    def test_a_rewritten_event_is_not_undone_by_putting_it_again(self, archive: Archive) -> None:
        old = archived(1)
        archive.put([old])
        archive.erase(ALICE, [], {1: {"content": "new"}})
        archive.put([old])
        assert archive.read(ALICE) == [replace(old, payload={"content": "new"})]
        assert archive.count(ALICE) == 1

    def test_threads_put_and_read_side_by_side(self, archive: Archive) -> None:
        owners = OWNERS[:4]

        def put(writer: int) -> None:
            for batch in range(5):
                start = 1000 * writer + 10 * batch + 1
                archive.put([archived(start + step, owners[writer]) for step in range(10)])

        with ThreadPoolExecutor(max_workers=5) as pool:
            writing = [pool.submit(put, writer) for writer in range(4)]
            while not all(job.done() for job in writing):
                assert all(event.scope == ALICE for event in archive.read(ALICE))
            for job in writing:
                job.result()
        for writer, owner in enumerate(owners):
            assert [event.position for event in archive.read(owner)] == [1000 * writer + n for n in range(1, 51)]

    def test_after_close_every_call_says_so(self, archive: Archive) -> None:
        archive.put([archived(1)])
        archive.close()
        archive.close()
        for call in (
            lambda: archive.put([archived(2)]),
            lambda: archive.read(ALICE),
            lambda: archive.get(ALICE, ["e1"]),
            lambda: archive.erase(ALICE, [1], {}),
            archive.heads,
            lambda: archive.heads(ALICE),
            lambda: archive.count(ALICE),
            archive.size,
        ):
            with pytest.raises(MemoryClosedError):
                call()
