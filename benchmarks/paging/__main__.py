"""The tasks of MemGPT (arXiv 2310.08560, section 3) in small: a scripted model with its memory, and in a plain window.

    python benchmarks/paging --json paging.json
    python benchmarks/paging --parts lookup

Parts: lookup (keys whose values are keys), documents (more of them than fit the window). The model is a deterministic
policy that reads its prompt and nothing else; in the plain window the same policy gets the newest messages that fit,
and no functions. What is counted stands at the top of each module.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.paging import documents, lookup
from benchmarks.tables import parser, write

PARTS = {"lookup": lookup.run, "documents": documents.run}


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    command = parser(__doc__, "--json")
    command.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = command.parse_args()
    results = {}
    for name in chosen.parts:
        table = PARTS[name]()
        table.show()
        results[name] = table.rows
    write(chosen.json, results)


if __name__ == "__main__":
    main()
