"""Writes turns to a store and searches it until a line comes in on stdin; a line after each, at last their number."""

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hybrid_memory import EventKind, Record, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Draft, Entry

BOB = Scope(user="bob")
DIM = 32


def main() -> None:
    """One turn at a time."""
    database = Database(Path(sys.argv[1]), power_safe=False)
    log, index = SqliteLog(database), SqliteIndex(database, exact_limit=50)
    over = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    number = 0
    while not over.is_set():
        now = datetime.now(UTC)
        draft = Draft(f"b{number}", True, None, EventKind.MESSAGE, now, {"content": f"word{number}"})
        position = log.append(BOB, [draft])[0].position
        record = Record(position, BOB, f"word{number}", now, (draft.id,), segment=position, ordinal=0)
        index.upsert(BOB, [Entry(record, f"word{number}")], after=index.status(BOB).applied, upto=position)
        row = np.eye(DIM, dtype=np.float32)[number % DIM]
        index.put_vectors(("canaries", DIM), {position: b"b%d" % (number % DIM)}, {b"b%d" % (number % DIM): row})
        found = index.matching([f"word{number}"], Where(BOB), 1).ids.tolist()
        if found != [position] or len(index.nearest(row, Where(BOB), 10_000).ids) != number + 1:
            raise AssertionError(f"turn {number} is not found")
        number += 1
        sys.stdout.write("writing\n")
        sys.stdout.flush()
    index.train(BOB)
    index.close()
    sys.stdout.write(f"{number}\n")


if __name__ == "__main__":
    main()
