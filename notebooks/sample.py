"""The chat that the notebooks talk about: ten months of one person with an assistant, in English and Chinese."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CHAT = Path(__file__).parents[1] / "examples" / "sample_chat.jsonl"


def sessions() -> dict[str, list[dict[str, Any]]]:
    """The turns by session, oldest first, as messages: id, at, role, name and content."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for line in CHAT.read_text(encoding="utf-8").splitlines():
        turn = json.loads(line)
        grouped.setdefault(turn.pop("session"), []).append(turn)
    return grouped
