"""The conversation sets: their conversations, as messages with times, and how tokens are counted over them."""

import gzip
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hybrid_memory import HybridMemory, MemoryConfig, Message, open_memory
from hybrid_memory.models.tokenizers import token_counter

MAX_TOKENS = 2000
IDENTITY = "You are a helpful assistant."
TIME_FORMATS = (
    "%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S", "%Y/%m/%d (%a) %H:%M", "%Y/%b/%d/%I:%M %p", "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
)  # fmt: skip

count_tokens = token_counter("cl100k_base")


def load(data: Path, name: str, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """The first conversations of a set."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if limit is not None and number >= limit:
                return
            yield json.loads(line)


def counted(question: Mapping[str, Any]) -> bool:
    """Whether the question is asked: a wrong label is not, nor one that no turn answers (as in LongMemEval's code)."""
    return not question.get("bad") and question.get("category") != "abstention"


def messages(turns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Message]]]:
    """The turns as messages, session by session; a turn without a readable time comes a second after the one before."""
    sessions: dict[str, list[Message]] = {}
    at = datetime(2020, 1, 1, tzinfo=UTC)
    for turn in turns:
        if not turn["text"].strip():  # a few turns of LongMemEval say nothing, and nothing cannot be remembered
            continue
        at = max(at + timedelta(seconds=1), when(turn.get("time")) or at)
        speaker = turn["speaker"]
        role = "assistant" if speaker.lower() in {"assistant", "ai"} else "user"
        name = None if speaker == role else speaker
        message = Message(role=role, name=name, content=turn["text"], id=str(turn["id"]), at=at)  # type: ignore[arg-type]
        sessions.setdefault(str(turn["session"]), []).append(message)
    yield from sessions.items()


def when(text: object) -> datetime | None:
    """The instant, if the text is in one of the sets' formats."""
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(str(text), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


@dataclass(slots=True)
class Clock:
    """Tells the time of the question that is asked."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        """The time."""
        return self.now


def dialogue(turns: Sequence[Mapping[str, Any]], *, prefix: str | None = None) -> list[Message]:
    """The turns as alternating messages of user and assistant, under their ids, or numbered behind a prefix."""
    names = [str(turn["id"]) if prefix is None else f"{prefix}{row}" for row, turn in enumerate(turns)]
    return [
        Message(role="assistant" if row % 2 else "user", content=turn["text"], id=name)  # type: ignore[arg-type]
        for row, (turn, name) in enumerate(zip(turns, names, strict=True))
    ]


def undisturbed(*, url: str = "memory://", **models: Any) -> HybridMemory:
    """A memory in which nothing works in the background, and that asking does not change."""
    quiet = {"background": False}
    config = {"url": url, "recall": {"count_uses": False}, "learning": quiet, "orchestration": quiet}
    return open_memory(MemoryConfig.of(config), **models)


def copied(file: Path, name: str) -> Path:
    """The store of this file as it stands, in another one beside it."""
    copy = file.with_name(name)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy
