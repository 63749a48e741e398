from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.context.queue import Queue, Unit, cut, queue
from tests.world import assistant, calls, event, result, user


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
