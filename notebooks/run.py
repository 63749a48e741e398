"""Run notebooks from top to bottom and keep what they show.

Each notebook works when downloaded alone: it imports installed packages only.

python notebooks/run.py                     all of them
python notebooks/run.py 04_why_this_came_back.ipynb
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent

TIMEOUT = 120
"""Seconds that a cell may take."""

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")

WORK = re.compile(r"<details><summary>work</summary>.*?</details>", re.DOTALL)
"""Of `Stats`: how long everything took in this run."""


def read(path: Path) -> Any:
    """The notebook as it is stored."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def execute(path: Path, folder: Path) -> Any:
    """The notebook with what its cells show when they are run one after the other in a fresh process.

    Ids differ between runs, so they are numbered in the order in which they appear. Times are left out.

    Args:
        path: of the notebook.
        folder: the working directory; everything it writes goes there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    notebook = read(path)
    with tempfile.TemporaryDirectory(prefix="nb-", ignore_cleanup_errors=True) as short:
        # Sockets of the file system where there are any: free ports may be taken before the kernel binds them.
        sockets = {"transport": "ipc", "ip": f"{short}/k"} if os.name == "posix" else {}
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(kernel_name="python3", **sockets),
            timeout=TIMEOUT,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        )
        # No network: nothing listens on this port.
        refused = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
        # Pictures are the same in each run.
        Path(short, "matplotlibrc").write_text("svg.hashsalt: notebooks\n", encoding="utf-8")
        plots = {"MATPLOTLIBRC": f"{short}/matplotlibrc", "SOURCE_DATE_EPOCH": "0"}
        own = {"IPYTHONDIR": short, "TMPDIR": short, "NO_COLOR": "1", **plots}
        client.execute(cleanup_kc=True, env={**os.environ, **refused, **own})
    _tidy(notebook)
    return notebook


def _tidy(notebook: Any) -> None:
    """Remove what differs between runs or machines."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    named = _numbered({})
    for cell in notebook.cells:
        for picture in (output.data for output in cell.get("outputs", ()) if "image/svg+xml" in output.get("data", ())):
            picture["image/svg+xml"] = " ".join(picture["image/svg+xml"].split())  # one line of a difference
        cell.metadata = {name: cell.metadata[name] for name in ("tags", "jupyter") if name in cell.metadata}
        for output in cell.get("outputs", ()):
            for key, shown in output.items():
                output[key] = _mapped(shown, named)


def _numbered(seen: dict[str, str]) -> Callable[[str], str]:
    def number(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"00000000-0000-7000-8000-{len(seen) + 1:012d}")

    return lambda words: UUID.sub(number, WORK.sub("", words))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """The value with all its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    return [_mapped(inner, change) for inner in value] if isinstance(value, list) else value


def main(names: list[str]) -> None:
    """Run these notebooks, or all, and write what they show into them."""
    for path in [HERE / name for name in names] or sorted(HERE.glob("*.ipynb")):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(path, Path(folder))
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {time.monotonic() - started:.1f} s, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
