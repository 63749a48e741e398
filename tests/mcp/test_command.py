"""``hybrid-memory mcp``: what it makes of its options, and what docs/mcp.md says of them."""

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import hybrid_memory.apps.mcp
from hybrid_memory import MemoryConfig, Scope, ScopedMemory
from hybrid_memory.apps.cli.app import TOKEN, mcp
from hybrid_memory.apps.mcp.server import ADDS, CHANGES, DESTROYS, KINDS, READS
from hybrid_memory.errors import InvalidInputError

SECRET = "correct-horse-battery-staple"  # noqa: S105 - of these tests


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Scope, dict[str, Any]]]:
    """How the command served, without doing so."""
    made: list[tuple[str, Scope, dict[str, Any]]] = []

    def serve(kind: str) -> Any:
        def record(memory: ScopedMemory, **options: Any) -> MagicMock:
            if "ready" in options:
                options.pop("ready")("http://127.0.0.1:8000/mcp", SECRET)
            made.append((kind, memory.scope, options))
            return MagicMock()

        return record

    monkeypatch.setattr(hybrid_memory.apps.mcp, "server", serve("stdio"))
    monkeypatch.setattr(hybrid_memory.apps.mcp, "serve_http", serve("http"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.delenv("HYBRID_MEMORY_MCP_TOKEN", raising=False)
    return made


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(mcp)
    return CliRunner().invoke(app, arguments)


def test_the_binding_stands_on_the_command_line(settings: Path, calls: list[Any]) -> None:
    options = "--tenant t -u alice --agent a --space team --space board".split()
    assert run(str(settings), *options).exit_code == 0
    scope = Scope(tenant="t", user="alice", agent="a")
    assert calls == [("stdio", scope, {"spaces": ("team", "board")})]
    assert settings.with_name("memory.db").exists()


def test_a_token_of_the_environment_is_taken_and_not_told(
    settings: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRID_MEMORY_MCP_TOKEN", SECRET)
    options = "-u alice --http 8000 --host 0.0.0.0 --allow-host memory.example.org".split()
    done = run(str(settings), *options)
    assert done.stderr == "serving http://127.0.0.1:8000/mcp; stop with Ctrl-C\n"
    given = {"port": 8000, "host": "0.0.0.0", "hosts": ["memory.example.org"], "token": SECRET}  # noqa: S104 - not bound
    assert calls == [("http", Scope(user="alice"), {"spaces": (), **given})]


@pytest.mark.parametrize(
    ("options", "problem"),
    [("", "add --user NAME"), ("--tenant t --space s", "spaces need a user")],
)
def test_a_wrong_binding_makes_no_store(settings: Path, calls: list[Any], options: str, problem: str) -> None:
    error = run(str(settings), *options.split()).exception
    assert isinstance(error, InvalidInputError)
    assert problem in str(error)
    assert not calls
    assert not settings.with_name("memory.db").exists()


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


def test_all_tools_are_told_of_and_what_they_do() -> None:
    words = {"adds": ADDS, "changes": CHANGES, "destroys": DESTROYS, "reads": READS}
    rows = re.findall(r"^\| `(memory_\w+)` \|.*\| (\w+) \|$", GUIDE, re.MULTILINE)
    assert {name: words[kind] for name, kind in rows} == dict(KINDS)
