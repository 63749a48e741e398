"""What was asked for on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line.

    Attributes:
        data: folder of the conversation sets.
        sets: of conversations.
        embedder: where it matters what is found by meaning.
        limit: histories of each set; ``questions`` of each history at most.
        max_tokens: of a window.
        sizes: numbers of documents; ``earlier``: numbers of messages before a step.
    """

    data: Path
    sets: tuple[str, ...]
    embedder: Any
    limit: int
    questions: int
    max_tokens: int
    sizes: tuple[int, ...]
    earlier: tuple[int, ...]
