"""A few of the races that the campaign runs by the thousand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from benchmarks.faults.races import store_of_races


def test_nothing_that_is_forgotten_comes_back(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    raced = store_of_races(f"sqlite:///{tmp_path / 'memory.db'}", tmp_path, Random(22), 8, found)  # noqa: S311
    assert raced.total() == 8
    assert not found
