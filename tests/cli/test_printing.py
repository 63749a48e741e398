"""What goes to the terminal, and through pipes."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hybrid_memory.apps.cli.printing import as_json, bar, one_line, printable
from hybrid_memory.apps.cli.stores import open_store


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


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [bar(share, 4) for share in (0, 0.5, 1, 7, -1)] == ["    ", "██  ", "████", "████", "    "]


def test_without_a_terminal_lines_are_a_hundred_cells_wide_and_there_are_no_bars(command: Any, filled: Path) -> None:
    with open_store(str(filled), background=False) as memory:
        memory.scoped(user="alice").remember("words and 词语 " * 40)
    assert command("history", filled) == 0
    assert "\x1b" not in command.out + command.err
    assert 80 < max(map(cell_len, command.out.splitlines())) <= 100
    assert command("rebuild", filled) == 0
    assert command.err == ""


def test_a_shell_completes_verbs_and_options(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> list[str]:
        monkeypatch.setenv("_HYBRID_MEMORY_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        command()
        return str(command.out).split()

    assert "search" in completed("hybrid-memory sea")
    assert "--why" in completed("hybrid-memory search --w")
