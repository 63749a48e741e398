"""Copies a store, killed at random calls of its engines again and again until it is done; writes how often it was.

How many events each call restored is written to a file.
"""

import os
import random
import signal
import sys
from collections.abc import Sequence
from typing import Any

from hybrid_memory import Event, MemoryConfig, Scope, open_memory
from hybrid_memory.engines.sqlite import SqliteLog
from hybrid_memory.runtime.runners import InlineRunner
from hybrid_memory.store import migrate

LONGEST = 40
"""Calls after which it is killed at first, at the latest; later it gets further."""


QUIET: dict[str, Any] = {"orchestration": {"background": False}, "learning": {"background": False}}


def copy(source: str, target: str, notes: str, calls: int) -> None:
    """Until so many calls were made."""
    migrate.BATCH = 7
    left = [calls]
    call, restore = InlineRunner.call, SqliteLog.restore

    async def counted(self: InlineRunner, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        answer = await call(self, function, *args, **kwargs)
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def noted(self: SqliteLog, owner: Scope, events: Sequence[Event], **gone: Any) -> None:
        restore(self, owner, events, **gone)
        with open(notes, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{len(events)}\n")

    InlineRunner.call, SqliteLog.restore = counted, noted  # type: ignore[method-assign, assignment]
    configs = [MemoryConfig.of({"url": url, "embedder": "hashing", **QUIET}) for url in (source, target)]
    with open_memory(configs[0]) as old, open_memory(configs[1]) as new:
        old.migrate(new, progress=False)


def main() -> None:
    """In a process of its own each time."""
    source, target, notes = sys.argv[1:]
    rng, kills, status = random.Random(7), 0, 1  # noqa: S311
    while status:
        process = os.fork()
        if not process:
            copy(source, target, notes, rng.randrange(1, LONGEST + 10 * kills))
            os._exit(0)
        status = os.waitpid(process, 0)[1]
        if status not in (0, signal.SIGKILL):
            sys.exit(f"it failed: {status}")
        kills += status == signal.SIGKILL
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    main()
