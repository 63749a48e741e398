from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.testing import ScriptedModel
from hybrid_memory_evaluation.learning import Learner

QUICK = ("--reader", "statements", "--embedder", "none")
LINES = "home=Bergen\tI live in Bergen.\nhome=Oslo\tPlease plan a walk near my Oslo flat.\n-question\tAm I in Rome?\n"
DIALOGUE = {
    "turns": [["user", "I live in Oslo."], ["user", "I moved to Bergen."]], "kind": "update",
    "current": [["home", "Bergen"]], "false": ["Oslo"],
}  # fmt: skip


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "mine_en.tsv"
    file.write_text(LINES, encoding="utf-8")
    return file


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    file = tmp_path / "talks_en.jsonl"
    file.write_text(json.dumps(DIALOGUE), encoding="utf-8")
    return file


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    """What every name of a model stands for: it finds one home, in the second line."""
    home = {"value": "Oslo", "attribute": "home", "subject": "user", "turn": 1, "stance": "holds"}
    given = ScriptedModel([{"facts": []}, {"facts": [home]}, {"facts": []}])
    monkeypatch.setattr("hybrid_memory_evaluation.cli_facts.chat_model", lambda name, **_: given if name else None)
    return given


def test_a_table_tells_what_was_found_and_what_was_right(command: Any, lines: Path, dialogues: Path) -> None:
    assert command("eval", "facts", "--file", lines, "--dialogues", dialogues, *QUICK) == 0
    assert command.err == "3 sentences, 1 dialogue\n"
    rows = [line.split() for line in command.out.splitlines() if line]
    assert rows[1][:5] == ["statements", "all", "3", "50", "%"]
    assert ["question", "0", "of", "1"] in rows
    assert ["en", "update", "1", "1,", "0"] in rows
    assert [row[-3:] for row in rows if row[1:2] == ["to"]] == [["1", "of", "1"]]
    assert "\x1b" not in command.out + command.err


def test_json_has_every_sentence_and_its_facts(command: Any, lines: Path) -> None:
    (report,) = command.json("eval", "facts", "-f", lines, *QUICK)
    assert report["reader"] == "statements"
    assert report["figures"][0]["recall"]["count"] == 1
    assert report["figures"][0]["kinds"]["question"]["total"] == 1
    assert [line["missed"] for line in report["lines"]] == [[], ["home: Oslo"], []]
    assert report["lines"][0]["facts"][0]["value"] == "Bergen"
    assert report["dialogues"] == []


def test_what_a_model_adds_is_a_row_of_its_own(command: Any, lines: Path, model: ScriptedModel) -> None:
    reports = command.json("eval", "facts", "-f", lines, *QUICK, "--model", "openai:x", "--yes")
    assert [report["reader"] for report in reports] == ["statements", "statements + model"]
    assert [report["figures"][0]["recall"]["count"] for report in reports] == [1, 2]
    assert len(model.prompts) == 3


def test_no_model_is_asked_before_somebody_agrees(
    command: Any, lines: Path, model: ScriptedModel, typed: Callable[..., None]
) -> None:
    options = ("eval", "facts", "-f", lines, *QUICK, "--model", "openai:x")
    assert command(*options) == 2
    assert "there is no terminal to confirm it: give --yes" in command.err
    typed("n\n")
    assert command(*options) == 0
    assert "Ask the model about 3 times?" in command.err
    assert model.prompts == []


def test_a_model_that_fails_is_told_and_the_rest_is_shown(command: Any, lines: Path, model: ScriptedModel) -> None:
    for answer in range(2):
        model([{"role": "user", "content": f"{answer}"}])
    assert command("eval", "facts", "-f", lines, *QUICK, "--model", "openai:x", "--yes") == 1
    assert "statements + model: the model failed 2 times: " in command.err
    assert "claims found" in command.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--file", "nobody.tsv"], "nobody.tsv"),
        (["--reader", "nobody"], "unknown extractor 'nobody'"),
        (["--base-url", "http://127.0.0.1:9"], "a base URL needs the name of its model"),
        (["--model", "nobody", "--yes"], "'nobody' has no provider"),
    ],
)
def test_bad_input_is_told_on_one_line(command: Any, lines: Path, options: list[str], told: str) -> None:
    assert command("eval", "facts", "-f", lines, "--embedder", "none", *options) in {1, 2}
    assert told in command.err.splitlines()[-1]
    assert command.out == ""


def test_who_interrupts_is_not_shown_where_it_was(command: Any, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Learner, "report", interrupted)
    assert command("eval", "facts", "-f", lines, *QUICK) == 130
    assert "Traceback" not in command.err


def test_the_help_tells_it_beside_the_other_evaluation(command: Any) -> None:
    assert command("eval", "facts", "--help") == 0
    assert "Usage: hybrid-memory eval facts" in command.out
    assert command("eval", "--help") == 0
    assert "Example: hybrid-memory eval chats/" in command.out
    assert command("--help") == 0
    assert "eval facts" in command.out
