import itertools
from collections import Counter
from datetime import timedelta
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Message, Record, Role, Scope
from hybrid_memory.context.queue import Queue, Unit, cut, queue
from hybrid_memory.engines.in_memory import InMemoryLog
from hybrid_memory.index.derive import derive
from hybrid_memory.log.views import VisibleLog, joined, visible
from tests.world import NOON, assistant, calls, event, result, user


def system(text: str = "be brief") -> Message:
    return Message(role=Role.SYSTEM, content=text)


def queued(*messages: Message) -> Queue:
    return queue(event(row, message) for row, message in enumerate(messages, start=1))


NAMES = st.sampled_from(["a", "b", None])
MESSAGES = st.one_of(
    st.just(user()),
    st.just(assistant()),
    st.just(system()),
    st.lists(NAMES, min_size=1, max_size=3).map(lambda names: calls(*names)),
    NAMES.map(result),
    NAMES.map(result),
)


@given(st.lists(MESSAGES, max_size=16))
def test_every_message_is_in_one_unit_and_a_shown_unit_is_complete(history: list[Message]) -> None:
    found = queued(*history)
    units = [*found.instructions, *found.units]
    everything = sorted(event.position for unit in units for event in unit.events)
    assert everything == list(range(1, len(history) + 1))
    assert [unit.first for unit in units] == sorted(unit.first for unit in units)
    for unit in units:
        wanted = Counter(call.id for call in unit.messages[0].tool_calls)
        answers = Counter(message.tool_call_id for message in unit.messages[1:])
        assert {message.role for message in unit.messages[1:]} <= {Role.TOOL}
        assert unit.shown == (answers == wanted and unit.role is not Role.TOOL)
        assert not answers - wanted
        assert not (unit.pending and unit.shown)


@given(st.lists(MESSAGES, max_size=16))
def test_what_is_visible_begins_with_the_user_or_what_the_assistant_said_first(history: list[Message]) -> None:
    found = queued(*history)
    assert all(unit.shown for unit in found.visible)
    shown = [unit for unit in found.units if unit.shown]
    opened = next((row for row, unit in enumerate(shown) if unit.opens), len(shown))
    said_first = [unit for unit in shown[:opened] if [one.role for one in unit.messages] == [Role.ASSISTANT]]
    assert list(found.visible) == [*said_first, *shown[opened:]]
    assert found.rounds == sum(message.role is Role.USER for message in history)


@given(st.lists(MESSAGES, max_size=16))
def test_what_may_be_folded_lies_before_a_call_that_may_still_be_answered(history: list[Message]) -> None:
    found = queued(*history)
    assert not any(unit.pending for unit in found.evictable)
    rest = found.units[len(found.evictable) :]
    assert not rest or rest[0].pending
    for unit in found.units:
        if unit.pending:
            assert not any(message.role is Role.ASSISTANT for message in history[unit.first :])


UNITS = st.lists(st.sampled_from([user(), assistant(), calls("a")]), min_size=1, max_size=30)


@given(UNITS, st.data(), st.integers(1, 400), st.none() | st.integers(1, 8))
def test_a_cut_keeps_what_fits(history: list[Message], data: st.DataObject, budget: int, rounds: int | None) -> None:
    units = [Unit((event(row, message),)) for row, message in enumerate(history, start=1)]
    costs = data.draw(st.lists(st.integers(0, 90), min_size=len(units), max_size=len(units)))
    folded = cut(units, costs, max_tokens=budget, max_rounds=rounds)
    rest = units[folded:]
    assert rest, "the newest always stays"

    def fits(kept: list[Unit]) -> bool:
        turns = sum(unit.opens for unit in kept)
        return sum(costs[len(units) - len(kept) :]) <= budget and (rounds is None or turns <= rounds)

    assert fits(rest) or len(rest) == 1
    assert bool(folded) == (not fits(units) and len(units) > 1)
    if folded and not rest[0].opens:
        assert not fits(units[folded - 1 :]), "inside a round as few as possible go"


def event_at(position: int, *, session: str | None = "s1", after: timedelta = timedelta(0), **payload: Any) -> Event:
    return Event(
        position=position, id=f"e{position}", scope=Scope(user="alice", session=session), kind=EventKind.MESSAGE,
        at=NOON + after, payload={"content": f"text {position}", **payload},
    )  # fmt: skip


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
).map(lambda parts: [event_at(position, **cast("Any", part)) for position, part in enumerate(parts, start=1)])


@given(EVENTS, st.lists(st.integers(0, 25), max_size=6))
def test_records_do_not_depend_on_how_the_log_is_cut(events: list[Event], cuts: list[int]) -> None:
    edges = sorted({0, len(events), *(cut for cut in cuts if cut < len(events))})
    tails: dict[str | None, Record] = {}
    pieces: list[tuple[Record, Record | None]] = []
    for start, end in itertools.pairwise(edges):
        piece = derive(events[start:end], tails)
        tails.update({record.scope.session: record for record, _ in piece})
        pieces += piece
    assert pieces == derive(events, {})


@given(EVENTS)
def test_ordinals_count_the_turns_of_a_segment(events: list[Event]) -> None:
    found: dict[int, list[Record]] = {}
    for record, _ in derive(events, {}):
        found.setdefault(record.segment, []).append(record)
    for segment, records in found.items():
        assert records[0].id == segment
        assert [record.ordinal for record in records] == list(range(len(records)))
        assert len({record.scope for record in records}) == 1


ALICE = Scope(user="alice")
KINDS = [EventKind.MESSAGE, EventKind.COMPACTION]


ROWS = [
    Event(2 * row + 1, f"e{row}", ALICE, KINDS[row % 7 == 0], NOON + timedelta(hours=row), {}) for row in range(450)
]
LOG = InMemoryLog()
LOG.restore(ALICE, ROWS)


STRETCHES = st.lists(
    st.tuples(st.integers(1, 900), st.sampled_from([0, 0, 0, 1, 5, 99, 100, 300])).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    ),
    max_size=30,
).map(joined)


@given(
    STRETCHES, st.integers(0, 950), st.none() | st.integers(0, 950), st.none() | st.integers(0, 60), st.booleans(),
    st.sampled_from([(), (EventKind.COMPACTION,)]),
)  # fmt: skip
def test_a_read_gives_the_visible_events_and_no_others(  # noqa: PLR0917
    hidden: tuple[tuple[int, int], ...], after: int, upto: int | None, limit: int | None, newest: bool, kinds: Any
) -> None:  # fmt: skip
    expected = [
        event_at
        for event_at in ROWS
        if not any(first <= event_at.position <= last for first, last in hidden)
        and event_at.position > after
        and (upto is None or event_at.position <= upto)
        and (not kinds or event_at.kind in kinds)
    ]
    if limit is not None:
        expected = expected[max(0, len(expected) - limit) :] if newest else expected[:limit]
    assert (
        VisibleLog(LOG, hidden).read(ALICE, after=after, upto=upto, limit=limit, newest=newest, kinds=kinds) == expected
    )
    assert all(visible(event_at.position, hidden) for event_at in expected)
