"""Talking to a model that remembers, and to the memory alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_memory.apps.cli.stores import open_store


class Model:
    """Answers in pieces, and keeps what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[list[dict[str, Any]]] = []
        self.fails = False

    def stream(self, prompt: list[dict[str, Any]]) -> Iterator[Any]:
        self.prompts.append(prompt)
        yield SimpleNamespace(text="In Oslo, ")
        if self.fails:
            raise RuntimeError("out of \x1b[31mcredit\nTraceback")
        yield SimpleNamespace(text="\x1b[1msince last week.")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    given = Model()
    monkeypatch.setattr("hybrid_memory.apps.cli.chatting.chat_model", lambda *_, **__: given)
    return given


def said(path: Path, session: str) -> list[tuple[str, str]]:
    with open_store(str(path), read_only=True) as memory:
        return [(turn.role.value, turn.text) for turn in memory.scoped(user="alice", session=session).history()]


def test_without_a_model_it_says_so_and_shows_what_it_remembers(command: Any, filled: Path, typed: Any) -> None:
    typed("which boats measure salinity?\n/why\n/quit\nnever read\n", terminal=False)
    assert command("chat", filled, "-s", "talk") == 0
    assert command.out.startswith("no model; what I remember about it:\n")
    assert "#2 2026-03-02 assistant: Which boats measure the salinity there?" in command.out
    assert " vector + " in command.out
    assert "you>" not in command.out
    assert said(filled, "talk") == []


def test_a_model_gets_what_is_remembered_and_its_answer_is_remembered_too(
    command: Any, filled: Path, typed: Any, model: Model
) -> None:
    typed("where did I move last week?\n\n/profile\nand since when?\n", terminal=False)
    assert command("chat", filled, "-s", "talk", "--model", "fake:model", "--max-tokens", "900") == 0
    assert command.out.startswith("In Oslo, \N{REPLACEMENT CHARACTER}[1msince last week.\n")
    assert "marine biologist" in command.out
    first, second = model.prompts
    assert "I moved to Oslo last week." in str(first)
    assert first[-1]["content"].endswith("where did I move last week?")
    assert "In Oslo, " in str(second)
    assert [role for role, _ in said(filled, "talk")] == ["user", "assistant"] * 2


def test_with_json_each_question_gets_a_line(command: Any, filled: Path, typed: Any, model: Model) -> None:
    typed("where do I live?\nand since when?\n", terminal=False)
    assert command("chat", filled, "-s", "talk", "--model", "fake:model", "--json") == 0
    told = [json.loads(line) for line in command.out.splitlines()]
    assert [one["question"] for one in told] == ["where do I live?", "and since when?"]
    assert told[0]["answer"] == "In Oslo, \x1b[1msince last week."
    assert told[0]["hits"]


@pytest.mark.parametrize(
    ("words", "leaves"),
    [
        ("I moved to Bergen to study boats.", "quit"),
        ("我住在卑尔根。", " Exit "),
        ("My boat measures salinity", "/exit"),
    ],
)
def test_a_statement_is_remembered_without_an_answer_until_a_word_that_leaves(
    command: Any, filled: Path, typed: Any, words: str, leaves: str
) -> None:
    typed(f"{words}\n{leaves}\nnever read\n", terminal=False)
    assert command("chat", filled, "-s", "talk") == 0
    assert command.out == "remembered\n"
    assert said(filled, "talk") == [("user", words)]
