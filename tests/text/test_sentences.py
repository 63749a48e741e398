from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.sentences import blocks, sentences
from tests.doubles import assert_linear

BITS = st.sampled_from(
    [
        *"a|B|Dr|e.g|3.5|1|你|好|.|!|?|...|…|。|！|；|\"|“|”|「|」|'|)".split("|"),
        *"`|```|~~~| |  |\n|\t|\u3000|\r\n|\x85|：|- |1. |".split("|"),
    ]
)
MIXED = st.lists(BITS, max_size=30).map("".join)


@pytest.mark.parametrize(
    "pieces",
    [
        ["I moved.", "Really?", "Yes!!", "and it was fun."],
        ["Dr. Smith met J. Doe of the U.S. Army at 5 p.m. today, e.g. for tea.", "Then he left."],
        ["It costs 3.50 in v1.2.3, see https://a.example/b?c=d!e and main.py.", "Done."],
        ["No. 5 is alive.", "He said no.", "Then Jan. 5 came."],
        ["We sell pens, ink, etc. and more.", "We sell etc.", "And more."],
        ["Well... maybe.", "(It was so.)", "**Bold.**", "Fine"],
        ['She said "Stop. Now." and left.', '"Ok."', 'Then "Fine!" he said.'],
        ["你好。", "真的吗？！", "我不信……", "再见；", "好"],
        ["真的吗?", "我不信!", "到了.", "用Python3.5写main.py文件"],
        ["他说：“你好。我来了。”", "然后走了。", "“走吧。”他说。", "「好。」她说。"],
        ["Call `a. B` now.", "Next"],
        ["My appointment with **Dr.** Okafor is on Mon. at 5.", "Then I see Drs. Lee and Kim, and Mme. Curie."],
        ["It is on Elm Ave. near the park, opp. the church.", "Call ext. 12.", "See Fr. Brown."],
    ],
)
def test_a_line_is_cut_into_its_sentences(pieces: list[str]) -> None:
    gap = " " if pieces[0].isascii() else ""
    assert sentences(gap.join(pieces)) == pieces


def test_lines_and_list_items_are_pieces() -> None:
    assert sentences("Plan:\n1. Buy milk.\n2. Go home. Sleep.\n\n- one\n  - two") == [
        "Plan:",
        "1. Buy milk.",
        "2. Go home.",
        "Sleep.",
        "- one",
        "- two",
    ]


def test_a_code_block_is_one_piece() -> None:
    block = "```py\nx = 1. \n\nA. B\n  ~~~\n```"
    assert sentences(f"Look. Here.\n{block}\nSo. Yes.") == ["Look.", "Here.", block, "So.", "Yes."]
    assert sentences("a\n~~~~\nb. C\n~~~\nd") == ["a", "~~~~\nb. C\n~~~\nd"]


@settings(max_examples=100)
@given(MIXED | st.text(max_size=60))
def test_pieces_are_verbatim_in_order_and_only_blanks_lie_between(text: str) -> None:
    at = 0
    for piece in sentences(text):
        assert piece.strip() == piece != ""
        found = text.index(piece, at)
        assert not text[at:found].strip()
        at = found + len(piece)
    assert not text[at:].strip()


@given(MIXED)
def test_blocks_add_up_to_the_text(text: str) -> None:
    assert "".join(block for _, block in blocks(text)) == text


@pytest.mark.parametrize(
    "unit",
    [
        ".", ". ", "“", "“a. ", '"', "`", "```\n", " ", "。", ".)", "a.a", "Dr. ", ".   ", ': "a."', "1. ", "。”",
        "~~~\n",
    ],
)  # fmt: skip
def test_long_repeats_take_linear_time(unit: str) -> None:
    assert_linear(sentences, lambda size: f" {unit * (size // len(unit))} x")
