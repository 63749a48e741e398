"""Tables and sources in the pages are what the code, the results and the example package say now."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md") if "<!-- make:" in page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_made_parts_are_current(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS / "hooks"), *sys.path])
    text = (DOCS / page).read_text("utf-8")
    filled = importlib.import_module("hooks").filled(text)
    assert text == filled, "python docs/hooks/hooks.py makes them anew"
    assert text.count("<!-- make:") == text.count("<!-- made -->")
