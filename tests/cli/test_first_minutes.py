"""What a newcomer meets in the first minutes: any encoding, handles, sessions, facts, and turns of their own."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hybrid_memory
from hybrid_memory.apps.cli import main
from hybrid_memory.apps.cli.app import INSTEAD


@pytest.mark.parametrize("encoding", ["cp1252", "gbk"])
def test_output_goes_through_any_encoding(filled: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    def run(*arguments: str | Path) -> str:
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding))
        with pytest.raises(SystemExit):
            main([*map(str, arguments)])
        sys.stdout.flush()
        return out.getvalue().decode(encoding)

    assert ("我喜欢喝乌龙茶。" in run("history", filled)) is (encoding == "gbk")
    assert ("█" in run("search", filled, "salinity boats")) is (encoding == "gbk")
    lines = [json.loads(line)["content"] for line in run("export", filled).splitlines()]
    assert "The Sigrun and the Tora. 我喜欢喝乌龙茶。" in lines


@pytest.fixture
def chats(command: Any, tmp_path: Path) -> Path:
    """Three conversations whose turns have the same ids."""
    store = tmp_path / "chats.db"
    for name in ("red", "green", "blue"):
        turns = [{"role": "user", "content": f"My favourite colour is {name}, number {turn}."} for turn in range(2)]
        (tmp_path / name).write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), encoding="utf-8")
    files = [tmp_path / name for name in ("red", "green", "blue")]
    assert command("import", store, *files, "--user", "me", "--embedder", "hashing") == 0
    assert "6 turns in 3 sessions of user='me'" in command.out
    return store


def test_a_handle_names_one_turn_and_its_own_facts(command: Any, chats: Path) -> None:
    told = command.json("why", chats, "3")
    assert [turn["handle"] for turn in told["turns"]] == ["#3"]
    assert told["facts"]
    assert all("green" in fact["value"] for fact in told["facts"])
    assert command("profile", chats) == 0
    assert "turn-1" not in command.out
    assert "from #" in command.out


@pytest.mark.parametrize("verb", [("why",), ("forget", "--yes", "--ids")])
def test_an_id_of_several_turns_is_refused_with_their_handles(command: Any, chats: Path, verb: tuple[str, ...]) -> None:
    assert command(verb[0], chats, *verb[1:], "turn-1") == 2
    assert "'turn-1' is the id of 3 turns" in command.err
    assert "#1 in red; #3 in green; #5 in blue" in command.err
    assert len(command.json("history", chats)) == 6
    assert command(verb[0], chats, *verb[1:], "turn-1", "--session", "green") == 0
    assert "#3" in command.out


@pytest.mark.parametrize("verb", [("search", "red"), ("history",), ("export",)])
def test_an_unknown_session_is_an_error_that_lists_the_known(command: Any, chats: Path, verb: tuple[str, ...]) -> None:
    assert command(verb[0], chats, *verb[1:], "--session", "pink") == 2
    assert "has no session 'pink'; there are: blue; green; red" in command.err


def test_a_turn_is_remembered_and_found_and_its_words_need_no_quotes(command: Any, typed: Any, tmp_path: Path) -> None:
    store = tmp_path / "own.db"
    assert command("remember", store, *"I moved to Porto. -u me --at 2026-05-01".split()) == 0
    assert command.out == "remembered as #1 in notes, for user='me'\n"
    typed("My cat is called Miso.", terminal=False)
    assert command.json("remember", store, "-", "-s", "pets")["session"] == "pets"
    turns = command.json("history", store)
    assert [(turn["session"], turn["content"]) for turn in turns] == [
        ("notes", "I moved to Porto."),
        ("pets", "My cat is called Miso."),
    ]
    assert turns[0]["at"].startswith("2026-05-01")
    assert [hit["text"] for hit in command.json("search", store, "moved", "to", "Porto", "-k", "1")] == [
        "I moved to Porto."
    ]
    assert command("remember", store, " ") == 2


def test_a_verb_of_other_days_or_of_python_leads_to_the_one_there_is(command: Any) -> None:
    for name, verb in INSTEAD.items():
        assert command(name, "memory.db") == 2
        words = " ".join(command.err.replace("│", " ").split())
        assert f"No such command '{name}': use {verb}." in words
    assert command("facts") == 2
    assert "profile --about anyone" in command.err
    assert command("sarch") == 2
    assert "Did you mean 'search'?" in command.err


def test_the_command_is_the_package_itself_too() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "hybrid_memory", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"hybrid-memory {hybrid_memory.__version__}\n"
