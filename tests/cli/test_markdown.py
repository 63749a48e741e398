"""A memory as a folder of files: out, in again, and out again the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory

QUICK = ("--embedder", "none")
FREE = {
    "AGENTS.md": "# Conventions\r\n\r\n- Use tabs.\r\n- 用中文回答。\r\n",
    "计划/2026/旅行.md": "# 行程\n\n五月去罗马。\n\n- 订酒店",
    "notes/empty.md": "",
    "notes/blank.txt": "\n\n x \n\n\n",
    "data.csv": "a,b\n1,2\n",
}


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def full(tmp_path: Path) -> Path:
    path = tmp_path / "full.db"
    with open_memory(MemoryConfig(url=f"sqlite:///{path}", embedder="none", power_safe=False)) as memory:
        ann = memory.scoped(user="ann", session="s1")
        ann.remember(["I live in Rome.", "我对花生过敏。", "My cat is called Tom.", "Remind me to buy milk."])
        ann.block("task").put("Book\nthe hall. 订大厅")
        for name, text in FREE.items():
            ann.files().write(f"/{name}", text)
    return path


def test_a_round_trip_loses_nothing(command: Any, full: Path, tmp_path: Path) -> None:
    first, second, new = tmp_path / "first", tmp_path / "second", tmp_path / "new.db"
    assert command("export", full, "-u", "ann", "--markdown", first) == 0, command.err
    written = tree(first)
    assert {name: written[name].decode() for name in FREE} == FREE
    assert written["blocks/task.md"].decode() == "Book\nthe hall. 订大厅"
    assert not any(name.startswith(("facts", "profile")) for name in written)
    assert command("import", new, first, "-u", "ann", "--form", "markdown", *QUICK) == 0, command.err
    assert command("export", new, "-u", "ann", "--markdown", second) == 0, command.err
    assert tree(second) == written
    assert command.json("import", new, first, "-u", "ann", "--form", "markdown", *QUICK)["written"] == 0
    assert command("export", new, "-u", "ann", "--markdown", second) == 0
    assert "0 of them new or changed" in command.err


def test_only_what_differs_is_imported(command: Any, full: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert command("export", full, "-u", "ann", "--markdown", folder) == 0
    (folder / "blocks" / "task.md").write_text("Book the room.")
    (folder / "notes" / "new.md").write_text("New.\n")
    told = command.json("import", full, folder, "-u", "ann", "--form", "markdown", *QUICK)
    assert (told["written"], told["refused"]) == (2, [])
    with open_memory(MemoryConfig(url=f"sqlite:///{full}", embedder="none")) as memory:
        ann = memory.scoped(user="ann")
        assert ann.blocks()["task"].value == "Book the room."
        assert ann.files().read("/notes/new.md") == "New.\n"
        assert len(ann.files().history("/AGENTS.md")) == 1


def test_markdown_is_known_by_itself(command: Any, tmp_path: Path) -> None:
    store, project = tmp_path / "m.db", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_bytes(b"\xff")
    (project / "CLAUDE.md").write_text("The build runs with make zirconquokka.\n")
    (project / "docs").mkdir()
    (project / "docs" / "MEMORY.md").write_text("Deploys happen on Fridays.\n")
    assert command("import", store, project, "-u", "ann", *QUICK) == 0, command.err
    assert "imported" in str(command.json("search", store, "zirconquokka", "-u", "ann"))
    assert command("import", store, project / "docs" / "MEMORY.md", "-u", "ann", *QUICK) == 0
    with open_memory(MemoryConfig(url=f"sqlite:///{store}", embedder="none")) as memory:
        files = [file.path for file in memory.scoped(user="ann").files().list(deep=True)]
    assert files == ["/CLAUDE.md", "/MEMORY.md", "/docs/MEMORY.md"]


def test_what_cannot_be_imported_is_told_and_all_else_is(command: Any, tmp_path: Path) -> None:
    store, project = tmp_path / "m.db", tmp_path / "project"
    (project / "facts").mkdir(parents=True)
    (project / "facts" / "task.md").write_text("- Something\n")
    (project / "a.md").write_text("A.\n")
    assert command("import", store, project, "-u", "ann", *QUICK) == 2
    assert "not imported: facts/task.md: '/facts/task.md' is made by the memory" in command.err
    (project / "picture.png").write_bytes(b"\x89PNG\xff")
    assert command("import", store, project, "-u", "ann", *QUICK) == 2
    assert "picture.png is not text in UTF-8" in command.err
    assert command("export", store, "-u", "ann", "--markdown", project) == 0
    assert "not in the memory: facts/task.md, picture.png" in command.err


EXECUTED = (
    ".git/config", ".github/workflows/ci.yml", "notes/.envrc", ".vscode/tasks.json", "sub/.git/hooks/a.md",
    "conftest.py", "Makefile", "config", "hooks/post-checkout", "package.json", "sitecustomize.pth", "C:/a.md",
    "plan.md:stream.md",
)  # fmt: skip


def test_nothing_that_tools_execute_is_exported(command: Any, tmp_path: Path) -> None:
    store, folder = tmp_path / "m.db", tmp_path / "out"
    with open_memory(MemoryConfig(url=f"sqlite:///{store}", embedder="none")) as memory:
        for name in (*EXECUTED, "plan.md", "notes/TABLE.CSV"):
            memory.scoped(user="ann").files().write(f"/{name}", "x\n")
    assert command("export", store, "-u", "ann", "--markdown", folder) == 0, command.err
    assert set(tree(folder)) == {"plan.md", "notes/TABLE.CSV"}
    assert "2 files in" in command.err
    assert "not exported: .git/config" in command.err
    assert f"and {len(EXECUTED) - 5} more" in command.err


@pytest.mark.parametrize("link", ["plan.md", "notes", "deep/er"])
def test_nothing_is_written_through_a_link(command: Any, tmp_path: Path, link: str) -> None:
    store, folder, outside = tmp_path / "m.db", tmp_path / "out", tmp_path / "outside"
    with open_memory(MemoryConfig(url=f"sqlite:///{store}", embedder="none")) as memory:
        for name in ("plan.md", "notes/a.md", "deep/er/b.md"):
            memory.scoped(user="ann").files().write(f"/{name}", "stored\n")
    outside.mkdir()
    (folder / "deep").mkdir(parents=True)
    (folder / link).symlink_to(outside / "new.md" if link == "plan.md" else outside)
    assert command("export", store, "-u", "ann", "--markdown", folder) == 0, command.err
    assert tree(outside) == {}
    assert f"not exported: {link}" in command.err


def test_a_file_with_another_name_elsewhere_is_replaced(command: Any, tmp_path: Path) -> None:
    store, folder, outside = tmp_path / "m.db", tmp_path / "out", tmp_path / "outside.md"
    with open_memory(MemoryConfig(url=f"sqlite:///{store}", embedder="none")) as memory:
        memory.scoped(user="ann").files().write("/plan.md", "stored\n")
    outside.write_text("mine\n")
    folder.mkdir()
    (folder / "plan.md").hardlink_to(outside)
    assert command("export", store, "-u", "ann", "--markdown", folder) == 0, command.err
    assert (outside.read_text(), (folder / "plan.md").read_text()) == ("mine\n", "stored\n")
