"""A small run of the campaign of random interrupts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.faults import interrupts


@pytest.mark.parametrize("sort", ["signal", "thread"])
def test_random_interrupts_wedge_lose_and_double_nothing(
    sort: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.engines.sqlite.driver.BUSY_SECONDS", 20.0)  # given back afterwards
    figures = interrupts.campaign(tmp_path, sort, 6, random.Random(1))  # noqa: S311 - no secret
    assert figures["interrupts"] == 6
    assert (figures["wedged"], figures["lost"], figures["twice"]) == (0, 0, 0)
