from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Line, Message, Role, Scope, Section, ToolCall
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.queue import Queue, QueueState, Unit, cut, queue
from hybrid_memory.context.summary import Audit

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SCOPE = Scope(user="a", session="s")


def user(text: str = "q") -> Message:
    return Message(content=text)


def assistant(text: str = "a") -> Message:
    return Message(role=Role.ASSISTANT, content=text)


def system(text: str = "be brief") -> Message:
    return Message(role=Role.SYSTEM, content=text)


def calls(*names: str | None) -> Message:
    return Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name="f", id=name) for name in names])


def result(name: str | None, text: str = "r") -> Message:
    return Message(role=Role.TOOL, content=text, tool_call_id=name)


def event(position: int, message: Message) -> Event:
    payload = message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})
    return Event(position, f"e{position}", SCOPE, EventKind.MESSAGE, NOON, payload)


def recalled(position: int, query: str, text: str, **more: Any) -> Event:
    payload = {"query": query, "text": text, **more}
    return Event(position, f"n{position}", SCOPE, EventKind.RECALLED, NOON, payload, sources=("x",))


def queued(*messages: Message) -> Queue:
    return queue(event(row, message) for row, message in enumerate(messages, start=1))


def positions(units: tuple[Unit, ...]) -> list[list[int]]:
    return [[event.position for event in unit.events] for unit in units]


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


def test_an_exchange_is_one_unit_whatever_the_order_of_its_results() -> None:
    found = queued(user(), calls("a", "b", None), result(None), result("b"), result("a"), assistant())
    assert positions(found.units) == [[1], [2, 3, 4, 5], [6]]
    assert all(unit.shown for unit in found.units)


def test_a_second_result_stands_alone_and_is_not_shown() -> None:
    found = queued(user(), calls("a", "b"), result("a"), result("a"), result("b"))
    assert positions(found.units) == [[1], [2, 3, 5], [4]]
    assert [unit.shown for unit in found.units] == [True, True, False]


def test_calls_are_pending_until_the_assistant_goes_on_without_their_results() -> None:
    waiting = queued(user(), calls("a", "b"), result("a"), user())
    assert [unit.pending for unit in waiting.units] == [False, True, False]
    given_up = queued(user(), calls("a", "b"), result("a"), user(), assistant())
    assert [unit.pending for unit in given_up.units] == [False] * 4
    assert [unit.shown for unit in given_up.units] == [True, False, True, True]


def test_leading_system_messages_are_instructions_and_later_ones_are_not() -> None:
    found = queued(system("one"), system("two"), user(), system("three"), assistant())
    assert [unit.messages[0].text for unit in found.instructions] == ["one", "two"]
    assert positions(found.units) == [[3], [4], [5]]


def test_a_note_stays_with_the_turn_that_it_was_recalled_for() -> None:
    events = [
        event(1, user("first")),
        recalled(2, "first", "note of the first", turn="e1"),
        event(3, assistant()),
        recalled(4, "second", "note of the second"),
        event(5, user("second")),
        recalled(6, "third", "note of the third"),
    ]
    found = queue(events)
    assert [unit.note for unit in found.units] == ["note of the first", None, "note of the second"]
    assert found.units[0].recalled == ("x",)
    assert dict(found.waiting) == {"third": "note of the third"}


def test_a_note_for_words_that_were_never_said_is_dropped() -> None:
    found = queue([recalled(1, "another", "note"), event(2, user("said")), event(3, user("another"))])
    assert [unit.note for unit in found.units] == [None, None]
    assert dict(found.waiting) == {}


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


def test_a_cut_falls_between_rounds_where_enough_is_left() -> None:
    history = [user(), assistant(), user(), assistant(), user(), assistant()]
    units = [Unit((event(row, message),)) for row, message in enumerate(history, start=1)]
    assert cut(units, [10] * 6, max_tokens=35) == 4
    assert cut(units, [10] * 6, max_tokens=60) == 0
    assert cut(units, [10, 10, 30, 20, 2, 5], max_tokens=35) == 3, "most of it would stay empty"
    assert cut(units, [10] * 6, max_tokens=100, max_rounds=2) == 2


def test_the_state_comes_back_from_its_event() -> None:
    lines = (Line(Section.FACTS, "她住在苏州。", ("e1", "e2"), 1, 4, 0.9, 0.5), Line(Section.NOTES, "n", ("e3",), 3, 3))
    state = QueueState(
        number=7,
        cursor=12,
        kept=(1, 2),
        anchor=9,
        lines=lines,
        ledger=Ledger(),
        stretches=((3, 8), (9, 12)),
        audit=Audit(compactions=2, items=3, in_summary=2, in_log=1, coverage=0.75, lines=2, fallbacks=1, filled=1),
        latest=Audit(compactions=1),
        strategy="anchored",
    )
    written = Event(20, "queue:7", SCOPE, EventKind.COMPACTION, NOON, state.as_payload())
    assert QueueState.of(written) == state


def test_a_session_without_a_state_begins_at_the_beginning_and_a_reset_at_its_place() -> None:
    assert QueueState.of(None) == QueueState()
    state = QueueState.of(Event(9, "queue:3", SCOPE, EventKind.RESET, NOON, {"kept": [2, 5]}))
    assert (state.number, state.cursor, state.kept, state.lines, state.stretches) == (3, 9, (2, 5), (), ())
