"""Events for the log and archive suites, and checks that suites share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft, EventLog, Readable, Selection
from hybrid_memory.scope import Scope

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Scope(user="alice")
OWNERS = [
    *(Scope(user=name) for name in ("alice", "bob", "Alice", "alice ", "caf\u00e9", "cafe\u0301")),
    *(Scope(**{part: "alice"}) for part in ("tenant", "agent", "space")),
    *(Scope(tenant="acme", **{part: "alice"}) for part in ("user", "space")),
    *(Scope(tenant=tenant, user="alice", agent="coach") for tenant in (None, "acme")),
]
"""Owners that a careless engine would confuse."""


def draft(number: int, *, session: str | None = None, fixed: bool = True, **fields: Any) -> Draft:
    """A draft with the id ``e<number>``, dated that many minutes after noon."""
    at, payload = NOON + timedelta(minutes=number % 100_000), {"content": f"text {number}"}
    values: dict[str, Any] = {"kind": EventKind.MESSAGE, "at": at, "payload": payload}
    return Draft(id=f"e{number}", fixed_id=fixed, session=session, **{**values, **fields})


def event_of(made: Draft, owner: Scope, position: int) -> Event:
    """The event that a draft becomes at this position."""
    scope = replace(owner, session=made.session)
    return Event(position, made.id, scope, made.kind, made.at, made.payload, made.sources, made.author)


def archived(position: int, scope: Scope = ALICE, **fields: Any) -> Event:
    """An event with the id ``e<position>``, dated that many minutes after noon."""
    return replace(event_of(draft(position), scope, position), **{"scope": scope, **fields})


def appended(log: EventLog, owner: Scope, *numbers: int, **fields: Any) -> list[int]:
    """Append these drafts and return their positions."""
    return [done.position for done in log.append(owner, [draft(number, **fields) for number in numbers])]


def _is_of(event: Event, scope: Scope) -> bool:
    return (event.scope if scope.session else event.scope.owner) == scope


def assert_readings_agree(
    log: Readable, written: Sequence[Event], scopes: Sequence[Scope] = (ALICE,), chance: Random | None = None
) -> None:
    """Assert that reads agree with a list of the events, by position, for every combination of arguments."""
    chance = chance or Random(0)  # noqa: S311 - for tests
    instants = [None, NOON, NOON + timedelta(microseconds=2), NOON + timedelta(days=1)]
    positions = [position for event in written for position in (event.position - 1, event.position)]
    for scope, since, until in itertools.product(scopes, instants, instants):
        after, upto = chance.choice([0, *positions]), chance.choice([None, 0, 2**62, *positions])
        kinds = chance.sample([EventKind.MESSAGE, EventKind.CLAIM, EventKind.ITEM], chance.randrange(3))
        ids = chance.choice([None, None, [event.id for event in chance.sample(written, len(written) // 2)]])
        mine = [event for event in written if _is_of(event, scope)]
        asked = Selection(after=after, upto=upto, kinds=kinds, ids=ids, since=since, until=until)
        for limit, newest in itertools.product((0, 1, 7, 1000, None), (False, True)):
            which = replace(asked, limit=limit, newest=newest)
            assert log.read(scope, **which.asked()) == which.of(mine), which
        assert log.count(scope.owner, after=after) == sum(
            event.scope.owner == scope.owner and event.position > after for event in written
        )
    heads = {event.scope.owner: event.position for event in written}
    assert log.heads() == heads
    for scope in scopes:
        ids = ["no such", *(event.id for event in reversed(written))]
        assert log.get(scope, []) == []
        assert log.get(scope, [*ids, *ids]) == [event for event in written if _is_of(event, scope)]
        assert log.heads(scope) == {owner: head for owner, head in heads.items() if owner == scope.owner}
    sessions = {event.scope for event in written if event.scope.session or event.kind is EventKind.MESSAGE}
    size = log.size()
    assert (size.owners, size.sessions, size.events) == (len(heads), len(sessions), len(written))


def assert_closed(closed: Readable | SemanticIndex, *calls: Callable[[], object]) -> None:
    """Close it twice, and assert that each of these calls says so."""
    closed.close()
    closed.close()
    for call in calls:
        with pytest.raises(MemoryClosedError):
            call()


def check_during(check: Callable[[], object], *jobs: Callable[[], object], readers: int = 1) -> None:
    """Run the jobs in threads, and the check in other ones, again and again until the jobs are done."""
    with ThreadPoolExecutor(max_workers=len(jobs) + readers) as pool:
        running = [pool.submit(job) for job in jobs]
        while not all(job.done() for job in running):
            list(pool.map(lambda _: check(), range(readers)))
        for job in running:
            job.result()


NAMES = [
    *("a'b", 'a"b', "a\\b", "a\\'b", "a`b", "a:b", "a|b", "a b", "a\tb", "a\nb", "\n", "\\N", "0", "-", "*", "%", "%s"),
    *("{a}", "}{", "{a:String}", "@owner:{x}", '" or owner != "', "你 好", "猫", "é", "e\u0301", "é🙂", "x" * 500),
]
"""Parts of scopes, and ids, that break careless queries."""
