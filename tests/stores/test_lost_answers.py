"""Appends to a server's log whose answer is lost: they are done once, and told as if it had come."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from redis.exceptions import ConnectionError as LostConnectionError

from hybrid_memory import EventKind
from hybrid_memory.engines.postgres import PostgresConnection, PostgresLog
from hybrid_memory.engines.redis import RedisConnection, RedisLog
from hybrid_memory.errors import IdConflictError
from hybrid_memory.testing.drafts import ALICE, draft

Log = PostgresLog | RedisLog


@pytest.fixture(params=["postgres", "redis"])
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    """A log with one event, on a server that has its scripts."""
    url = request.getfixturevalue(f"{request.param}_url")
    log = RedisLog(RedisConnection(url)) if request.param == "redis" else PostgresLog(PostgresConnection(url))
    log.append(ALICE, [draft(1)])
    log.erase(ALICE, [99], {}, draft(2, kind=EventKind.ERASED))
    yield log
    log.close()


@pytest.fixture
def lose(log: Log, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
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
def test_an_append_is_there_once(log: Log, lose: Callable[[], list[int]], fixed: bool) -> None:
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


def test_an_erasure_is_done_once(log: Log, lose: Callable[[], list[int]]) -> None:
    at = log.append(ALICE, [draft(10), draft(11)])[0].position
    lost = lose()
    note = log.erase(ALICE, [at], {}, draft(20, fixed=False, kind=EventKind.ERASED))
    assert (lost, note.fresh) == ([1], True)
    assert [event.id for event in log.read(ALICE)] == ["e1", "e2", "e11", "e20"]
