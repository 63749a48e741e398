"""A process of its own for one memory and one measure: reads a job, writes its result."""

from __future__ import annotations

import importlib
import json
import socket
import sys
import warnings
from pathlib import Path
from typing import Any, Never

from benchmarks.peers.systems import SYSTEMS


def refuse(*address: Any, **_options: Any) -> Never:
    """What looking up a host comes to."""
    raise OSError(f"the benchmark has no network: {address[0]!r}")


def main() -> None:
    """Run the job in the first file, and write what comes out into the second."""
    socket.getaddrinfo = refuse
    warnings.filterwarnings("ignore")
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    entry = next((entry for entry in SYSTEMS if entry.name == job["system"]), None)
    result = importlib.import_module(f"benchmarks.peers.{job['measure']}").work(job, entry)
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
