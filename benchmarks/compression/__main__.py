"""What long conversations keep when they are compacted, through the public face.

    python benchmarks/compression --data PATH --cache PATH --json out.json

Parts: replay (prompts along a conversation), survival (facts after many compactions). Each prints its tables; what is
counted stands at the top of its module.
"""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.compression import replay, survival
from benchmarks.tables import parser, write
from benchmarks.vectors import KeptVectors

PARTS = {"replay": replay.run, "survival": survival.run}


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    command = parser(__doc__, "--data", "--limit", "--cache", "--json")
    command.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = command.parse_args()
    results: dict[str, Any] = {}
    embedder = KeptVectors(options.cache)
    for name in options.parts:
        started = time.perf_counter()
        results[name] = {}
        for table in PARTS[name](options.data, embedder, options.limit):
            table.show()
            results[name][table.title] = table.rows
        print(f"\n{name}: {time.perf_counter() - started:.0f} s", flush=True)
        embedder.save()
    write(options.json, results)


if __name__ == "__main__":
    main()
