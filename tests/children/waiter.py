"""Says two things while its log is down, prints how many of them wait, and ends without closing anything."""

import os
import sys

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.errors import StoreUnavailableError


def down(*_: object, **__: object) -> None:
    """As an engine that is not there."""
    raise StoreUnavailableError("down")


def main() -> None:
    """The store and the outbox are given as arguments."""
    memory = open_memory(MemoryConfig(url=sys.argv[1], outbox=sys.argv[2], embedder="none", power_safe=False))
    memory._runtime.services.log.append = down  # type: ignore[method-assign,assignment]
    sys.stdout.write(f"{len(memory.scoped(user='alice').remember(['one', 'two']).waiting)}\n")
    sys.stdout.flush()
    os._exit(9)


if __name__ == "__main__":
    main()
