"""Texts that users read keep to the style guide: the phrases that its table bans occur nowhere outside of code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "style.md"
CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]+`", re.DOTALL | re.MULTILINE)

# To be added once these texts are edited: README.md, CHANGELOG.md, notebooks/*.ipynb, docstrings and errors.
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if page != GUIDE)


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


def test_a_banned_phrase_is_noticed_and_code_is_not() -> None:
    assert len(banned()) > 20
    assert found("All of it can be\nhad here.") == ["All of it can be had here."]
    assert found("`by handle`, and\n```text\nput aside\n```\n") == []
