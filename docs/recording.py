"""Records what ``make demo`` prints as a picture, ``docs/assets/demo.svg``: ``make screenshots``, or this file alone.

``tests/long/test_demo.py`` fails when the demo prints something else, apart from times and sizes.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/assets/demo.svg"
WIDTH = 100
STYLES = {
    r"(?m)^== .*": "bold cyan",
    r"(?m)^  (LangChain|LlamaIndex) .*": "bold green",
    r"(?m)^\d\. .*": "bold",
    r"(?ms)^  \| .*?(?=\n\n)": "bright_black",
}
"""Patterns of lines, and their colours."""

FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)
"""Would be loaded from elsewhere."""


LENGTH = re.compile(r'textLength="([\d.]+)"([^>]*)>([^<]*)<')


def wide(match: re.Match[str]) -> str:
    """A text whose Chinese characters take two columns; rich gives them one."""
    text = unescape(match[3])
    return f'textLength="{float(match[1]) / len(text) * cell_len(text):.1f}"{match[2]}>{match[3]}<'


def printed() -> str:
    """What the demo prints."""
    demo = [sys.executable, str(ROOT / "examples/demo.py")]
    return subprocess.run(demo, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout  # noqa: S603


def main() -> None:
    """Run the demo, and keep the picture."""
    text = Text(f"$ make demo\n{printed().rstrip()}")
    for pattern, style in STYLES.items():
        text.highlight_regex(pattern, style)
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True)
    console.print(text, highlight=False)
    svg = console.export_svg(title="make demo", code_format=FONTS.sub("", CONSOLE_SVG_FORMAT), unique_id="demo")
    svg = LENGTH.sub(wide, svg)
    PICTURE.write_text(svg, encoding="utf-8")
    sys.stdout.write(f"{PICTURE.name}: {len(svg.encode()) / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
