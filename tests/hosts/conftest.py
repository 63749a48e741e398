from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from hybrid_memory import HybridMemory
from hybrid_memory.errors import StoreUnavailableError
from tests.doubles import line_to

Broken = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def broken(memory: HybridMemory) -> Broken:
    """Within it the store of the memory can neither be read nor written."""
    log = line_to(memory, "log")
    log.hits = lambda name, _: name in {"append", "read", "get", "heads"}

    @contextmanager
    def made() -> Iterator[None]:
        log.error = StoreUnavailableError("the disk is gone")
        yield
        log.error = None

    return made
