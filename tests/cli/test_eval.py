import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_memory import __version__
from hybrid_memory_evaluation import METHODS
from tests.doubles import PATIENCE
from tests.world import cases

TOLD = "Marta Lindqvist, a marine biologist; src/parser.py; PostgreSQL because several boats write at once."
SHORT = ("--max-tokens", "400", "--embedder", "hashing")
QUICK = (*SHORT, "-m", "compact-alone", "-m", "sliding-window")


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A conversation whose beginning no window of 400 tokens shows."""
    written = {"path": "src/parser.py", "content": "def parse(row):\n    return row.get('salinity')\n"}
    call = {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": json.dumps(written)}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi, my name is Marta Lindqvist and I work as a marine biologist. Fix the parser."},
        {"role": "assistant", "content": "I write it anew.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "wrote src/parser.py"},
        {"role": "assistant", "content": "Done."},
        {
            "role": "user",
            "content": "We decided to use PostgreSQL instead of SQLite because several boats write at once.",
        },
        {"role": "assistant", "content": "Understood."},
    ]
    for row in range(12):
        said.append({"role": "user", "content": f"What does a reading of {7 * row} at station {row} mean to us?"})
        said.append({"role": "assistant", "content": f"It lies in the usual range for station {row} at this season."})
    file = tmp_path / "boats.json"
    file.write_text(json.dumps({"messages": said}), encoding="utf-8")
    return file


def loaded(folder: Path) -> Any:
    """The report that was written, with its keys as attributes."""
    text = (folder / "out" / "report.json").read_text(encoding="utf-8")
    return json.loads(text, object_hook=lambda values: SimpleNamespace(**values))


@pytest.fixture
def pageless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares a test the page."""
    monkeypatch.setitem(sys.modules, "jinja2", None)


class Model:
    """Answers all questions with everything, and grades every answer alike; counts its calls."""

    name = "told"

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, _: Sequence[Any]) -> str:
        self.calls += 1
        return TOLD

    def structured(self, _: Sequence[Any], schema: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return dict(filled(schema))


def filled(schema: dict[str, Any]) -> Any:
    """A value of a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: filled(one) for name, one in schema["properties"].items()}
    return {"number": 4, "string": "as the gold says", "array": []}[schema["type"]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """What every name of a model stands for."""
    given = Model()
    monkeypatch.setattr("hybrid_memory.models.named.language_model_of", lambda name: given if name else None)
    return given


def test_the_command_tells_its_version_and_shows_an_example(command: Any) -> None:
    assert command("--version") == 0
    assert command.out == f"hybrid-memory {__version__}\n"
    assert command("eval", "--help") == 0
    assert "Example: hybrid-memory eval chats/" in command.out
    assert command("eval", "--list-methods") == 0
    shown = command.out.splitlines()
    assert [line.removesuffix(" (by default)") for line in shown if line.endswith(" (by default)")] == [
        name for line in shown if (name := line.split()[0]) in METHODS
    ]
    assert {line.split()[0] for line in shown} >= set(METHODS)


def test_a_chat_is_evaluated_without_a_model(command: Any, chat: Path, tmp_path: Path) -> None:
    assert command("eval", chat, *QUICK, "--out", tmp_path / "out") == 0
    assert "on 1 chat at" in command.err
    report = loaded(tmp_path)
    assert [one.method for one in report.methods] == ["compact-alone", "sliding-window"]
    assert report.methods[0].survival > report.methods[1].survival == 0
    assert "2 methods on 1 conversation" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    rows = {line.split()[0]: line.split() for line in command.out.splitlines()}
    assert rows["compact-alone"][1] == f"{100 * report.methods[0].survival:.1f}*"
    assert rows["sliding-window"][1] == "0.0"
    assert "\x1b" not in command.out + command.err
    assert "no model is asked" in command.err
    assert "evaluating" not in command.err


@pytest.mark.usefixtures("pageless")
def test_json_is_the_report_and_nothing_else(command: Any, chat: Path, tmp_path: Path) -> None:
    assert command("eval", chat, *QUICK, "--json", "--out", tmp_path / "out") == 0
    assert command.out == (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    assert json.loads(command.out)["methods"]


@pytest.mark.parametrize(("options", "told"), cases("cli/eval.json", "wrong"))
def test_bad_input_is_told_on_one_line(command: Any, chat: Path, tmp_path: Path, options: list[str], told: str) -> None:
    assert command("eval", chat, *QUICK[2:], *options, "--out", tmp_path / "out") == 2
    (line,) = command.err.splitlines()
    assert line.startswith("hybrid-memory: ")
    assert told in line
    assert command.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("pageless")
def test_no_model_is_asked_before_somebody_agrees(
    command: Any, chat: Path, tmp_path: Path, model: Model, typed: Callable[..., None]
) -> None:
    options = (*QUICK, "--model", "openai:x", "--out", tmp_path / "out")
    assert command("eval", chat, *options) == 2
    assert command.err.splitlines()[-1] == (
        "hybrid-memory: a model would be called, and there is no terminal to confirm it: give --yes"
    )
    assert "answers" in command.err
    typed("n\n")
    assert command("eval", chat, *options) == 0
    assert "Continue?" in command.err
    assert model.calls == 0
    typed("y\n")
    assert command("eval", chat, *options) == 0
    assert model.calls > 0
    assert "evaluating" in command.err
    assert "Continue?" not in command.out


def test_the_command_starts_without_a_framework_or_numbers() -> None:
    code = (
        "import sys, typer, hybrid_memory.apps.cli.app as cli\n"
        "typer.main.get_command(cli.app)\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)  # noqa: S603
    loaded = set(done.stdout.split())
    assert not loaded & {"langchain", "langchain_core", "llama_index", "numpy", "matplotlib", "jinja2"}
