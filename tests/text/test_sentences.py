from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.sentences import blocks, sentences
from tests.doubles import assert_linear
from tests.world import rows

BITS = st.sampled_from(
    [
        *"a|B|Dr|e.g|3.5|1|你|好|.|!|?|...|…|。|！|；|\"|“|”|「|」|'|)".split("|"),
        *"`|```|~~~| |  |\n|\t|\u3000|\r\n|\x85|：|- |1. |".split("|"),
    ]
)
MIXED = st.lists(BITS, max_size=30).map("".join)


@pytest.mark.parametrize("row", rows("text/sentences.tsv"), ids="|".join)
def test_a_line_is_cut_into_its_sentences(row: tuple[str, ...]) -> None:
    gap = " " if row[0].isascii() else ""
    assert sentences(gap.join(row)) == list(row)


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
