"""A log without what is hidden, whatever is hidden in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.log.views import SHORT, VisibleLog, joined, visible

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ALICE = Scope(user="alice")
KINDS = [EventKind.MESSAGE, EventKind.COMPACTION]


class Log:
    """Events at the positions 1, 3, 5, ...; counts how often it is read."""

    def __init__(self, size: int) -> None:
        self.events = [
            Event(2 * row + 1, f"e{row}", ALICE, KINDS[row % 7 == 0], NOON + timedelta(hours=row), {})
            for row in range(size)
        ]
        self.reads = 0

    def read(self, scope: Scope, *, after: int = 0, upto: int | None = None, limit: int | None = None, newest: bool = False, kinds: Any = (), **_: Any) -> list[Event]:  # fmt: skip # noqa: E501
        assert scope == ALICE
        self.reads += 1
        found = [e for e in self.events if e.position > after and (upto is None or e.position <= upto)]
        found = [e for e in found if not kinds or e.kind in kinds]
        if limit is None:
            return found
        return found[max(0, len(found) - limit) :] if newest else found[:limit]


STRETCHES = st.lists(
    st.tuples(st.integers(1, 900), st.sampled_from([0, 0, 0, 1, 5, SHORT - 1, SHORT, 300])).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
    max_size=30,
).map(joined)


@given(
    STRETCHES,
    st.integers(0, 950),
    st.none() | st.integers(0, 950),
    st.none() | st.integers(0, 60),
    st.booleans(),
    st.sampled_from([(), (EventKind.COMPACTION,)]),
)
def test_a_read_gives_the_visible_events_and_no_others(  # noqa: PLR0917
    hidden: tuple[tuple[int, int], ...], after: int, upto: int | None, limit: int | None, newest: bool, kinds: Any
) -> None:  # fmt: skip
    log = Log(450)
    expected = [
        event
        for event in log.events
        if not any(first <= event.position <= last for first, last in hidden)
        and event.position > after
        and (upto is None or event.position <= upto)
        and (not kinds or event.kind in kinds)
    ]
    if limit is not None:
        expected = expected[max(0, len(expected) - limit) :] if newest else expected[:limit]
    seen = VisibleLog(log, hidden)  # type: ignore[arg-type]
    assert seen.read(ALICE, after=after, upto=upto, limit=limit, newest=newest, kinds=kinds) == expected
    assert all(visible(event.position, hidden) for event in expected)


def test_many_hidden_messages_cost_few_reads() -> None:
    log = Log(3000)
    seen = VisibleLog(log, joined((4 * row + 1, 4 * row + 1) for row in range(1400)))  # type: ignore[arg-type]
    assert len(seen.read(ALICE)) == 1600
    assert log.reads == 1
    assert len(seen.read(ALICE, limit=10, newest=True)) == 10
    assert len(seen.read(ALICE, limit=10)) == 10
    assert log.reads <= 6
