"""Nonsense in every argument, through everything that takes arguments; ``benchmarks/faults fuzz`` makes more of it."""

from __future__ import annotations

import pytest

from benchmarks.faults.fuzz import campaign


@pytest.mark.parametrize(
    ("surface", "count"), [("verbs", 100), ("opening", 10), ("mcp", 20), ("cli", 4), ("adapters", 40)]
)
def test_nonsense_gets_only_errors_of_the_library(surface: str, count: int) -> None:
    done, _ = campaign(count, seed=7, faces=[surface], per_store=count // 2)
    assert done.calls == count
    assert not done.examples
