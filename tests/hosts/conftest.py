from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid_memory import HybridMemory

Broken = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def broken(memory: HybridMemory, monkeypatch: pytest.MonkeyPatch) -> Broken:
    """Within it the store of the memory can neither be read nor written."""
    log = memory._runtime.services.log

    def full(*_: Any, **__: Any) -> None:
        raise StoreUnavailableError("the disk is gone")

    @contextmanager
    def made() -> Iterator[None]:
        with monkeypatch.context() as patch:
            for verb in ("append", "read", "get", "heads"):
                patch.setattr(log, verb, full)
            yield

    return made
