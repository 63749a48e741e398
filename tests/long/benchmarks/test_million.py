from __future__ import annotations

from pathlib import Path

from benchmarks.million import measured


def test_a_small_store_is_measured(tmp_path: Path) -> None:
    row = measured(tmp_path, 2, 150)
    assert (row.owners, row.each, row.found) == (2, 150, 1.0)
    assert row.p95 >= row.p50 > 0
    assert row.disk > 0
