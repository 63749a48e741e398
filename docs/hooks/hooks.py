"""What MkDocs calls while it builds the site: pages, tables and pictures that are made from the code.

A page asks for one by a comment of its own: ``<!-- make: settings -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmarks_page
import command_page
import diagrams
import settings_page

ROOT = Path(__file__).parents[2]
WANTED = re.compile(r"<!-- make: (?P<what>[a-z]+)(?: (?P<which>[a-z_-]+))? -->")

MADE: dict[str, Callable[[str], str]] = {
    "benchmark": lambda which: benchmarks_page.section(ROOT / "benchmarks" / "results", which),
    "command": lambda _: command_page.reference(),
    "floors": lambda _: diagrams.floors(ROOT / "pyproject.toml"),
    "path": lambda which: diagrams.path(ROOT / "docs" / "hooks" / "paths.yaml", which),
    "picture": lambda which: diagrams.inline(ROOT / "docs" / "assets" / f"{which}.svg"),
    "rooms": lambda _: diagrams.rooms(ROOT / "core" / "hybrid_memory"),
    "settings": settings_page.table,
}


def on_config(config: Any) -> Any:
    """Puts every decision into the navigation, in order."""
    folder = Path(config["docs_dir"], "decisions")
    pages = [f"decisions/{page.name}" for page in sorted(folder.glob("*.md")) if page.name != "index.md"]
    for part in config["nav"]:
        for entry in next(iter(part.values())):
            if isinstance(entry, dict) and entry.get("Decisions") == "decisions":
                entry["Decisions"] = ["decisions/index.md", *pages]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What the page asks for stands where it asks."""
    return WANTED.sub(lambda found: MADE[found["what"]](found["which"] or ""), markdown)
