"""What goes to the terminal, and through pipes."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.apps.cli.printing import as_json, one_line, printable


@settings(max_examples=40)
@given(st.text())
def test_printable_text_has_no_control_characters_and_keeps_all_else(text: str) -> None:
    shown = printable(text)
    assert all(char in "\n\t" or unicodedata.category(char)[0] != "C" for char in shown)
    assert [char for char in shown if char != "\N{REPLACEMENT CHARACTER}"] == [
        char
        for char in text
        if (char in "\n\t" or unicodedata.category(char)[0] != "C") and char != "\N{REPLACEMENT CHARACTER}"
    ]
    assert len(one_line(text, 10)) <= 10
    assert "\n" not in one_line(text)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.text(max_size=9),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=9,
    )
)
def test_json_is_read_back_the_same_and_does_nothing_to_a_terminal(value: Any) -> None:
    written = as_json(value)
    assert json.loads(written) == value
    assert all(unicodedata.category(char)[0] != "C" for char in written)
