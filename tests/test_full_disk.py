"""A disk that is full, or may not be written: what is only asked is answered."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from tests.faces import Face
from tests.forks import exit_code

NOBODY = 65534


def config_of(folder: Path, **settings: Any) -> MemoryConfig:
    return MemoryConfig(
        url=f"sqlite:///{folder / 'memory.db'}", embedder="hashing", power_safe=False,
        orchestration=OrchestrationConfig(background=False), **settings,
    )  # fmt: skip


@pytest.fixture
def full(tmp_path: Path) -> Iterator[HybridMemory]:
    """A memory with turns that nobody has read or indexed yet, whose file cannot grow."""
    config = config_of(tmp_path, compaction=CompactionConfig(max_tokens=600))
    with open_memory(config) as memory:
        alice = memory.scoped(user="alice", session="monday")
        alice.remember("I live in Rome.")
        assert alice.facts()
        alice.remember([f"The heron number {number} nests by the mill. " + "reed " * 40 for number in range(30)])
        alice.remember("I like figs.")
        writer = memory._runtime.services.log._log._db._writer  # type: ignore[attr-defined]
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        while True:
            try:
                memory.scoped(user="bob", session="filler").remember("x" * 500)
            except StoreUnavailableError:
                break
        yield memory


def test_what_is_asked_is_answered_on_a_full_disk(full: HybridMemory, face: Face) -> None:
    alice = full.scoped(user="alice", session="monday")
    with pytest.raises(StoreUnavailableError):
        alice.remember("x" * 5000)
    hits = face(alice).recall("Where do herons nest?", k=3)
    assert "full" in hits[0].note
    prompt = face(alice).assemble("Where do herons nest?")
    assert "full" in prompt.unwritten
    assert "heron" in prompt.text
    assert prompt.tokens <= 600
    assert "Rome" in str(face(alice).facts())
    assert "Rome" in str(face(alice).profile())
    assert face(alice).history(limit=1)[0].content == "I like figs."


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that any user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def seen(alice: ScopedMemory) -> None:
    """Raises where something is not shown."""
    assert "Rome" in alice.recall("Where do I live?")[0].record.text
    assert alice.assemble("Where do I live?").messages
    assert "Rome" in str(alice.facts())
    assert len(alice.history()) == 1


def look_as_nobody(config: MemoryConfig, key: bytes | None) -> None:
    """As a user who may write nothing."""
    with open_memory(config, key=key, read_only=True) as memory:
        seen(memory.scoped(user="alice"))  # all that this imports, which nobody may not read perhaps
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    with open_memory(config, key=key, read_only=True) as memory:
        seen(memory.scoped(user="alice"))
        with pytest.raises(InvalidInputError):
            memory.scoped(user="alice").remember("x")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="becomes another user the POSIX way")
@pytest.mark.parametrize("key", [None, bytes(range(32))], ids=["plain", "encrypted"])
def test_it_is_read_where_nothing_may_be_written(readable: Path, key: bytes | None) -> None:
    if key is not None:
        pytest.importorskip("sqlcipher3")
    config = config_of(readable)
    with open_memory(config, key=key) as memory:
        alice = memory.scoped(user="alice", session="monday")
        alice.remember("I live in Rome.")
        alice.facts()
        memory.flush()
    files = [file for file in readable.iterdir() if file.is_file()]
    for file in files:
        file.chmod(0o444)
    readable.chmod(0o555)
    before = {file: file.read_bytes() for file in files}
    assert exit_code(look_as_nobody, config, key) == 0
    readable.chmod(0o755)
    assert {file: file.read_bytes() for file in readable.iterdir() if file.is_file()} == before
