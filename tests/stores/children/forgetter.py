"""Erases every other event of a store, deletes their records and scrubs, and says when each step is done.

Arguments: the file, the last step to do; it then waits to be killed.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from hybrid_memory import EventKind, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.ports import Draft

ALICE = Scope(user="alice")


def main() -> None:
    """Step by step."""
    path, last = sys.argv[1:]
    database = Database(Path(path))
    log, index = SqliteLog(database), SqliteIndex(database, exact_limit=50)
    positions = [event.position for event in log.read(ALICE)][::2]
    note = Draft("note", True, None, EventKind.ERASED, datetime.now(UTC), {"positions": positions})
    steps = {
        "erased": lambda: log.erase(ALICE, positions, {}, note),
        "deleted": lambda: index.delete(positions),
        "scrubbed": log.scrub,
    }
    for name, step in steps.items():
        sys.stdout.write(f"before {name}\n")
        sys.stdout.flush()
        step()
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        if name == last:
            sys.stdin.readline()


if __name__ == "__main__":
    main()
