"""What a newcomer meets in the first minutes: any encoding, handles, sessions, facts, and turns of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.apps.cli.demo import QUESTIONS

RUN = [sys.executable, "-c", "from hybrid_memory.apps.cli import main; main()"]


def run(*arguments: str | Path, encoding: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run([*RUN, *map(str, arguments)], env=environment, capture_output=True, check=False)  # noqa: S603


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


@pytest.mark.parametrize("encoding", ["cp1252", "gbk"])
def test_output_goes_through_any_encoding(tmp_path: Path, encoding: str) -> None:
    done = run("demo", tmp_path / "demo.db", "--embedder", "hashing", encoding=encoding)
    assert done.returncode == 0
    out, err = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert QUESTIONS[-1] in out
    assert ("█" in out) is (encoding != "cp1252")
    assert ("set PYTHONIOENCODING=utf-8" in err) is (encoding == "cp1252")
    lines = run("export", tmp_path / "demo.db", encoding=encoding).stdout.decode(encoding).splitlines()
    assert "那太好了。我喜欢喝龙井茶，不喜欢咖啡。" in [json.loads(line)["content"] for line in lines]
    assert run("--help", encoding=encoding).returncode == 0


def test_the_question_why_brings_the_reason_first(command: Any) -> None:
    told = command.json("demo", "--embedder", "hashing")["recalls"]
    assert QUESTIONS[-1].startswith("Why was")
    assert "because several shops write at the same time" in told[-1]["hits"][0]["text"]


def test_the_demos_profile_has_each_value_once_and_no_result_as_a_goal(command: Any) -> None:
    known = command.json("demo")["profile"]["fields"]
    assert str(known).count("keep your answers short") == 1
    assert ["half marathon" in goal for goal in known["goals"]] == [True]
    assert known["home"] == "Porto"
    assert "peanuts" in str(known["needs"])


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


def test_a_turn_that_is_not_there_is_an_error(command: Any, chats: Path) -> None:
    assert command("why", chats, "99") == 2
    assert "has no turn '#99'" in command.err


@pytest.mark.parametrize("verb", [("search", "red"), ("history",), ("summary",), ("compact",), ("export",)])
def test_an_unknown_session_is_an_error_that_lists_those_there_are(
    command: Any, chats: Path, verb: tuple[str, ...]
) -> None:
    assert command(verb[0], chats, *verb[1:], "--session", "pink") == 2
    assert "has no session 'pink'; there are: blue; green; red" in command.err


def test_sessions_are_listed_newest_first(command: Any, filled: Path) -> None:
    rows = command.json("sessions", filled)
    assert [(row["session"], row["turns"]) for row in rows] == [("autumn", 1), ("spring", 4)]
    assert rows[1]["first"].startswith("2026-03-01")
    assert rows[1]["last"].startswith("2026-03-04")
    assert command("sessions", filled) == 0
    assert "2 sessions, 5 turns" in command.out


def test_facts_are_listed_with_their_turns(command: Any, filled: Path) -> None:
    assert command("facts", filled, "--about", "user") == 0
    assert "I work as a marine biologist. (from #1)" in command.out
    assert "Bergen" not in command.out
    assert "Bergen" in {fact["value"] for fact in command.json("facts", filled, "--history")}
    assert command("facts", filled, "--about", "nobody") == 0
    assert "nothing is known about nobody" in command.out


def test_a_turn_is_remembered_and_found(command: Any, typed: Any, tmp_path: Path) -> None:
    store = tmp_path / "own.db"
    assert command("remember", store, "I moved to Porto.", "-u", "me", "--at", "2026-05-01") == 0
    assert command.out == "remembered as #1 in notes, for user='me'\n"
    typed("My cat is called Miso.", terminal=False)
    assert command.json("remember", store, "-", "-s", "pets")["session"] == "pets"
    turns = command.json("history", store)
    assert [(turn["session"], turn["content"]) for turn in turns] == [
        ("notes", "I moved to Porto."),
        ("pets", "My cat is called Miso."),
    ]
    assert turns[0]["at"].startswith("2026-05-01")
    assert command("remember", store, " ") == 2


def test_headings_follow_the_language_of_the_content(command: Any, tmp_path: Path) -> None:
    store = tmp_path / "zh.db"
    assert command("remember", store, "我是一名医生，我住在上海。", "-u", "小王") == 0
    assert command("profile", store) == 0
    assert command.out.split()[:4] == ["字段", "可信度", "起始", "内容"]
    assert "住在" in command.out
    assert command("search", store, "住在哪里") == 0
    assert "会话 notes" in command.out


def test_a_store_that_was_imported_without_embedder_stays_without(command: Any, tmp_path: Path) -> None:
    chat, store = tmp_path / "chat.jsonl", tmp_path / "memory.db"
    chat.write_text('{"role": "user", "content": "The salinity rose."}\n', encoding="utf-8")
    assert command("import", store, chat, "-u", "me", "--embedder", "none") == 0
    for _ in range(2):
        assert [hit["text"] for hit in command.json("search", store, "salinity")] == ["The salinity rose."]
        assert "rebuild" in command.err
    assert command.json("stats", store)["vectors"] == 0
    assert command("rebuild", store, "--embedder", "hashing") == 0
    assert command.json("search", store, "salinity")
    assert command.err == ""
