"""The engines do the same, whatever is asked of them in whatever order."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as LostConnectionError

from hybrid_memory import EventKind, RecordKind
from hybrid_memory.engines.in_memory import InMemoryIndex, InMemoryLog
from hybrid_memory.engines.postgres import PostgresLog
from hybrid_memory.engines.redis import RedisLog
from hybrid_memory.errors import IdConflictError
from hybrid_memory.index.record import Where
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.ports import Draft, EventLog, RecordColumns, SemanticIndex
from hybrid_memory.testing.corpus import ALICE, BOB, DIM, START, assert_same_ranking, ids, random_corpus, unit
from hybrid_memory.testing.drafts import NOON, OWNERS, draft
from tests.stores.conftest import OpenEngine

SIZE = 240
ALL = 10 * SIZE

payloads = st.dictionaries(st.sampled_from("abc"), st.text(max_size=4) | st.integers(-3, 3) | st.none(), max_size=2)
drafts = st.builds(
    Draft,
    id=st.sampled_from([f"e{number}" for number in range(8)]),
    fixed_id=st.booleans(),
    session=st.sampled_from([None, "s1"]),
    kind=st.sampled_from([EventKind.MESSAGE, EventKind.CLAIM]),
    at=st.sampled_from([NOON, NOON + timedelta(days=1)]),
    payload=payloads,
    sources=st.just(("x", "y")),
    author=st.sampled_from(["", "user bob"]),
)
owners = st.sampled_from(OWNERS[:2])
marks = st.lists(st.integers(0, 12), max_size=4)
steps = st.lists(
    st.tuples(st.just("append"), owners, st.lists(drafts, max_size=4))
    | st.tuples(st.just("erase"), owners, marks, st.dictionaries(st.integers(0, 12), payloads, max_size=2), drafts)
    | st.tuples(st.just("drop"), owners, marks)
    | st.tuples(st.just("expire"), owners, st.integers(0, 3), st.integers(1, 3))
    | st.tuples(st.just("scrub")),
    max_size=12,
)


def do(log: EventLog, step: Any) -> Any:
    """What a step tells, apart from positions, which may have other gaps in every engine."""
    if step[0] == "scrub":
        return log.scrub()
    if step[0] == "expire":  # of an archived log alone; the others keep everything
        if isinstance(log, ArchivedLog):
            log.expire(step[1], NOON + timedelta(hours=12 * step[2]), step[3])
        return None
    try:
        if step[0] == "append":
            return [(done.id, done.fresh) for done in log.append(step[1], step[2])]
        everybody = [event.position for owner in OWNERS[:2] for event in log.read(owner)]
        at = dict(enumerate(everybody))
        if step[0] == "drop":
            return log.drop(step[1], [at.get(mark, 10**9) for mark in step[2]])
        rewritten = {at[mark]: payload for mark, payload in step[3].items() if mark in at}
        done = log.erase(step[1], [at.get(mark, 10**9) for mark in step[2]], rewritten, step[4])
    except IdConflictError:
        return "taken"
    return (done.id, done.fresh)


def state(log: EventLog) -> Any:
    """Everything that it holds, in order."""
    events = [[replace(event, position=0) for event in log.read(owner)] for owner in OWNERS[:2]]
    positions = [event.position for owner in OWNERS[:2] for event in log.read(owner)]
    assert len(set(positions)) == len(positions)
    assert log.heads() == {owner: log.read(owner)[-1].position for owner in OWNERS[:2] if log.read(owner)}
    size = log.size()
    return events, [log.count(owner) for owner in OWNERS[:2]], size.events, size.sessions


def assert_the_same_after(done: list[Any], log: EventLog) -> None:
    oracle = InMemoryLog()
    given_out: set[int] = set()
    for step in done:
        assert do(oracle, step) == do(log, step)
        assert state(oracle) == state(log)
        new = {event.position for owner in OWNERS[:2] for event in log.read(owner)} - given_out
        assert min(new, default=10**9) > max(given_out, default=0), "a position was given out again"
        given_out |= new


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "redis"])
@settings(max_examples=40)
@given(done=steps)
def test_logs_agree_with_the_oracle_after_any_steps(engine_of: OpenEngine, engine: str, done: list[Any]) -> None:
    with closing(engine_of(engine).log()) as log:
        assert_the_same_after([step for step in done if engine != "redis" or step[0] != "scrub"], log)


@pytest.mark.parametrize("engine", ["postgres", "redis"])
def test_many_writers_append_at_once_and_a_follower_misses_nothing(engine_of: OpenEngine, engine: str) -> None:
    """A position lower than one that was seen is never seen later, though numbers are given out side by side."""
    clients, threads, batches, size = 2, 6, 10, 3
    reader, *logs = (engine_of(engine, f"followed_by_{engine}").log() for _ in range(1 + clients))
    owner, followed = OWNERS[0], list[tuple[int, str]]()

    def write(client: int, thread: int) -> None:
        for batch in range(batches):
            first = 10_000 * client + 1_000 * thread + size * batch
            logs[client].append(owner, [draft(first + n, session=f"s{client}-{thread}") for n in range(size)])
            logs[client].append(OWNERS[thread % len(OWNERS)], [draft(first)])

    def follow() -> None:
        events = reader.read(owner, after=followed[-1][0] if followed else 0)
        followed.extend((event.position, event.id) for event in events)

    with ThreadPoolExecutor(max_workers=clients * threads) as pool:
        writing = [pool.submit(write, client, thread) for client in range(clients) for thread in range(threads)]
        while not all(job.done() for job in writing):
            follow()
        for job in writing:
            job.result()
    follow()
    assert followed == [(event.position, event.id) for event in reader.read(owner)]
    for client in range(clients):
        for thread in range(threads):
            mine = [event.id for event in reader.read(replace(owner, session=f"s{client}-{thread}"))]
            assert mine == [f"e{10_000 * client + 1_000 * thread + n}" for n in range(batches * size)]
    for log in (reader, *logs):
        log.close()


stretches = st.lists(st.tuples(st.integers(-5, SIZE + 20), st.integers(-5, SIZE + 20) | st.just(2**62)), max_size=6)
instants = st.integers(0, 48).map(lambda hours: START + timedelta(hours=hours))
labels = st.sampled_from(["turn", "fact", "task", "preference", "no such", "a|b} @owner:{*"])
conditions = st.builds(
    Where,
    scope=st.sampled_from([ALICE, BOB, replace(ALICE, session="s1")]),
    kinds=st.sampled_from([frozenset[RecordKind](), frozenset({RecordKind.FACT})]),
    categories=st.sampled_from([frozenset[str](), frozenset({"task", "x} | @kind:{turn"})]),
    since=st.none() | instants,
    until=st.none() | instants,
    hidden=stretches.map(tuple),
    fresh=st.dictionaries(labels, instants, max_size=3),
    metadata=st.dictionaries(st.just("value"), st.sampled_from([True, 1, "1", None, "é"]), max_size=1),
)


@pytest.fixture(scope="module", params=["sqlite", "postgres", "redis"])
def engines(request: pytest.FixtureRequest, engine_of: OpenEngine) -> Iterator[tuple[SemanticIndex, SemanticIndex]]:
    """The oracle and another engine, filled alike."""
    with closing(engine_of(request.param).index()) as index:
        oracle = InMemoryIndex()
        for engine in (oracle, index):
            random_corpus(11, SIZE).fill(engine)
        yield oracle, index


@settings(max_examples=40)
@given(where=conditions, asked=st.lists(st.integers(1, SIZE), max_size=10), radius=st.integers(0, 2))
def test_indexes_agree_on_every_condition(
    engines: tuple[SemanticIndex, SemanticIndex], where: Where, asked: list[int], radius: int
) -> None:
    oracle, index = engines
    vector = unit(np.arange(DIM) - 3)
    assert_same_ranking(index.search(vector, where, 7), oracle.search(vector, where, ALL), 7, where)
    words = ["berlin", "猫", "marathon"]
    assert_same_ranking(index.search(words, where, 7), oracle.search(words, where, ALL), 7, where)
    assert index.latest(where, 7).tolist() == oracle.latest(where, 7).tolist()
    here, there = index.columns(ids(*asked), where, radius), oracle.columns(ids(*asked), where, radius)
    for column in fields(RecordColumns):
        np.testing.assert_allclose(getattr(here, column.name), getattr(there, column.name), rtol=1e-12)


@pytest.fixture(params=["postgres", "redis"])
def log(request: pytest.FixtureRequest, engine_of: OpenEngine) -> Iterator[EventLog]:
    """A log with one event, on a server that has its scripts."""
    log = engine_of(request.param).log()
    log.append(ALICE, [draft(1)])
    log.erase(ALICE, [99], {}, draft(2, kind=EventKind.ERASED))
    yield log
    log.close()


@pytest.fixture
def lose(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Has the server do its next work without the client's hearing of it; the list counts how often."""
    home, name = (log._connection._client, "evalsha") if isinstance(log, RedisLog) else (PostgresLog, "_appended")
    run: Callable[..., Any] = getattr(home, name)

    def lose() -> list[int]:
        lost: list[int] = []

        def deaf(*given: Any, **named: Any) -> Any:
            monkeypatch.setattr(home, name, run)
            run(*given, **named)
            lost.append(1)
            if isinstance(log, RedisLog):
                raise LostConnectionError("the answer was lost")
            given[1].commit()
            raise psycopg.OperationalError("the answer was lost")

        monkeypatch.setattr(home, name, deaf)
        return lost

    return lose


@pytest.mark.parametrize("fixed", [True, False])
def test_an_append_whose_answer_was_lost_is_there_once(
    log: EventLog, lose: Callable[[], list[int]], fixed: bool
) -> None:
    drafts = [draft(number, fixed=fixed) for number in range(10, 15)]
    # Postgres takes what was there before the call for its own too.
    known = [] if not fixed else [drafts[0], draft(1)] if isinstance(log, RedisLog) else drafts[:1]
    lost = lose()
    appended = log.append(ALICE, [*drafts, *known])
    assert lost == [1]
    assert [one.fresh for one in appended] == [True] * 5 + [False] * len(known)
    events = log.read(ALICE)
    assert [event.id for event in events] == ["e1", "e2", *(one.id for one in drafts)]
    assert [event.position for event in events[2:]] == [one.position for one in appended[:5]]
    if not fixed:
        with pytest.raises(IdConflictError):
            log.append(ALICE, drafts[:1])


def test_an_erasure_whose_answer_was_lost_is_done_once(log: EventLog, lose: Callable[[], list[int]]) -> None:
    at = log.append(ALICE, [draft(10), draft(11)])[0].position
    lost = lose()
    note = log.erase(ALICE, [at], {}, draft(20, fixed=False, kind=EventKind.ERASED))
    assert (lost, note.fresh) == ([1], True)
    assert [event.id for event in log.read(ALICE)] == ["e1", "e2", "e11", "e20"]
