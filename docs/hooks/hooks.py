"""Tables, lists and sources in pages that are made from the code, and what MkDocs calls while it builds the site.

    python docs/hooks/hooks.py

makes them anew: what stands between ``<!-- make: settings -->`` and ``<!-- made -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmarks_page
import command_page
import settings_page

ROOT = Path(__file__).parents[2]
PART = re.compile(r"(?s)(?P<mark><!-- make: (?P<what>[a-z]+)(?: (?P<which>[\w./-]+))? -->\n).*?(?=<!-- made -->)")
MARK = re.compile(r"<!-- (?:make: .*?|made) -->\n?")
BOOSTS = {"api": 0.5, "decisions": 0.2}
"""A guide is found before the reference, and that before the reasons; by folder."""

MADE: dict[str, Callable[[str], str]] = {
    "benchmark": lambda which: benchmarks_page.section(ROOT / "benchmarks" / "results", which),
    "command": lambda _: command_page.reference(),
    "settings": lambda _: settings_page.sections(),
    "weights": lambda _: settings_page.weights(),
    "source": lambda which: source(ROOT / "tests" / "extension" / which),
}


def source(file: Path) -> str:
    """A file of the example package."""
    return f"```{file.suffix[1:].replace('py', 'python', 1)} title={file.name!r}\n{file.read_text(encoding='utf-8')}```"


def on_config(config: Any) -> Any:
    """Puts every decision into the navigation, in order."""
    folder = Path(config["docs_dir"], "decisions")
    pages = [f"decisions/{page.name}" for page in sorted(folder.glob("*.md")) if page.name != "index.md"]
    for part in config["nav"]:
        for entry in next(iter(part.values())):
            if isinstance(entry, dict) and entry.get("Decisions") == "decisions":
                entry["Decisions"] = ["decisions/index.md", *pages]
    return config


def filled(markdown: str) -> str:
    """A page with all its parts made anew."""
    return PART.sub(lambda part: f"{part['mark']}\n{MADE[part['what']](part['which'] or '')}\n\n", markdown)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page without its marks."""
    folder = page.file.src_uri.partition("/")[0]
    page.meta.setdefault("search", {"boost": BOOSTS.get(folder, 1)})
    return MARK.sub("", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """The theme's search is a dialog without a name."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


if __name__ == "__main__":
    for place in (ROOT / "docs").rglob("*.md"):
        place.write_text(filled(place.read_text("utf-8")), "utf-8")
