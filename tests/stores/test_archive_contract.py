from __future__ import annotations

import pytest

from hybrid_memory.engines.in_memory import InMemoryArchive
from hybrid_memory.testing.archive import ArchiveContract


class TestInMemoryArchive(ArchiveContract):
    @pytest.fixture
    def archive(self) -> InMemoryArchive:
        return InMemoryArchive()
