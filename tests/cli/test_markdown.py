"""The files of a memory, written into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory

EXECUTED = (
    ".git/config", ".github/workflows/ci.yml", "notes/.envrc", ".vscode/tasks.json", "sub/.git/hooks/a.md",
    "conftest.py", "Makefile", "config", "hooks/post-checkout", "package.json", "sitecustomize.pth", "C:/a.md",
    "plan.md:stream.md",
)  # fmt: skip
FREE = {
    "AGENTS.md": "# Conventions\r\n\r\n- Use tabs.\r\n- 用中文回答。\r\n",
    "计划/2026/旅行.md": "# 行程\n\n五月去罗马。\n\n- 订酒店",
    "notes/TABLE.CSV": "a,b\n1,2\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "m.db"
    with open_memory(MemoryConfig(url=f"sqlite:///{path}", embedder="none", power_safe=False)) as memory:
        ann = memory.scoped(user="ann", session="s1")
        ann.remember("I live in Rome.")
        ann.block("task").put("Book\nthe hall. 订大厅")
        for name, text in {**FREE, **dict.fromkeys(EXECUTED, "x\n")}.items():
            ann.files().write(f"/{name}", text)
    return path


def tree(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}


def test_documents_are_exported_and_nothing_that_tools_execute(command: Any, store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert command("export", store, "--markdown", folder) == 0, command.err
    written = tree(folder)
    assert {name: written[name] for name in FREE} == FREE
    assert written["profile.md"].startswith("- home: Rome\n")
    assert written["blocks/task.md"] == "Book\nthe hall. 订大厅"
    assert not written.keys() & set(EXECUTED)
    assert "not exported: .git/config" in command.err
    assert f"and {len(EXECUTED) - 10} more" in command.err


@pytest.mark.parametrize("link", ["AGENTS.md", "notes", "计划/2026"])
def test_nothing_is_written_through_a_link(command: Any, store: Path, tmp_path: Path, link: str) -> None:
    folder, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(outside / "new.md" if link == "AGENTS.md" else outside)
    assert command("export", store, "--markdown", folder) == 0, command.err
    assert tree(outside) == {}
    assert "not exported: " in command.err
