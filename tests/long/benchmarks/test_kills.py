from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmarks.faults import kills
from benchmarks.faults._killed import wrong
from hybrid_memory import MemoryConfig, open_memory


def test_a_few_kills_of_writers_and_a_server_leave_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    assert kills.run(parser.parse_args(["--engines", "sqlite", "postgres", "redis", "--count", "4"])) == 0
    said = capsys.readouterr().out
    assert "sqlite: 1 writers" in said
    assert "postgres: 1 writers" in said
    assert "redis: 1 writers" in said


def test_what_is_lost_is_told(tmp_path: Path) -> None:
    """A campaign that finds nothing shows little if it cannot find anything."""
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'store.db'}", embedder="hashing")
    with open_memory(config) as memory:
        memory.scoped(user="alice").remember("The cat number c1 sat on the mat.", id="c1")
    assert wrong(config, ["c1"], 1) == []
    assert [line[:15] for line in wrong(config, ["c1", "c2"], 1)] == ["lost c2", "not recalled c2"]
    assert wrong(config, ["c1", "?c1", "-c1"], 1) == ["forgotten c1 is back"]
