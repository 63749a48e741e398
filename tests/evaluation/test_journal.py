from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.apps.evaluation.replaying import Journal


def never() -> Any:
    raise AssertionError("this is done already")


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    file = tmp_path / "run" / "journal.jsonl"
    assert Journal(file).done("a", 1, by=lambda: {"x": "记住"}) == {"x": "记住"}
    assert Journal(file).done("a", 1, by=never) == {"x": "记住"}
    assert Journal(file).done("a", 2, by=lambda: 3) == 3


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    Journal(file).done("a", by=lambda: 1)
    Journal(file).done("b", by=lambda: 2)
    content = file.read_text()
    file.write_text(content.rstrip("\n")[:-3])
    again = Journal(file)
    assert again.done("a", by=never) == 1
    assert again.done("b", by=lambda: 5) == 5
    assert Journal(file).done("b", by=never) == 5


def test_what_fails_or_is_not_final_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    journal = Journal(file)
    with pytest.raises(ZeroDivisionError):
        journal.done("a", by=lambda: 1 // 0)
    assert journal.done("a", by=lambda: "bad", final=lambda value: value != "bad") == "bad"
    assert Journal(file).done("a", by=lambda: "good", final=lambda value: value != "bad") == "good"


def test_without_a_file_it_lasts_as_long_as_the_object() -> None:
    journal = Journal()
    assert journal.done("a", by=lambda: 1) == 1
    assert journal.done("a", by=never) == 1
