"""What an engine sends with the state of a log answers as the log itself did at that moment."""

from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from hybrid_memory import EventKind, Scope
from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.log import moment
from hybrid_memory.log.moment import MomentLog, Tail
from hybrid_memory.log.port import Draft, LogState
from hybrid_memory.testing.drafts import ALICE, draft

KINDS = (EventKind.MESSAGE, EventKind.RECALLED, EventKind.CLAIM)
SESSIONS = ("s1", "s2", None)


class Sending(InMemoryLog):
    """A log that sends its newest events, which are read after its state.

    ``reads`` counts what it is asked besides, and ``between`` are events that others append between the two.
    """

    tail = Tail()
    reads = 0
    between: tuple[Draft, ...] = ()

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        state = super().state(owner, kinds)
        self.append(owner, self.between)
        self.between = ()
        newest = self.read(owner, after=max(self.tail.head - 1, 0), limit=moment.NEWEST, newest=True)
        self.tail = self.tail.then(newest, state.head)
        return replace(state, tail=self.tail)

    def read(self, scope: Scope, **which: Any) -> list[Any]:
        self.reads += 1
        return super().read(scope, **which)


def selection(chance: Random, head: int) -> dict[str, Any]:
    return {
        "after": chance.choice([0, 0, chance.randrange(head + 1), head]),
        "upto": chance.choice([None, None, chance.randrange(head + 1)]),
        "kinds": chance.choice([(), KINDS[:1], KINDS[1:]]),
        "limit": chance.choice([None, 1, 3]),
        "newest": chance.random() < 0.5,
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_moment_answers_as_the_log(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment, "NEWEST", 6)
    monkeypatch.setattr(moment, "KEPT", 12)
    chance, log = Random(seed), Sending()  # noqa: S311
    asked = 0
    for verb in range(120):
        for number in range(chance.choice([0, 1, 1, 2, 9])):
            kind = chance.choice(KINDS)
            log.append(ALICE, [draft(100 * verb + number, session=chance.choice(SESSIONS), kind=kind)])
        if verb and chance.random() < 0.1:
            gone = chance.choice(log.read(ALICE.owner)).position
            note = draft(100 * verb + 99, kind=EventKind.ERASED, payload={"positions": [[gone, gone]]})
            log.erase(ALICE, [gone], {}, note)
        others = range(100 * verb + 50, 100 * verb + 50 + chance.choice([0, 0, 0, 1, 7]))
        log.between = tuple(draft(number, session=chance.choice(SESSIONS)) for number in others)
        seen, last = MomentLog(log), log.heads(ALICE).get(ALICE.owner, 0)
        head = seen.state(ALICE, KINDS[1:]).head
        assert (head, seen.heads(ALICE)) == (last, {ALICE.owner: last} if last else {})
        for _ in range(6):
            scope, which = replace(ALICE, session=chance.choice(SESSIONS)), selection(chance, head)
            before = log.reads
            events = seen.read(scope, **which)
            alone = log.reads > before
            asked += alone
            if not alone:
                which["upto"] = head if which["upto"] is None else min(head, which["upto"])
            assert events == log.read(scope, **which), which
    assert asked < 540, "one in four is answered without the log, and as the log would"


def test_a_verb_sees_what_it_wrote_itself_and_until_then_one_moment() -> None:
    log = Sending()
    log.append(ALICE, [draft(1)])
    seen = MomentLog(log)
    assert seen.state(ALICE).head == 1
    log.append(ALICE, [draft(2)])
    assert ([event.id for event in seen.read(ALICE.owner)], seen.mark(ALICE, 2)) == (["e1"], log.mark(ALICE, 2))
    seen.append(ALICE, [draft(3)])
    assert [event.id for event in seen.read(ALICE.owner, after=0)] == ["e1", "e2", "e3"]
    assert seen.state(ALICE).head == 3


def test_nothing_remains_of_a_log_that_was_set_back() -> None:
    log, older = Sending(), InMemoryLog()
    log.append(ALICE, [draft(1), draft(2)])
    log.state(ALICE)
    older.append(ALICE, [draft(1), draft(9)])
    assert log.tail.then(older.read(ALICE.owner, after=1), 2).after == 1
    assert log.tail.then([], 2).events == []
