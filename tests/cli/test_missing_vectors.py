"""The first search of a store that was imported without an embedder."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import open_memory
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats

COUNT = 150


@pytest.fixture
def imported(command: Any, tmp_path: Path) -> Path:
    store, chat, settings = tmp_path / "memory.db", tmp_path / "chat.jsonl", tmp_path / "memory.yaml"
    turns = [{"session": "s", "role": "user", "content": f"about cat{number}"} for number in range(COUNT)]
    chat.write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
    assert command("import", store, chat, "--user", "alice", "--embedder", "none") == 0
    settings.write_text(f"url: sqlite:///{store}\nembedder: hashing\n")
    return settings


def _pending(settings: Path) -> int:
    with open_memory(settings, read_only=True) as memory:
        return memory.stats().pending


def test_at_a_terminal_vectors_are_made_under_a_bar(
    command: Any, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert command("search", imported, "cat77") == 0
    assert "indexing" in command.err
    assert _pending(imported) == 0
    assert command("search", imported, "cat77") == 0
    assert command.err == "", "there is no bar where there is nothing to do"


def test_elsewhere_a_line_says_so(command: Any, imported: Path) -> None:
    (first, *_) = command.json("search", imported, "cat77")
    assert first["text"] == "about cat77"
    assert command.err == f"{COUNT} vectors are missing: this search computes what it can in 10 seconds\n"
    assert _pending(imported) == 0


@pytest.mark.parametrize("verb", [("search", "cat77"), ("why", "#78", "--query", "cat77")])
def test_the_bar_may_be_interrupted_and_words_answer(
    command: Any, imported: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    batches: list[int] = []
    embed = HashingEmbedder.embed_documents

    def interrupted(self: HashingEmbedder, texts: Sequence[str]) -> Floats:
        batches.append(len(texts))
        if len(batches) == 3:
            raise KeyboardInterrupt
        return embed(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_documents", interrupted)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert command(verb[0], imported, *verb[1:]) == 0
    assert "about cat77" in command.out
    left = COUNT - sum(batches[:2])
    assert f"interrupted: {left} vectors left for the next search" in command.err
    assert _pending(imported) == left
