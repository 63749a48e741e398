"""The verbs that look: search, why, profile, history."""

import json
import re
import unicodedata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.apps.cli.app import PANELS
from hybrid_memory.apps.cli.printing import as_json, one_line, printable
from hybrid_memory.apps.cli.stores import open_store


@pytest.mark.parametrize("verb", [verb for verbs in PANELS.values() for verb in verbs])
def test_the_help_of_every_verb_shows_an_example(command: Any, verb: str) -> None:
    assert command(verb, "--help") == 0
    assert f"Example: hybrid-memory {verb}" in " ".join(command.out.split())


def test_packages_register_verbs_and_one_that_cannot_be_imported_is_named(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = "hybrid_memory.commands"
    entries = [EntryPoint("pages", "hybrid_memory_inspector.cli:app", group), EntryPoint("gone", "no_such:app", group)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [one for one in entries if one.group == group])
    assert command("inspect", "--help") == 0
    assert "Example: hybrid-memory inspect memory.db" in command.out
    assert "the commands of no_such:app cannot be imported: No module named 'no_such'" in command.err
    assert command("eval", "--help") == 2


def test_search_shows_handle_date_speaker_text_and_what_makes_the_score(command: Any, filled: Path) -> None:
    assert command("search", filled, "salinity boats", "-k", "2") == 0
    assert "  Which boats measure the salinity there?" in command.out
    (head,) = (line for line in command.out.splitlines() if " #2 " in line)
    bar, sure = re.fullmatch(r"(█* +)(\d\.\d\d) #2 2026-03-02 10:00 assistant in spring", head).groups()  # type: ignore[union-attr]
    scored = command.out
    (hit, *_) = command.json("search", filled, "salinity boats", "-k", "2")
    assert (bar.count("█"), len(bar)) == (round(hit["confidence"] * 10), 11)
    assert f"  score {hit['score']:.3f}: " in scored
    assert (hit["handle"], hit["session"], hit["sources"]) == ("#2", "spring", ["m2"])
    assert f"{hit['confidence']:.2f}" == sure
    parts = sum(weight * hit["signals"][name] for name, weight in hit["weights"].items())
    assert hit["score"] == pytest.approx(parts / sum(hit["weights"].values()))
    assert command("search", filled, "salinity boats", "-k", "1", "--why") == 0
    assert hit["why"].split(";")[0] in " ".join(command.out.split())


def test_crafted_text_is_printed_harmless(command: Any, filled: Path) -> None:
    crafted = "Look \x1b[2J\x1b]0;owned\x07 \u202eesrever\u202c \x9b31m[red]boom[/red] <script>"
    with open_store(str(filled), background=False) as memory:
        memory.scoped(user="alice", session="x\x1b[1m\ny").remember(crafted)
    for verb in (
        ("search", filled, "esrever"),
        ("search", filled, "boom", "--why"),
        ("history", filled),
        ("why", filled, "boom", "-q", "x"),
    ):
        command(*verb)
        assert not set(command.out + command.err) & set("\x1b\x07\u202e\u202c\x9b")
    assert command("history", filled, "-n", "1") == 0
    assert "[red]boom[/red] <script>" in command.out
    assert command.json("history", filled, "-n", 1)[0]["content"] == crafted
    assert not set(command.out) & set("\x1b\x07\u202e\x9b")


def test_why_leads_from_a_field_and_from_a_turn_to_the_words(command: Any, filled: Path) -> None:
    assert command("why", filled, "home") == 0
    assert command.out.startswith("home: Oslo\n")
    assert "[#1] 2026-03-01 10:00 user: I work as a marine biologist" in command.out
    by_handle = command.json("why", filled, "1")
    assert by_handle == command.json("why", filled, "#1")
    assert {fact["value"] for fact in by_handle["facts"]} == {"I work as a marine biologist.", "Bergen"}
    assert [turn["id"] for turn in command.json("why", filled, "m1")["turns"]] == ["m1"]
    assert command("why", filled, "technical stack") == 0, "as the profile shows it"
    assert command.out == "technical stack: nothing is known\n"
    assert command("why", filled, "nothing") == 2
    assert command.err.count("\n") == 1


def test_emoji_and_persian_words_are_printed_whole() -> None:
    assert printable("👩‍👧 می‌خواهم \x1b[31m") == "👩‍👧 می‌خواهم \N{REPLACEMENT CHARACTER}[31m"


REPLACED = "\N{REPLACEMENT CHARACTER}"
KEPT = "\n\t\u200c\u200d\u00ad"


@settings(max_examples=40)
@given(st.text())
def test_printable_text_has_no_control_characters_and_keeps_all_else(text: str) -> None:
    shown = printable(text)
    kept = [char for char in text if char in KEPT or unicodedata.category(char)[0] != "C"]
    assert [char for char in shown if char != REPLACED] == [char for char in kept if char != REPLACED]
    assert len(shown) == len(text)
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
