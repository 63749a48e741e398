"""The site in a real browser: axe-core finds no breach of WCAG A or AA, and code fits a screen of 1440 pixels."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ["index.html", "recall.html", "settings.html", "zh/index.html", "decisions/0001-the-log-is-the-truth.html"]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
WIDER = "[...document.querySelectorAll('pre')].filter(one => one.scrollWidth > one.clientWidth + 1).length"


@pytest.fixture(params=["light", "dark"])
def tab(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=request.param)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible_and_its_code_fits(page: str, tab: Page, site: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab.goto((site / page).as_uri())
    found = axe.run(tab, options=RULES)
    assert found.violations_count == 0, found.generate_report()
    assert tab.evaluate(WIDER) == 0
