"""A process of its own for one memory and one measure: reads a job, writes its result."""

import importlib
import json
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.peers.systems import SYSTEMS

look_up = socket.getaddrinfo


def here_only(host: Any, *where: Any, **options: Any) -> Any:
    """Look up this machine; any other host is refused."""
    if host in {"127.0.0.1", "localhost"}:
        return look_up(host, *where, **options)
    raise OSError(f"the benchmark has no network: {host!r}")


def main() -> None:
    """Run the job in the first file, and write what comes out into the second."""
    socket.getaddrinfo = here_only
    warnings.filterwarnings("ignore")
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    entry = next((entry for entry in SYSTEMS if entry.name == job["system"]), None)
    result = importlib.import_module(f"benchmarks.peers.{job['measure']}").work(job, entry)
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
