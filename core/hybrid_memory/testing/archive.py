"""The contract of an archive."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Archive, Draft, Payloads, Readable
from hybrid_memory.scope import Scope
from hybrid_memory.testing.drafts import ALICE, NAMES, OWNERS, archived, assert_readings_agree, check_during, event_of
from hybrid_memory.testing.event_log import Erase, ReadableContract, Write


class ArchiveContract(ReadableContract):
    """Tests that every archive must pass. Subclass it and provide an empty ``archive``, closed after the test."""

    @pytest.fixture
    def archive(self) -> Archive:
        raise NotImplementedError("give a fixture named 'archive'")

    @pytest.fixture
    def readable(self, archive: Archive) -> Readable:
        return archive

    @pytest.fixture
    def write(self, archive: Archive) -> Write:
        numbers = itertools.count(7, 3)

        def put(owner: Scope, *drafts: Draft) -> list[Event]:
            events = [event_of(made, owner, next(numbers)) for made in drafts]
            archive.put(events)
            return events

        return put

    @pytest.fixture
    def erase(self, archive: Archive) -> Erase:
        def erased(owner: Scope, positions: Sequence[int], rewritten: Payloads) -> list[Event]:
            archive.erase(owner, positions, rewritten)
            return []

        return erased

    def test_what_is_put_twice_is_there_once_as_it_was_rewritten(self, archive: Archive) -> None:
        events = [archived(n, replace(ALICE, session="s1")) for n in (*range(1, 7), 2**53 + 1)]
        archive.put(events[:5])
        archive.put([*events[2:], events[6]])
        archive.put(events)
        assert_readings_agree(archive, events)
        archive.erase(ALICE, [], {1: {"content": "new"}})
        archive.put(events)
        assert_readings_agree(archive, [replace(events[0], payload={"content": "new"}), *events[1:]])

    def test_an_owner_without_events_has_no_head(self, archive: Archive) -> None:
        archive.put([archived(number) for number in range(1, 9)])
        archive.put([archived(20, OWNERS[1])])
        archive.erase(ALICE, [8], {})
        assert archive.heads() == {ALICE: 7, OWNERS[1]: 20}
        archive.erase(ALICE, range(1, 9), {})
        assert archive.heads() == {OWNERS[1]: 20}
        assert (archive.heads(ALICE), archive.size().owners) == ({}, 1)

    def test_erasing_is_of_one_owner_whatever_the_name(self, archive: Archive) -> None:
        events = [archived(n, Scope(user=name)) for n, name in enumerate(NAMES, start=1)]
        for event in events:
            archive.put([event])
        for done, event in enumerate(events, start=1):
            archive.erase(event.scope, range(1, len(events) + 1), {})
            assert archive.heads() == {left.scope: left.position for left in events[done:]}

    def test_threads_put_and_read_side_by_side(self, archive: Archive) -> None:
        owners = OWNERS[:4]

        def put(writer: int) -> None:
            for start in range(1000 * writer + 1, 1000 * writer + 51, 10):
                archive.put([archived(start + step, owners[writer]) for step in range(10)])

        def check() -> None:
            assert all(event.scope == ALICE for event in archive.read(ALICE))

        check_during(check, *(partial(put, writer) for writer in range(4)))
        for writer, owner in enumerate(owners):
            assert [event.position for event in archive.read(owner)] == [1000 * writer + n for n in range(1, 51)]
