"""The part of a long text that a question is about."""

from __future__ import annotations

from collections.abc import Collection

from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms

GAP = " … "


def excerpt(text: str, wanted: Collection[str], max_chars: int) -> str:
    """The text in one line; of a longer one than ``max_chars`` the sentences with most of the wanted terms, in order.

    Beside them come their neighbours, the nearest first, as far as there is room.
    """
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    parts = [" ".join(part.split()) for part in sentences(text)]
    hits = [len(set(wanted).intersection(terms(part))) for part in parts]
    best = max(range(len(parts)), key=lambda row: (hits[row], -row), default=0)
    order = sorted(range(len(parts)), key=lambda row: (-hits[row], abs(row - best), row))
    kept: list[int] = []
    room = max_chars - len(GAP)
    for row in order:
        if len(parts[row]) + len(GAP) <= room:
            kept.append(row)
            room -= len(parts[row]) + len(GAP)
    if not kept:
        return f"{parts[best][: max_chars - 1]}…"
    return _joined(parts, sorted(kept))


def _joined(parts: list[str], kept: list[int]) -> str:
    """The kept sentences, with a mark where some were left out."""
    text = "" if kept[0] == 0 else "… "
    for row, after in zip(kept, [*kept[1:], len(parts)], strict=True):
        text += parts[row] + (" " if after == row + 1 else GAP)
    return text.strip()
