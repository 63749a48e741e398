from __future__ import annotations

import argparse

import pytest

from benchmarks.faults import kills


def test_a_few_kills_of_writers_and_a_server_leave_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    assert kills.run(parser.parse_args(["--engines", "sqlite", "redis", "--count", "6"])) == 0
    said = capsys.readouterr().out
    assert "sqlite: 4 writers" in said
    assert "redis: 2 writers" in said


def test_what_is_lost_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that finds nothing shows little if it cannot find anything."""
    ids = kills.Writers.ids

    def invented(self: kills.Writers, batches: int) -> list[str]:
        return [*ids(self, batches), *(["c0-b999-0"] if batches < 0 else [])]

    monkeypatch.setattr(kills.Writers, "ids", invented)
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    assert kills.run(parser.parse_args(["--engines", "sqlite", "--count", "1"])) == 1
    assert "lost c0-b999-0" in capsys.readouterr().out
