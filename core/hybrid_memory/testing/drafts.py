"""Events for the log and archive suites, and how to compare what is read back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft, EventLog, Readable, Selection
from hybrid_memory.scope import Scope

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Scope(user="alice")
OWNERS = [
    ALICE,
    Scope(user="bob"),
    Scope(user="Alice"),
    Scope(user="alice "),
    Scope(tenant="alice"),
    Scope(agent="alice"),
    Scope(tenant="acme", user="alice"),
    Scope(user="alice", agent="coach"),
    Scope(tenant="acme", user="alice", agent="coach"),
    Scope(space="alice"),
    Scope(tenant="acme", space="alice"),
    Scope(user="caf\u00e9"),
    Scope(user="cafe\u0301"),
]
"""Owners that a careless engine would confuse."""


def draft(number: int, *, session: str | None = None, fixed: bool = True, **fields: Any) -> Draft:
    """A draft with the id ``e<number>``, dated that many minutes after noon."""
    values: dict[str, Any] = {"at": NOON + timedelta(minutes=number), "payload": {"content": f"text {number}"}}
    values["kind"] = EventKind.MESSAGE
    return Draft(id=f"e{number}", fixed_id=fixed, session=session, **{**values, **fields})


def archived(position: int, scope: Scope = ALICE, **fields: Any) -> Event:
    """An event with the id ``e<position>``, dated that many minutes after noon."""
    values = {"at": NOON + timedelta(minutes=position % 100_000), "payload": {"content": f"text {position}"}}
    return Event(
        **{"position": position, "id": f"e{position}", "scope": scope, "kind": EventKind.MESSAGE, **values, **fields}
    )


def appended(log: EventLog, owner: Scope, *numbers: int, **fields: Any) -> list[int]:
    """Append these drafts and return their positions."""
    return [done.position for done in log.append(owner, [draft(number, **fields) for number in numbers])]


def assert_readings_agree(log: Readable, written: Sequence[Event], scopes: Sequence[Scope], chance: Random) -> None:
    """Assert that reads agree with a plain list of the events, for every combination of arguments."""
    instants = [None, NOON, NOON + timedelta(microseconds=2), NOON + timedelta(days=1)]
    positions = [event.position for event in written]
    for scope, since, until in itertools.product(scopes, instants, instants):
        after, upto = chance.choice([0, *positions]), chance.choice([None, 0, 2**62, *positions])
        kinds = chance.sample([EventKind.MESSAGE, EventKind.CLAIM, EventKind.ITEM], chance.randrange(3))
        ids = chance.choice([None, None, [event.id for event in chance.sample(written, len(written) // 2)]])
        expected = [
            event
            for event in written
            if (event.scope if scope.session else event.scope.owner) == scope
            and event.position > after
            and (upto is None or event.position <= upto)
            and (not kinds or event.kind in kinds)
            and (ids is None or event.id in ids)
            and (since is None or event.at >= since)
            and (until is None or event.at < until)
        ]
        asked = Selection(after=after, upto=upto, kinds=kinds, ids=ids, since=since, until=until)
        for limit in (0, 1, 7, 1000, None):
            first = replace(asked, limit=limit)
            assert log.read(scope, **first.asked()) == expected[:limit], first
            newest = expected if limit is None else expected[max(0, len(expected) - limit) :]
            assert log.read(scope, **replace(first, newest=True).asked()) == newest, first
        assert log.count(scope.owner, after=after) == sum(
            event.scope.owner == scope.owner and event.position > after for event in written
        )
    heads: dict[Scope, int] = {}
    for event in written:
        heads[event.scope.owner] = max(event.position, heads.get(event.scope.owner, 0))
    assert log.heads() == heads
    for scope in scopes:
        assert log.heads(scope) == {owner: head for owner, head in heads.items() if owner == scope.owner}
    sessions = {event.scope for event in written if event.scope.session or event.kind is EventKind.MESSAGE}
    size = log.size()
    assert (size.owners, size.sessions, size.events) == (len(heads), len(sessions), len(written))


NAMES = [
    *("a'b", 'a"b', "a\\b", "a\\'b", "a`b", "a:b", "a|b", "a b", "a\tb", "a\nb", "\n", "\\N", "0", "-", "*", "%", "%s"),
    *("{a}", "}{", "{a:String}", "@owner:{x}", '" or owner != "', "你 好", "猫", "é", "e\u0301", "é🙂", "x" * 500),
]
"""Parts of scopes, and ids, that break careless queries."""
