"""Every block of code in the documents runs, and prints what the document says.

A page is run from top to bottom in one namespace and in an empty folder; of README each block has a namespace of its
own, as if it were pasted into a file. A block of text behind a block of code is what it prints. A comment in front of a
block, ``<!-- not run: why -->``, keeps it from being run.
The pages on LangChain and LlamaIndex are run by the tests of these adapters, which also know their oldest versions.
"""

import importlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer.main

from hybrid_memory import HybridMemory, MemoryConfig
from hybrid_memory.apps.cli.app import app
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.models.named import embedder_of
from tests.adapters.test_packages import PAGES as OF_ADAPTERS

DOCS = Path(__file__).parents[1] / "docs"
HASHED = {"engines.md", "paging.md", "langgraph.md", "mcp.md", "inspector.md"}
"""Pages that are not about what is found; their models need not be loaded."""

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<shown>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
WRITTEN = "2026-11-22"
"""The day on which the documents were written."""

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NUMBER = re.compile(r"\d+\.\d+")
NEAR = 0.015
"""How much a score may differ between machines."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a page, with the line on which it begins, and the reason why it is not run."""

    line: int
    code: str
    shown: str
    reason: str | None


@cache
def blocks(page: str) -> tuple[Block, ...]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return tuple(
        Block(text.count("\n", 0, found.start("code")), found["code"], found["shown"] or "", found["reason"])
        for found in BLOCK.finditer(text)
    )


README = "../README.md"
NAMES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
PAGES = [README, *(name for name in NAMES if name not in OF_ADAPTERS and blocks(name))]


@cache
def local() -> Any:
    return embedder_of("auto")


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What a page defines; its memories are closed afterwards."""
    hashed = request.node.callspec.params["page"] in HASHED
    monkeypatch.chdir(tmp_path)
    given = HashingEmbedder if hashed else local
    monkeypatch.setattr("hybrid_memory.memory.opening.embedder_of", lambda name: None if name == "none" else given())
    defined: dict[str, Any] = {"__name__": "page"}
    with patch.dict(os.environ):  # a page may set a key
        yield defined
    empty(defined)


def empty(names: dict[str, Any]) -> None:
    for memory in [value for value in names.values() if isinstance(value, HybridMemory)]:
        memory.close()
    names.clear()


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_prints_what_the_page_says(page: str, names: dict[str, Any]) -> None:
    for block in blocks(page):
        if block.reason is not None:
            compile(block.code, page, "exec")
            continue
        if page == README:
            empty(names)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, page, "exec", dont_inherit=True), names)  # noqa: S102 - our own code
        assert alike(printed.getvalue(), block.shown), f"{page}, line {block.line}, printed:\n{printed.getvalue()}"


ENDS = re.compile(r"[ \t]+$", re.MULTILINE)


def alike(printed: str, shown: str) -> bool:
    """The same text, but for ids, the day and the minute it was made, spaces that nobody sees, and last digits."""
    today = datetime.now(UTC)
    days = "|".join([WRITTEN, f"{today:%Y-%m-%d}", f"{today - timedelta(days=1):%Y-%m-%d}"])
    made = re.compile(rf"(?:{days})(?: \d\d:\d\d)?")
    printed, shown = (made.sub("today", ID.sub("id", ENDS.sub("", text))) for text in (printed, shown))
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (printed, shown)]
    same = NUMBER.sub("0", printed) == NUMBER.sub("0", shown)
    return same and all(abs(one - other) <= NEAR for one, other in zip(*numbers, strict=True))


def test_a_wrong_output_is_noticed() -> None:
    assert alike(f"[{datetime.now(UTC):%Y-%m-%d}] 0.531\n", f"[{WRITTEN}] 0.537\n")
    assert not alike("0.531\n", "0.631\n")
    assert not alike("2026-01-01\n", f"{WRITTEN}\n")
    assert not alike("one\n", "two\n")
    assert not alike("", "one\n")


def test_the_configuration_of_the_engines_is_read(tmp_path: Path) -> None:
    texts = re.findall(r"```yaml\n(.*?)```", (DOCS / "engines.md").read_text(encoding="utf-8"), re.DOTALL)
    (text,) = [text for text in texts if "clickhouse" in text]
    (tmp_path / "memory.yaml").write_text(text, encoding="utf-8")
    config = MemoryConfig.from_yaml(tmp_path / "memory.yaml")
    assert (config.url, config.index.url) == ("redis://localhost:6379/0", "milvus://localhost:19530")
    assert config.archive.url == "clickhouse://localhost:8123/default"
    assert (config.index.algorithm, config.index.nlist) == ("ivf_flat", 1024)


COMMAND: Any = typer.main.get_command(app)
SHELL = re.compile(r"^```(?:bash|sh|shell|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


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
SHOWN = [
    (page.name, arguments)
    for page in (DOCS / "../README.md", *sorted(DOCS.rglob("*.md")))
    for arguments in commands(page)
    if ("help", arguments) not in HELP
]


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


MADE = sorted(page.name for page in DOCS.glob("*.md") if "<!-- make:" in page.read_text("utf-8"))


@pytest.mark.parametrize("page", MADE)
def test_made_parts_are_current(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS / "hooks"), *sys.path])
    text = (DOCS / page).read_text("utf-8")
    filled = importlib.import_module("hooks").filled(text)
    assert text == filled, "python docs/hooks/hooks.py makes them anew"
    assert text.count("<!-- make:") == text.count("<!-- made -->")
