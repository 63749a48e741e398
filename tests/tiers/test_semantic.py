from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Record, Scope
from hybrid_memory.index.derive import Derived, derive
from hybrid_memory.log.views import VisibleLog, joined, visible

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def event(position: int, *, session: str | None = "s1", after: timedelta = timedelta(0), **payload: Any) -> Event:
    return Event(
        position=position,
        id=f"e{position}",
        scope=Scope(user="alice", session=session),
        kind=EventKind.MESSAGE,
        at=NOON + after,
        payload={"content": f"text {position}", **payload},
    )


EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "session": st.sampled_from([None, "s1", "s2"]),
            "after": st.integers(-6, 6).map(lambda hours: timedelta(hours=hours, minutes=30)),
            "role": st.sampled_from(["user", "assistant", "system", "tool"]),
            "content": st.sampled_from(["words", "\x00\x01", "更多"]),
        }
    ),
    max_size=25,
).map(lambda parts: [event(position, **cast("Any", part)) for position, part in enumerate(parts, start=1)])


@given(EVENTS, st.lists(st.integers(0, 25), max_size=6))
def test_records_do_not_depend_on_how_the_log_is_cut(events: list[Event], cuts: list[int]) -> None:
    edges = sorted({0, len(events), *(cut for cut in cuts if cut < len(events))})
    tails: dict[str | None, Record] = {}
    pieces: list[Derived] = []
    for start, end in itertools.pairwise(edges):
        piece = derive(events[start:end], tails)
        tails.update({item.record.scope.session: item.record for item in piece})
        pieces += piece
    assert pieces == derive(events, {})


@given(EVENTS)
def test_ordinals_count_the_turns_of_a_segment(events: list[Event]) -> None:
    found: dict[int, list[Record]] = {}
    for item in derive(events, {}):
        found.setdefault(item.record.segment, []).append(item.record)
    for segment, records in found.items():
        assert records[0].id == segment
        assert [record.ordinal for record in records] == list(range(len(records)))
        assert len({record.scope for record in records}) == 1


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
    st.tuples(st.integers(1, 900), st.sampled_from([0, 0, 0, 1, 5, 99, 100, 300])).map(
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
