import json
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.apps.cli import main


class Command:
    """Runs the command in this process, and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str | Path | int) -> int:
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        self.out, self.err = self._capsys.readouterr()
        return int(done.value.code or 0)

    def json(self, *arguments: str | Path | int) -> Any:
        """What a verb prints as JSON, and nothing else on stdout."""
        assert self(*arguments, "--json") == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts words on stdin: as if somebody typed them at a terminal, or piped."""

    class Words(StringIO):
        def __init__(self, text: str, terminal: bool) -> None:
            super().__init__(text)
            self._terminal = terminal

        def isatty(self) -> bool:
            return self._terminal

    def types(text: str, *, terminal: bool = True) -> None:
        monkeypatch.setattr(sys, "stdin", Words(text, terminal))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    return types


TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "I work as a marine biologist. I live in Bergen.", "id": "m1"},
    {"role": "assistant", "content": "Which boats measure the salinity there?", "id": "m2"},
    {"role": "user", "content": "The Sigrun and the Tora. 我喜欢喝乌龙茶。", "id": "m3"},
    {"role": "assistant", "content": "Noted, two boats.", "id": "m4"},
    {"role": "user", "content": "I moved to Oslo last week.", "id": "m5"},
]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store of alice's, with vectors of the hashing embedder."""
    path = tmp_path / "memory.db"
    config = MemoryConfig(url=f"sqlite:///{path}", embedder="hashing", power_safe=False)
    with open_memory(config) as memory:
        for day, turn in enumerate(TURNS, 1):
            session = "spring" if day < 5 else "autumn"
            memory.scoped(user="alice", session=session).remember({**turn, "at": f"2026-03-0{day}T10:00:00Z"})
        memory.flush()
    return path
