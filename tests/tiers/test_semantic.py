from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Record, Scope
from hybrid_memory.index.derive import (
    CONTEXT_CHARS,
    PASSAGE_CHARS,
    SEGMENT_PAUSE,
    Derived,
    derive,
    index_terms,
    passage,
)

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


def test_a_record_says_what_its_event_says() -> None:
    (item,) = derive([event(7, role="assistant", name="Ann", importance=0.9, metadata={"a": [1]})], {})
    record = item.record
    assert (record.id, record.sources, record.scope) == (7, ("e7",), Scope(user="alice", session="s1"))
    assert (record.text, record.speaker, record.importance, record.metadata) == ("text 7", "Ann", 0.9, {"a": [1]})
    assert record.at == NOON
    assert item.previous is None


@pytest.mark.parametrize(
    ("pause", "together"),
    [(SEGMENT_PAUSE, True), (SEGMENT_PAUSE + timedelta(microseconds=1), False), (-2 * SEGMENT_PAUSE, False)],
)
def test_a_long_pause_begins_a_segment(pause: timedelta, together: bool) -> None:
    first, second = derive([event(1), event(2, after=pause)], {})
    assert second.record.segment == (1 if together else 2)
    assert (second.previous == first.record) is together


def test_instructions_and_wordless_messages_leave_no_record() -> None:
    events = [event(1, role="system"), event(2, role="tool", content=""), event(3, content="\x00\x1f")]
    assert derive(events, {}) == []


def test_characters_that_no_index_holds_are_blanked() -> None:
    (item,) = derive([event(1, content="one\x00two\x1b\ttab\nline\r")], {})
    assert item.record.text == "one two \ttab\nline"


def test_a_passage_holds_the_turn_behind_what_it_answers() -> None:
    first, second = derive([event(1, content="Is it raining?"), event(2, role="assistant", content="Yes.")], {})
    assert "user: Is it raining?" in passage(first.record, first.previous)
    before, answer, _ = passage(second.record, second.previous).partition("assistant: Yes.")
    assert answer
    assert "Is it raining?" in before


def test_the_words_of_a_turn_are_its_own() -> None:
    said = [event(1, content="The alarm code is 4471."), event(2, role="assistant", content="Alright.")]
    assert [index_terms(item.record) for item in derive(said, {})] == ["user alarm code 4471", "assist alright"]


def test_a_passage_of_a_huge_turn_is_bounded() -> None:
    first, second = derive([event(1, content="a" * 1_000_000), event(2, content="b" * 1_000_000)], {})
    assert len(passage(second.record, first.record)) < CONTEXT_CHARS + PASSAGE_CHARS + 100


def test_what_stands_too_far_back_to_be_embedded_is_indexed_by_its_words() -> None:
    (turn,) = derive([event(1, content="We walked along the river. " * 60 + "The code is 4471.")], {})
    assert "4471" not in passage(turn.record, turn.previous)
    assert "4471" in index_terms(turn.record).split()


@pytest.mark.parametrize("line", ["Caroline: hello", "Dr. Ana Smith: hello", "小王：你好", "elise: hi"])
def test_a_speaker_in_front_of_the_text_is_the_speaker(line: str) -> None:
    first, second = derive([event(1, content="Melanie: how are you?"), event(2, content=line)], {})
    assert passage(second.record, second.previous) == (f"<message role='user'>{first.record.text}\n{line}</message>")


@pytest.mark.parametrize(
    "line",
    [
        "Our nightly import fails with E4127: two loggers disagree",
        "我今天买了三样东西：苹果、梨和桃子",
        "12:30 is fine",
    ],
)
def test_a_clause_before_a_colon_is_no_speaker(line: str) -> None:
    _, second = derive([event(1, content="hello there"), event(2, content=line)], {})
    assert passage(second.record, second.previous) == f"<message role='user'>user: {line}</message>"
