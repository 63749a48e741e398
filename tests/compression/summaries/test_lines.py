from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Line, Message, Role, Section
from hybrid_memory.context.summaries.lines import MAX_LINE_CHARS, candidates, chosen, cost, line_of, merged, prose
from hybrid_memory.text.tokens import estimate_tokens
from tests.compression.summaries.conftest import event, line, texts

HEADING = 5


def test_candidates_are_the_sentences_that_are_worth_a_line() -> None:
    span = [
        event(1, "Ok. My name is Nora Winter. Haha!"),
        event(2, "记住，我对花生过敏。好的。", name="小明"),
        event(3, '{"rows": 3, "name": "Nora"}', Role.TOOL, tool_call_id="c"),
        event(4, "```py\nname = 'My name is Tom'\n```\nWe decided to use the blue tiles.", Role.ASSISTANT),
    ]
    found = candidates(span, "light")
    assert texts(found) == [
        "user: My name is Nora Winter.",
        "小明: 记住，我对花生过敏。",
        "assistant: We decided to use the blue tiles.",
    ]
    assert [(each.first, each.last, each.sources) for each in found] == [
        (1, 1, ("e1",)),
        (2, 2, ("e2",)),
        (4, 4, ("e4",)),
    ]


def test_a_system_message_is_always_worth_a_line() -> None:
    (found,) = candidates([event(1, "Answer with short sentences.", Role.SYSTEM)], "off")
    assert found.importance >= 0.9


def test_a_long_line_is_cut() -> None:
    found = line_of(event(1, "x"), "word " * 200, Section.FACTS, 0.5)
    assert len(found.text) == MAX_LINE_CHARS
    assert found.text.endswith("…")


def test_prose_leaves_out_code_tags_and_media() -> None:
    image = {"type": "image", "data": "aGVsbG8="}
    text = "Look <b>here</b>.\n```js\nlet a = 1\n```\nAnd there."
    assert prose(Message(content=[{"type": "text", "text": text}, image])).split() == "Look here . And there.".split()
    assert "Line 500" not in prose(Message(content="\n".join(f"Line {number} of the log." for number in range(1000))))


WORDS = st.sampled_from("tiles bathroom river nora ghent invoice blue 12 2024 门 钥匙 蓝色".split())
LINES = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), st.sampled_from([0.3, 0.5, 0.9])), max_size=12
).map(lambda rows: [line(text, worth, position) for position, (text, worth) in enumerate(rows, start=1)])


@given(LINES, st.integers(0, 120))
def test_chosen_lines_fit_and_keep_their_order(lines: list[Line], budget: int) -> None:
    kept = chosen(lines, max_tokens=budget, count=estimate_tokens)
    assert sum(cost(each, estimate_tokens) for each in kept) <= budget
    rest = iter(lines)
    assert all(any(each is other for other in rest) for each in kept)
    assert chosen(kept, max_tokens=budget, count=estimate_tokens) == kept


@given(LINES)
def test_with_room_enough_each_different_line_is_kept_and_none_twice(lines: list[Line]) -> None:
    kept = chosen(lines, max_tokens=100_000, count=estimate_tokens)
    assert len({frozenset(each.text.split()) for each in kept}) == len(kept)
    assert bool(kept) == bool(lines)


def test_the_most_important_lines_come_first() -> None:
    lines = [line("the river is wide", 0.3, 1), line("the tiles are blue", 0.9, 2), line("nora lives in ghent", 0.9, 3)]
    room = sum(cost(each, estimate_tokens) for each in lines[1:]) + HEADING
    assert texts(chosen(lines, max_tokens=room, count=estimate_tokens)) == texts(lines[1:])


@pytest.mark.parametrize(("section", "winner"), [(Section.FACTS, 1), (Section.INTENT, 1), (Section.NEXT_STEPS, 9)])
def test_of_equal_lines_facts_stay_and_plans_move_on(section: Section, winner: int) -> None:
    same = [line(text, 0.5, at, section) for text, at in (("blue tiles", 1), ("green walls", 9))]
    room = cost(same[1], estimate_tokens) + HEADING
    assert [each.first for each in chosen(same, max_tokens=room, count=estimate_tokens)] == [winner]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("user: My name is Bob 3 and I live at 3 Main Street.", "user: My name is Bob 9 and I live at 9 Main Street."),
        (
            "user: The meeting with the tax office is moved to 15:00 in room 4 of the town hall.",
            "user: The meeting with the tax office is moved to 16:30 in room 4 of the town hall.",
        ),
        (
            "user: 和税务局的会议改到3月14日下午在市政厅二楼举行。",
            "user: 和税务局的会议改到3月21日下午在市政厅二楼举行。",
        ),
    ],
)
def test_a_new_value_is_never_taken_for_a_repetition_of_the_old_one(old: str, new: str) -> None:
    standing, fresh = [line(old, 0.9, 1)], [line(new, 0.9, 2)]
    assert new in texts(merged(standing, fresh, max_tokens=900, count=estimate_tokens))
    assert texts(chosen(fresh, max_tokens=900, count=estimate_tokens, besides=standing)) == [new]


def test_of_two_that_say_the_same_the_newer_stays() -> None:
    standing = [line("user: The tiles in the bathroom are blue.", 0.9, 1), line("user: The river is wide.", 0.9, 2)]
    fresh = [line("user: Tiles in the bathroom: blue!", 0.5, 7)]
    assert [each.first for each in merged(standing, fresh, max_tokens=900, count=estimate_tokens)] == [2, 7]
