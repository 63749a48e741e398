"""Texts that users read keep to the style guide: the phrases that its table bans occur nowhere outside of code."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "STYLE.md"
CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]+`", re.DOTALL | re.MULTILINE)

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PACKAGES = (
    "core/hybrid_memory", "packages", "langchain_hybrid_memory", "llamaindex_hybrid_memory", "hybrid_memory_hosts",
)  # fmt: skip


def banned() -> list[str]:
    """The first column of the last table of the guide."""
    _, _, table = GUIDE.read_text(encoding="utf-8").partition("## Banned phrases")
    return re.findall(r"^\| (?!banned|-)([^|]+?) \|", table, re.MULTILINE)


PHRASES = re.compile(rf"\b(?:{'|'.join(map(re.escape, banned()))})\b", re.IGNORECASE)


def found(text: str) -> list[str]:
    """The banned phrases of a text in Markdown, outside of code."""
    words = " ".join(CODE.sub(" ", text).split())
    return [words[max(0, one.start() - 30) : one.end() + 30] for one in PHRASES.finditer(words)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_says_nothing_that_the_style_guide_bans(page: Path) -> None:
    assert found(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_prose_of_a_notebook_says_nothing_of_it_either(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert prose
    assert not [one for text in prose for one in found(text)]


def said(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module, and the texts of the errors that it raises."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Raise) and node.exc is not None:
            texts = (part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant))
            yield from (text for text in texts if isinstance(text, str))


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_errors_say_nothing_of_it_either(package: str) -> None:
    modules = sorted((ROOT / package).rglob("*.py"))
    assert modules
    texts = ((path.name, text) for path in modules for text in said(ast.parse(path.read_text(encoding="utf-8"))))
    assert not [(name, one) for name, text in texts for one in found(text)]


NO_NAMES = {"found", "told", "said", "wanted", "stands"}


def participles(tree: ast.Module) -> Iterator[str]:
    """The names of functions, parameters and attributes that a noun or a verb would say better."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            yield from (one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
            yield node.name
        elif isinstance(node, ast.ClassDef):
            fields = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
            yield from (one.id for one in fields if isinstance(one, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("package", PACKAGES)
def test_no_participle_is_a_name(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    named = {path: {name.strip("_") for name in participles(ast.parse(path.read_text("utf-8")))} for path in paths}
    assert {path: bad for path, names in named.items() if (bad := names & NO_NAMES)} == {}
    assert set(participles(ast.parse("class A:\n    told: int\ndef found(said):\n    self._wanted = 1"))) == {
        *("told", "found", "said", "_wanted")
    }


def test_a_banned_phrase_is_noticed_and_code_is_not() -> None:
    assert len(banned()) > 20
    assert found("All of it can be\nhad here.") == ["All of it can be had here."]
    assert found("`by handle`, and\n```text\nput aside\n```\n") == []
