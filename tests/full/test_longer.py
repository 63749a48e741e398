"""What the tests at the root prove on a few cases, here on all or on more."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from benchmarks.faults import kills
from tests import test_durability, test_migrate
from tests.test_durability import writer
from tests.test_migrate import PAIRS, make

if TYPE_CHECKING:
    import subprocess

    from tests.faces import Face, Open

__all__ = ["make", "writer"]


def test_hundreds_of_killed_writers_lose_nothing(
    opened: Open, writer: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_durability, "CYCLES", 301)
    test_durability.test_nothing_acknowledged_is_lost_when_the_writer_is_killed(opened, writer)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_copy_shows_what_the_original_shows_to_both_faces(
    face: Face, make: test_migrate.Make, source: str, target: str
) -> None:
    test_migrate.test_the_copy_shows_what_the_original_shows(face, make, source, target)


@pytest.mark.parametrize("engine", ["milvus", "clickhouse"])
def test_a_few_kills_of_what_takes_long_to_begin_leave_nothing_wrong(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the archive only writers are killed: there is ClickHouse's own engine here, and no server of it."""
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    assert kills.run(parser.parse_args(["--engines", engine, "--count", "3"])) == 0
    assert f"{engine}: 3 writers" in capsys.readouterr().out
