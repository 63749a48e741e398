"""The verbs that look: search, why, profile, summary, history, demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.apps.cli.app import PANELS
from hybrid_memory.apps.cli.demo import CHAT, USER
from hybrid_memory.apps.cli.stores import open_store
from tests.doubles import Deriving


@pytest.mark.parametrize("verb", [verb for verbs in PANELS.values() for verb in verbs])
def test_the_help_of_every_verb_shows_an_example(command: Any, verb: str) -> None:
    assert command(verb, "--help") == 0
    assert f"Example: hybrid-memory {verb}" in " ".join(command.out.split())


def test_the_help_groups_the_verbs(command: Any) -> None:
    assert command("--help") == 0
    places = [
        command.out.index(f"─ {panel} ─") for panel in ("Start", "Look", "Change", "Maintain", "Measure", "Serve")
    ]
    assert places == sorted(places)


def test_search_shows_handle_date_speaker_text_and_what_makes_the_score(command: Any, filled: Path) -> None:
    assert command("search", filled, "salinity boats", "-k", "2") == 0
    assert "  Which boats measure the salinity there?" in command.out
    (head,) = (line for line in command.out.splitlines() if " #2 " in line)
    line = r"([█▉▊▋▌▍▎▏]+) (0\.\d{3}) confidence (\d\.\d\d) #2 2026-03-02 10:00 assistant in spring"
    score, shown, sure = re.fullmatch(line, head).groups()  # type: ignore[union-attr]
    assert len(score) in {int(float(shown) * 10), int(float(shown) * 10) + 1}
    (hit, *_) = command.json("search", filled, "salinity boats", "-k", "2")
    assert (hit["handle"], hit["session"], hit["sources"]) == ("#2", "spring", ["m2"])
    assert f"{hit['confidence']:.2f}" == sure
    weights = hit["weights"]
    parts = sum(weights[name] * hit["signals"][name] for name in weights)
    assert hit["score"] == pytest.approx(parts / sum(weights.values()))
    assert command("search", filled, "salinity boats", "-k", "1", "--why") == 0
    assert hit["why"].split(";")[0] in " ".join(command.out.split())


def test_search_says_that_nothing_certain_was_found(command: Any, filled: Path) -> None:
    question = "What is the capital of Mongolia?"
    assert command.json("search", filled, question)
    assert command.json("search", filled, question, "--min-confidence", "0.9") == []
    assert command("search", filled, question, "--min-confidence", "0.9") == 0
    assert "nothing certain of" in command.out
    assert command("search", filled, question, "--min-confidence", "1.1") == 2


def test_search_keeps_to_a_session_and_to_a_time(command: Any, filled: Path) -> None:
    said = command.json("search", filled, "where does she live", "--session", "autumn")
    assert {hit["session"] for hit in said} == {"autumn"}
    early = command.json("search", filled, "where does she live", "--until", "2026-03-02")
    assert {hit["sources"][0] for hit in early} == {"m1"}
    assert command.json("search", filled, "where does she live", "--since", "2027-01-01") == []
    assert command("search", filled, "x", "--since", "yesterday") == 2
    assert "is not a date" in command.err


def test_search_shows_no_more_than_its_owner_has(command: Any, filled: Path) -> None:
    with open_store(str(filled), background=False) as memory:
        memory.scoped(user="bob").remember("The salinity is none of her business.")
    mine = command.json("search", filled, "salinity", "-u", "alice", "-k", 50)
    assert not any("none of her business" in hit["text"] for hit in mine)
    assert command("search", filled, "salinity") == 2
    assert "user='bob'" in command.err


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
    assert "home: 'Oslo'" in command.out
    assert "[#1] 2026-03-01 10:00 user: I work as a marine biologist" in command.out
    by_handle = command.json("why", filled, "1")
    assert by_handle == command.json("why", filled, "#1")
    assert {fact["value"] for fact in by_handle["facts"]} == {"I work as a marine biologist.", "Bergen"}
    assert [turn["id"] for turn in command.json("why", filled, "m1")["turns"]] == ["m1"]
    assert command("why", filled, "nothing") == 2
    assert command.err.count("\n") == 1


def test_why_with_a_query_tells_the_place_of_a_turn(command: Any, filled: Path) -> None:
    assert command("why", filled, "2", "--query", "salinity boats") == 0
    assert "#2 does come back" in command.out
    assert command("why", filled, "4", "--query", "salinity boats", "-k", "1") == 0
    assert "#4 does not come back" in command.out


def test_the_profile_tells_what_stands_and_with_history_what_did(command: Any, filled: Path) -> None:
    assert command("profile", filled) == 0
    assert re.search(r"^home +0\.\d\d +2026-03-05 +Oslo \(from #5\)$", command.out, re.MULTILINE)
    assert "“I work as a marine biologist.” (from #1)" in command.out
    assert "Bergen" not in command.out
    assert command("profile", filled, "--history") == 0
    assert re.search(r"^home .* Bergen \(superseded; from #\d+\)$", command.out, re.MULTILINE)
    told = command.json("profile", filled, "--history")
    assert told["fields"]["home"] == "Oslo"
    assert told["sources"]["home"][0]["sources"] == ["m5"]
    assert [entry["value"] for entry in told["history"]["home"]] == ["Bergen", "Oslo"]
    assert {fact["state"] for fact in told["facts"]} >= {"current", "superseded"}


def test_history_shows_the_newest_turns_oldest_first(command: Any, filled: Path) -> None:
    assert [turn["id"] for turn in command.json("history", filled, "-n", 2)] == ["m4", "m5"]
    assert [turn["handle"] for turn in command.json("history", filled, "-n", 0, "-s", "spring")] == [
        "#1",
        "#2",
        "#3",
        "#4",
    ]
    assert [
        turn["id"] for turn in command.json("history", filled, "--since", "2026-03-02", "--until", "2026-03-04")
    ] == ["m2", "m3"]
    assert command("history", filled, "-n", "1") == 0
    assert command.out.splitlines()[1] == "  I moved to Oslo last week."


def test_a_summary_leads_back_to_the_words(command: Any, filled: Path) -> None:
    assert command("summary", filled) == 0
    assert "there is no summary yet" in command.out
    done = command.json("compact", filled, "-s", "spring", "--keep", 1)
    assert done["compacted"] == 2
    assert command("summary", filled) == 0
    assert "these sessions have a summary: spring" in command.out
    told = command.json("summary", filled, "-s", "spring")
    assert told["lines"]
    assert told["handles"] == ["#1-2"]
    behind = command.json("summary", filled, "-s", "spring", "--expand", told["handles"][0])
    assert [turn["id"] for turn in behind] == ["m1", "m2"]
    assert command("summary", filled, "-s", "spring", "--expand", "1") == 0
    assert "I work as a marine biologist" in command.out


def test_the_demo_searches_explains_and_folds_offline(command: Any, tmp_path: Path) -> None:
    assert command("demo", "--embedder", "hashing") == 0
    for told in (
        "32 turns of 3 conversations",
        "search: Where has Noa moved to?",
        "Porto",
        "superseded",
        "behind #",
        "inspect demo.db",
        "the newest turns, word for word",
        "stands for older turns",
    ):
        assert told in command.out
    path = tmp_path / "kept.db"
    told = command.json("demo", path, "--embedder", "hashing")
    assert told["recalls"][0]["hits"][0]["text"].startswith("Big news! I moved to Porto last week.")
    assert told["prompt"]["tokens"] <= told["prompt"]["max_tokens"] == 600
    assert {piece["reason"] for piece in told["prompt"]["plan"] if piece["section"] == "turns"} >= {"whole"}
    assert told["summary"]["lines"]
    assert command.json("import", path, CHAT, "-u", USER)["known"] == 32


def test_the_demo_keeps_out_of_other_memories(command: Any, filled: Path) -> None:
    assert command("demo", filled) == 2
    assert "holds another memory" in command.err
    assert [owner["user"] for owner in command.json("stats", filled)["by_owner"]] == ["alice"]


@pytest.mark.parametrize(("about", "said"), [("Bruno", True), ("bruno", True), ("小明", True), ("Bru", False)])
def test_facts_about_somebody_are_also_those_that_name_them(
    command: Any, tmp_path: Path, about: str, said: bool
) -> None:
    store = tmp_path / "m.db"
    derived = Deriving(("Rex", "Bruno's dog", "name", "Rex"), ("旺财", "小明的狗", "name", "旺财"))
    with open_memory(MemoryConfig(url=f"sqlite:///{store}", embedder="none"), extractor=derived) as memory:
        memory.scoped(user="ann").remember(["Bruno's dog is Rex.", "小明的狗叫旺财。"])
        memory.flush()
    assert command("facts", store, "--about", about) == 0, command.err
    assert ("nothing is known" not in command.out) is said


@pytest.mark.parametrize("verb", [("search", "--since"), ("history", "--until"), ("forget", "--before")])
def test_a_wrong_date_is_refused_in_plain_words(command: Any, filled: Path, verb: tuple[str, str]) -> None:
    name, option = verb
    assert command(name, filled, *(["word"] if name == "search" else []), option, "yesterday") == 2
    assert "'yesterday' is not a date: write it" in " ".join(command.err.replace("│", "").split())
    assert "Value error" not in command.err
