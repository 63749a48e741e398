"""The commands that the documents show exist, with these options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hybrid_memory.apps.cli.app import app

ROOT = Path(__file__).parents[2]
COMMAND: Any = typer.main.get_command(app)
SHELL = re.compile(r"^```(?:bash|sh|shell|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> Iterator[list[str]]:
    """What follows the name of the command, line by line."""
    for block in SHELL.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "hybrid-memory" in words:
                arguments = words[words.index("hybrid-memory") + 1 :]
                yield arguments[: arguments.index("|")] if "|" in arguments else arguments


def examples() -> Iterator[list[str]]:
    """Those in the help, which the reference shows."""
    for verb in COMMAND.commands.values():
        for line in (verb.help or "").splitlines():
            if "Example: " in line:
                yield shlex.split(line.partition("Example: hybrid-memory ")[2])


HELP = [("help", arguments) for arguments in examples()]
SHOWN = [(page.name, arguments) for page in PAGES for arguments in commands(page) if ("help", arguments) not in HELP]


def parsed(arguments: list[str]) -> dict[str, Any]:
    """The values of a command line; it is parsed, and nothing runs."""
    verb, rest = COMMAND, arguments
    if not arguments[0].startswith("-"):
        _, verb, rest = COMMAND.resolve_command(COMMAND.context_class(COMMAND), arguments)
    values: dict[str, Any]
    values, left, _ = verb.make_parser(verb.context_class(verb)).parse_args(list(rest))
    needed = [part.name for part in verb.params if part.required and not values.get(part.name)]
    eager = any(part.is_eager and values.get(part.name) for part in verb.params)
    assert not left
    assert eager or not needed, f"missing: {needed}"
    return values


@pytest.mark.parametrize(("page", "arguments"), HELP + SHOWN)
def test_a_command_that_is_shown_can_be_called(page: str, arguments: list[str]) -> None:
    parsed(arguments)


def test_what_does_not_exist_is_noticed() -> None:
    for wrong in (["eval"], ["eval", "chat.jsonl", "--no-such-option"], ["no-such-verb"]):
        with pytest.raises(Exception, match=r"missing|[Nn]o such"):
            parsed(wrong)
    assert len(HELP + SHOWN) > 25
