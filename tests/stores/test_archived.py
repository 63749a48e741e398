import itertools
import logging
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.engines.sqlite import Database, SqliteLog
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.ports import EventLog
from hybrid_memory.testing.drafts import ALICE, NOON, OWNERS, assert_readings_agree, draft
from tests.archives import InMemoryArchive
from tests.doubles import Line
from tests.stores.conftest import OpenStore
from tests.stores.test_engines_agree import assert_the_same_after, do, state, steps

BOB = Scope(user="bob")
EVER = NOON + timedelta(days=10_000)
KINDS = [EventKind.MESSAGE, EventKind.CLAIM]


AWAY = StoreUnavailableError("the archive is away")


def line_to_archive() -> Any:
    """An archive that can be cut off."""
    return Line(InMemoryArchive())


def fill(log: EventLog, size: int, **fields: Any) -> list[int]:
    return [appended.position for appended in log.append(ALICE, [draft(number, **fields) for number in range(size)])]


def note(number: int) -> Any:
    return draft(10_000 + number, kind=EventKind.ERASED, payload={"positions": []})


# --- it reads like a log that never expired ---


def with_notes_of_their_own(done: list[Any]) -> list[Any]:
    """What an archive loses before a note is refused is not given back, and nobody drops what it has not."""
    notes = (draft(10_000 + number, kind=EventKind.ERASED) for number in itertools.count())
    return [(*step[:4], next(notes)) if step[0] == "erase" else step for step in done if step[0] != "drop"]


def assert_consistent(log: EventLog, seed: int) -> None:
    """Whatever part is asked for is that part of the whole."""
    whole = [event for owner in OWNERS[:2] for event in log.read(owner)]
    assert_readings_agree(log, whole, [*OWNERS[:2], Scope(user="alice", session="s1")], Random(seed))  # noqa: S311


@pytest.mark.parametrize("engine", ["memory", "sqlite"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(done=steps, seed=st.integers())
def test_it_reads_like_a_log_that_never_expired(engine: str, done: list[Any], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hot = InMemoryLog() if engine == "memory" else SqliteLog(Database(Path(folder) / "memory.db", power_safe=False))
        with closing(ArchivedLog(hot, InMemoryArchive())) as log:
            assert_the_same_after(with_notes_of_their_own(done), log)
            assert_consistent(log, seed)


@settings(max_examples=15)
@given(
    done=steps, broken=st.sampled_from(["put", "drop"]), when=st.sampled_from(["before", "after"]), anew=st.booleans(),
    seed=st.integers(),
)  # fmt: skip
def test_an_expiry_cut_short_changes_nothing_that_is_read(
    done: list[Any], broken: str, when: str, anew: bool, seed: int
) -> None:
    hot: Any = Line(InMemoryLog())
    archive = line_to_archive()
    log, plain = ArchivedLog(hot, archive), InMemoryLog()
    for step in with_notes_of_their_own(done):
        if step[0] == "expire":
            (archive if broken == "put" else hot).breaks[broken] = when, AWAY
            with suppress(StoreUnavailableError):
                log.expire(step[1], EVER, 2)
            archive.error = hot.error = None
            archive.breaks, hot.breaks = {}, {}
            log = ArchivedLog(hot, archive) if anew else log
        else:
            assert do(log, step) == do(plain, step), step
    for scope in (ALICE, BOB, Scope(user="alice", session="s1")):
        assert log.read(scope) == plain.read(scope)
        assert log.read(scope, limit=4, newest=True) == plain.read(scope, limit=4, newest=True)
        assert log.get(scope, ["e1", "e2", "e3"]) == plain.get(scope, ["e1", "e2", "e3"])
        assert log.count(scope, after=2) == plain.count(scope, after=2)
    for owner in (ALICE, BOB):
        log.expire(owner, EVER, 2)
    assert state(log) == state(plain)
    assert_consistent(log, seed)


# --- what expires ---


def test_sqlite_keeps_no_words_of_what_expired(
    open_store: OpenStore, found: Callable[[list[int]], list[tuple[str, int]]]
) -> None:
    store = open_store()
    store.name = "e{}".format  # the ids stay known
    store.say(list(range(40)))
    log = ArchivedLog(store.log, InMemoryArchive())
    gone = list(range(20))
    assert {number for _, number in found(gone)} == set(gone)
    assert log.expire(Scope(user="alice"), datetime.fromisoformat("2024-05-01T12:20:00+00:00"), 7) == 20
    log.scrub()
    assert found(gone) == []
    assert {number for _, number in found(list(range(20, 40)))} == set(range(20, 40))


# --- an archive that is away ---


def test_without_its_archive_the_hot_part_is_read_and_written_on(caplog: pytest.LogCaptureFixture) -> None:
    hot, archive = InMemoryLog(), line_to_archive()
    log = ArchivedLog(hot, archive, refresh=timedelta(0))
    at = fill(log, 10, session="s1")
    log.expire(ALICE, NOON + timedelta(minutes=5))
    whole = log.read(ALICE)
    archive.error = AWAY
    with caplog.at_level(logging.WARNING):
        assert log.read(ALICE, after=at[4]) == whole[5:]
    assert "away" in caplog.text
    assert log.read(ALICE, limit=5, newest=True) == whole[5:]
    assert log.read(ALICE, kinds=[EventKind.CLAIM]) == []
    assert log.get(Scope(user="alice", session="s1"), ["e7", "e8"]) == whole[7:9]
    assert log.append(ALICE, [draft(20)])[0].fresh
    assert not log.append(ALICE, [draft(1, session="s1")])[0].fresh
    assert log.heads(ALICE)[ALICE] > at[-1]
    for call in (
        lambda: log.read(ALICE),
        lambda: log.read(ALICE, limit=7, newest=True),
        lambda: log.read(ALICE, limit=1),
        lambda: log.get(ALICE, ["e1"]),
        lambda: log.count(ALICE),
        lambda: log.expire(ALICE, EVER),
        lambda: log.erase(ALICE, [at[1], at[7]], {}, note(0)),
    ):
        with pytest.raises(StoreUnavailableError, match="away"):
            call()
    assert [event.position for event in hot.read(ALICE, upto=at[-1])] == at[5:]
    archive.error = None
    assert log.read(ALICE, upto=at[-1]) == whole


def test_an_archive_that_was_never_seen_is_not_taken_for_empty() -> None:
    hot, archive = InMemoryLog(), line_to_archive()
    fill(hot, 4)
    ArchivedLog(hot, archive).expire(ALICE, EVER)
    log = ArchivedLog(hot, archive)
    archive.error = AWAY
    with pytest.raises(StoreUnavailableError):
        log.read(ALICE, limit=1, newest=True)
    assert log.read(ALICE, kinds=[EventKind.CLAIM]) == []
    archive.error = None
    assert len(log.read(ALICE)) == 4


# --- several at once ---


class Interrupted(InMemoryArchive):
    """An archive that lets somebody else act before or after a put."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def put(self, events: Sequence[Event]) -> None:
        self.before()
        super().put(events)
        self.after()


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_another_process_erases_during_an_expiry_does_not_come_back(when: str) -> None:
    hot, archive = InMemoryLog(), Interrupted()
    at = fill(hot, 6)
    here, there = ArchivedLog(hot, archive), ArchivedLog(hot, archive)
    setattr(archive, when, lambda: there.erase(ALICE, [at[1], at[4]], {at[2]: {"content": "new"}}, note(0)))
    here.expire(ALICE, NOON + timedelta(minutes=3))
    assert [event.id for event in archive.read(ALICE)] == ["e0", "e2"]
    for log in (here, there):
        assert [event.id for event in log.read(ALICE)] == ["e0", "e2", "e3", "e5", note(0).id]
        assert log.get(ALICE, ["e2"])[0].payload == {"content": "new"}
        assert not log.append(ALICE, [draft(2, payload={"content": "new"})])[0].fresh


def test_two_processes_may_expire_the_same_at_once() -> None:
    hot, archive = InMemoryLog(), Interrupted()
    fill(hot, 8)
    here, there = ArchivedLog(hot, archive), ArchivedLog(hot, archive)
    whole = here.read(ALICE)

    def other() -> None:
        archive.before = lambda: None
        there.expire(ALICE, EVER)

    archive.before = other
    here.expire(ALICE, EVER, 3)
    assert here.read(ALICE) == there.read(ALICE) == whole
    assert hot.count(ALICE) == 1


def test_a_reader_sees_every_event_at_every_moment_of_an_expiry() -> None:
    hot, archive = InMemoryLog(), Interrupted()
    fill(hot, 20)
    log, reader = ArchivedLog(hot, archive), ArchivedLog(hot, archive, refresh=timedelta(0))
    seen: list[list[str]] = []
    archive.before = archive.after = lambda: seen.append([event.id for event in reader.read(ALICE)])
    assert log.expire(ALICE, NOON + timedelta(minutes=12), 3) == 12
    assert seen == [[f"e{number}" for number in range(20)]] * 8
    assert log.read(ALICE) == reader.read(ALICE)
