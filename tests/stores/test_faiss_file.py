"""What becomes of the file of an approximate index costs time, never data."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid_memory import HybridMemory, Message

if TYPE_CHECKING:
    from tests.faces import Open

WORDS = "berlin cat piano rain invoice marathon recipe deploy garden violin".split()
QUERIES = ["berlin cat", "the violin in the garden", "invoice 17", "deploy recipe 199"]
START = datetime(2000, 1, 1, tzinfo=UTC)
Answers = list[list[tuple[str, float]]]


def fill(memory: HybridMemory, start: int = 0, count: int = 160) -> None:
    chance = np.random.default_rng(start)
    texts = [f"{' '.join(chance.choice(WORDS, size=4))} {number}" for number in range(start, start + count)]
    # A day between them, so that no turn leans on the one before it.
    said = [Message(content=text, id=text.split()[-1], at=START + timedelta(days=n)) for n, text in enumerate(texts)]
    memory.scoped(user="alice").remember(said)
    memory.flush()


def answers(memory: HybridMemory) -> Answers:
    alice = memory.scoped(user="alice")
    found = [alice.recall(query, k=10) for query in QUERIES]
    return [[(hit.record.sources[0], round(hit.signals.vector, 4)) for hit in hits] for hits in found]


@pytest.fixture
def small(opened: Open) -> Callable[[], HybridMemory]:
    """Opens a store whose index is approximate beyond 100 vectors."""
    return lambda: opened(exact_limit=100, power_safe=False)


@pytest.fixture(autouse=True)
def unlogged(caplog: pytest.LogCaptureFixture) -> None:
    """Lets go of the errors that are logged, so that a file left open is reported in the test that left it."""
    caplog.set_level(logging.ERROR, logger="hybrid_memory.engines.sqlite.vector_files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory.db.faiss"


@pytest.fixture
def before(small: Callable[[], HybridMemory], folder: Path) -> Answers:
    """What a filled store answers after it was closed, so that its file is there."""
    with small() as memory:
        fill(memory)
        expected = answers(memory)
    assert [file.suffix for file in folder.iterdir()] == [".vectors"]
    return expected


def truncated(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def of_other_content(folder: Path) -> None:
    for file in folder.iterdir():
        with file.open("wb") as target:
            np.savez(target, header=np.array([0, 5, 5]), ids=np.arange(5), index=np.zeros(50, dtype=np.uint8))


def folder_is_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way", encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [shutil.rmtree, truncated, of_other_content, folder_is_a_file],
    ids=lambda damage: damage.__name__,
)
def test_a_lost_or_damaged_file_changes_no_answer(
    small: Callable[[], HybridMemory], folder: Path, before: Answers, damage: Callable[[Path], None]
) -> None:
    damage(folder)
    with small() as memory:
        assert answers(memory) == before
        fill(memory, start=1000, count=20)
    with small() as memory:
        assert memory.stats().vectors == 180
        assert answers(memory) != before


def test_what_was_written_since_the_file_is_found(
    small: Callable[[], HybridMemory], folder: Path, before: Answers, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "old")
    with small() as memory:
        fill(memory, start=1000)
        expected = answers(memory)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "old", folder)
    with small() as memory:
        assert answers(memory) == expected != before


def test_a_store_that_was_set_back_does_not_use_the_file_of_its_future(
    small: Callable[[], HybridMemory], folder: Path, before: Answers, tmp_path: Path
) -> None:
    backup = (tmp_path / "memory.db").read_bytes()
    with small() as memory:
        fill(memory, start=1000)
        assert answers(memory) != before
    (tmp_path / "memory.db").write_bytes(backup)
    with small() as memory:
        assert answers(memory) == before
        fill(memory, start=2000)
        expected = answers(memory)
    shutil.rmtree(folder)
    with small() as memory:
        assert answers(memory) == expected
