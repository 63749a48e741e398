"""What scheduling is worth: recalls beside background work, with the scheduler and without it.

    python benchmarks/orchestration --data PATH --json out.json

Turns and questions are those of the conversation sets under PATH, cut to their first words, so that the real model gets
through them in minutes. What is compared takes turns within a round, and the ratio of each round is taken before the
median over rounds, so that a busy machine slows both alike. The embedder is the local one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.orchestration.interactive import interactive
from benchmarks.orchestration.models import Counted
from hybrid_memory.models.embedders import LocalEmbedder


def main() -> None:
    """Run the parts, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recalls", type=int, default=200, help="at the same time")
    parser.add_argument("--queued", type=int, default=10_000, help="turns of other owners that wait")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = Counted(LocalEmbedder())
    results = interactive(options, model)
    if options.json:
        versions = {name: version(name) for name in ("hybrid-agent-memory", "numpy")}
        machine = {"python": sys.version.split()[0], "machine": platform.machine(), "cores": os.cpu_count()}
        report = {"embedder": model.name, **versions, **machine, **results}
        options.json.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
