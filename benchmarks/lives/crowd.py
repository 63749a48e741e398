"""Ordinary use of an assistant around a life, from a file of other people's chats."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import Any

from benchmarks.sets import load

ASSISTANTS = ("assistant", "sys", "ai")
BEFORE = 0.5
"""How long before the life the crowd begins, as a share of the life's length."""


def crowd_around(life: Mapping[str, Any], file: Path, most: int) -> list[dict[str, Any]]:
    """About so many turns, in sessions spread evenly from before the life to its end; ids begin with ``c``."""
    sessions: list[Sequence[Mapping[str, Any]]] = []
    for session in _sessions(file):
        if sum(map(len, sessions)) >= most:
            break
        sessions.append(session)
    first, last = (datetime.fromisoformat(life["turns"][row]["at"]) for row in (0, -1))
    begin = first - BEFORE * (last - first)
    made: list[dict[str, Any]] = []
    for number, session in enumerate(sessions):
        start = begin + (number + 0.5) / len(sessions) * (last - begin)
        for minute, turn in enumerate(session):
            role = "assistant" if turn["speaker"].lower() in ASSISTANTS else "user"
            at = (start + timedelta(minutes=minute)).isoformat()
            made.append(
                {"id": f"c{len(made)}", "session": f"crowd {number}", "at": at, "role": role, "text": turn["text"]}
            )
    return made


def _sessions(file: Path) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The first session of each conversation, then the second of each, and so on; none twice."""
    chats = [chat["turns"] for chat in load(file.parent, file.name.removesuffix(".jsonl.gz"))]
    by_chat = [[list(turns) for _, turns in groupby(chat, key=lambda turn: turn["session"])] for chat in chats]
    seen: set[tuple[str, ...]] = set()
    for session in chain.from_iterable(zip_longest(*by_chat)):
        said = [turn for turn in session or () if turn["text"].strip()]
        texts = tuple(turn["text"] for turn in said)
        if texts and texts not in seen:
            seen.add(texts)
            yield said
