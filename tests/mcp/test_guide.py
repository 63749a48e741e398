"""The configurations and tables of docs/mcp.md; Python and commands are tested with those of the other pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import typer
from typer.main import get_command

from hybrid_memory import MemoryConfig
from hybrid_memory.apps.cli.app import TOKEN, mcp
from hybrid_memory.apps.mcp.server import ADDS, CHANGES, DESTROYS, KINDS, READS, RESOURCES

GUIDE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_no_block_goes_unchecked() -> None:
    languages = re.findall(r"^```(\w+)$", GUIDE, re.MULTILINE)
    assert sorted(languages) == ["json"] * 2 + ["python"] + ["sh"] * 4 + ["text", "yaml"]


def test_settings_let_notes_be_learned_from(tmp_path: Path) -> None:
    (settings,) = blocks("yaml")
    (tmp_path / "memory.yaml").write_text(settings, encoding="utf-8")
    assert "assistant" in MemoryConfig.from_yaml(tmp_path / "memory.yaml").learning.origins


def test_a_host_starts_what_the_command_takes() -> None:
    starting, connecting = (json.loads(block)["mcpServers"]["memory"] for block in blocks("json"))
    assert starting["command"] == "hybrid-memory"
    assert starting["args"][0] == "mcp"
    app = typer.Typer()
    app.command("mcp")(mcp)
    assert get_command(app).make_context("mcp", starting["args"][1:]).params["user"] == "alice"
    assert connecting["url"].endswith(":8765/mcp")
    assert connecting["headers"] == {"Authorization": f"Bearer ${{{TOKEN}}}"}


def test_all_tools_and_resources_are_told_of_and_what_they_do() -> None:
    words = {"adds": ADDS, "changes": CHANGES, "destroys": DESTROYS, "reads": READS}
    rows = re.findall(r"^\| `(memory_\w+)` \|.*\| (\w+) \|$", GUIDE, re.MULTILINE)
    assert {name: words[kind] for name, kind in rows} == dict(KINDS)
    uris = set(re.findall(r"^\| `(memory://[^`]+)` \|", GUIDE, re.MULTILINE))
    assert uris == {f"memory://{name}" for name in RESOURCES}
