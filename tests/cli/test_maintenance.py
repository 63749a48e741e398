"""The verbs that look after a store: stats, check, migrate, rebuild."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.apps.cli.stores import open_store


def spoil(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def wrong(command: Any, path: Path | str) -> list[str]:
    """What the check finds wrong; it says so by its exit code too."""
    code = command("check", path, "--json")
    told = json.loads(command.out)
    found = [f"{one['what']}: {one['detail']}" for one in told["findings"] if one["state"] == "wrong"]
    assert (code, told["healthy"]) == ((1, False) if found else (0, True))
    return found


def test_stats_count_what_there_is(command: Any, filled: Path) -> None:
    told = command.json("stats", filled)
    assert (told["owners"], told["sessions"], told["embedder"]) == (1, 2, "hashing-256")
    assert told["records"] == told["vectors"] == 5
    assert told["by_owner"] == [{"tenant": None, "user": "alice", "agent": None, "space": None}]
    assert command("stats", filled) == 0
    assert "user='alice'" in command.out


def test_a_healthy_store_is_called_so_and_everything_was_looked_at(command: Any, filled: Path) -> None:
    before = filled.read_bytes()
    assert command("check", filled) == 0
    assert filled.read_bytes() == before, "a check changes nothing"
    for what in ("versions", "schema", "integrity", "log", "index"):
        assert f"ok     {what}" in command.out
    assert "SQLite 3" in command.out
    assert command.out.splitlines()[-1] == "all is well"


DAMAGES = {
    "a turn without a record": ("DELETE FROM records WHERE id = 2", "1 turn of user='alice' without a record: #2"),
    "a record without an event": ("DELETE FROM events WHERE position = 2", "1 record without an event"),
    "an index ahead of the log": ("UPDATE indexed SET applied = 9999", "has seen #9999, and the log ends at"),
    "a vector without a record": ("DELETE FROM records WHERE id = 3", "vectors without a record"),
    "a vector that is gone": ("DELETE FROM vectors WHERE record = 3", "records without a vector that wait for none"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_index_that_does_not_fit_the_log_is_found_and_a_rebuild_mends_it(
    command: Any, filled: Path, damage: str
) -> None:
    statement, told = DAMAGES[damage]
    spoil(filled, statement)
    assert any(told in finding for finding in wrong(command, filled))
    assert command("check", filled) == 1
    assert "hybrid-memory rebuild mends it" in " ".join(command.out.split())
    assert command("rebuild", filled) == 0
    assert wrong(command, filled) == []


def test_a_damaged_file_is_found(command: Any, filled: Path) -> None:
    with filled.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 8)
    assert any(finding.startswith("integrity") for finding in wrong(command, filled))


def test_a_file_of_another_program_and_one_of_a_newer_version_are_told_apart(
    command: Any, filled: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("no database " * 100, encoding="utf-8")
    assert wrong(command, tmp_path / "notes.txt")
    spoil(filled, "PRAGMA user_version = 99")
    assert any("schema version 99" in finding for finding in wrong(command, filled))


def test_migrate_copies_everything_and_can_go_on(command: Any, filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = command.json("migrate", filled, copy, "--embedder", "hashing")
    assert (done["owners"], done["events"]) == (1, command.json("stats", filled)["events"])
    assert command.json("history", copy) == command.json("history", filled)
    assert command("migrate", filled, copy, "--embedder", "hashing") == 0
    assert done["checksum"] in command.out.replace("\n", "")
    assert command("migrate", filled, f"sqlite:///{filled}") == 2
    assert "same store" in command.err
    with open_store(str(copy), background=False) as memory:
        memory.scoped(user="bob").remember("only here")
    assert command("migrate", filled, copy, "--embedder", "hashing") == 2
    assert "give an empty store" in command.err


def test_rebuild_changes_the_embedder_and_loses_no_vectors_by_accident(command: Any, filled: Path) -> None:
    assert command("rebuild", filled, "--embedder", "none") == 0
    assert command.json("stats", filled)["vectors"] == 0
    told = command.json("rebuild", filled, "--embedder", "hashing")
    assert told["embedded"] == told["indexed"] == command.json("stats", filled)["vectors"]

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    with open_memory(MemoryConfig(url=f"sqlite:///{filled}", embedder="none")) as memory:
        memory.rebuild(embedder=lengths)
    assert command("rebuild", filled) == 2
    assert "vectors would be lost" in command.err
    assert command.json("stats", filled)["vectors"] == told["embedded"]


def test_a_worker_does_what_others_left(command: Any, tmp_path: Path) -> None:
    path = tmp_path / "left.db"
    off = {"background": False}
    config = MemoryConfig.of({"url": f"sqlite:///{path}", "embedder": "hashing", "orchestration": off, "learning": off})
    with open_memory(config) as memory:
        memory.scoped(user="alice").remember(["I live in Porto.", "The tram leaves at nine."])
    assert command("worker", path, "--once") == 0
    assert "indexed 2, embedded 2, learned 2 claims" in command.out
    assert command("worker", path, "--once") == 0
    assert command.out == "", "nothing was left"
