"""What the parts share: their options, memories to run with, turns as messages, and how values are compared."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.compression.sets import CachedEmbedder
from hybrid_memory import Fact, LearningConfig, MemoryConfig, Message, open_memory
from hybrid_memory.text.tokenize import terms
from hybrid_memory_evaluation.probing.probe import holds, plain

TIME_FORMATS = ("%Y/%m/%d (%a) %H:%M", "%Y/%b/%d/%I:%M %p", "%I:%M %p on %d %B, %Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")
START = datetime(2024, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line.

    Attributes:
        data: folder of the conversation sets.
        limit: conversations of each set; None is all.
    """

    data: Path
    embedder: CachedEmbedder
    limit: int | None = None


@dataclass(slots=True)
class Tally:
    """Values that an annotation knows, and values that were learned."""

    known: int = 0
    found: int = 0
    claimed: int = 0
    right: int = 0
    missed: list[Any] = field(default_factory=list)
    wrong: list[Any] = field(default_factory=list)

    def know(self, found: bool, detail: Any) -> None:
        """Count a value of the annotation."""
        self.known += 1
        self.found += found
        if not found:
            self.missed.append(detail)

    def claim(self, right: bool, detail: Any) -> None:
        """Count a value that was learned."""
        self.claimed += 1
        self.right += right
        if not right:
            self.wrong.append(detail)

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        for name in ("known", "found", "claimed", "right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missed += other.missed
        self.wrong += other.wrong

    def row(self) -> dict[str, Any]:
        """The columns of a table."""
        return {
            "known": self.known,
            "recall": share(self.found, self.known),
            "claimed": self.claimed,
            "precision": share(self.right, self.claimed),
            "missed": self.missed,
            "wrong": self.wrong,
        }


COUNTED = ("known", "recall", "claimed", "precision")


def share(part: int, whole: int) -> float | None:
    """None of nothing."""
    return part / whole if whole else None


def matches(one: str, other: str) -> bool:
    """Whether one of two values holds the other, whatever their case, width and punctuation."""
    if not plain(one) or not plain(other):
        return False
    return holds(one, other) or holds(other, one)


def covered(words: Iterable[str], text: str) -> float:
    """The share of the words whose stems stand in the text."""
    wanted = set(words)
    return len(wanted & set(terms(text))) / len(wanted) if wanted else 0.0


def when(text: str | None) -> datetime | None:
    """The instant, if the text is in one of the sets' formats."""
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text or "", form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def messages(turns: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Message]]:
    """The turns with their sessions; a turn without a readable time comes a minute after the one before."""
    at = START
    for turn in turns:
        if not turn["text"].strip():
            continue
        at = when(turn.get("time")) or at + timedelta(minutes=1)
        speaker = str(turn["speaker"])
        role = "assistant" if speaker.lower() in {"assistant", "ai"} else "user"
        named = None if speaker.lower() in {"assistant", "ai", "user", ""} else re.sub(r"\s+", " ", speaker)
        yield str(turn["session"]), Message(role=role, name=named, content=turn["text"], id=str(turn["id"]), at=at)  # type: ignore[arg-type]


def by_session(turns: Sequence[dict[str, Any]]) -> dict[str, list[Message]]:
    """The turns as messages, session by session."""
    sessions: dict[str, list[Message]] = {}
    for session, message in messages(turns):
        sessions.setdefault(session, []).append(message)
    return sessions


def learned(turns: Sequence[dict[str, Any]], embedder: CachedEmbedder | None = None) -> tuple[list[Fact], float]:
    """All facts that follow from the turns, with their history, and the seconds that the reading took.

    They are read by rules alone where there is no embedder.
    """
    config = MemoryConfig(
        url="memory://",
        embedder="none" if embedder is None else "auto",
        learning=LearningConfig(background=False),
    )
    with open_memory(config, embedder=embedder) as memory:
        for session, said in by_session(turns).items():
            memory.scoped(user="u", session=session).remember(said)
        owner = memory.scoped(user="u")
        started = time.perf_counter()
        owner.flush(progress=False)
        return owner.facts(history=True), time.perf_counter() - started
