"""What the pages call things: kinds of events, tiers, and the signals of a score."""

from __future__ import annotations

import re

from hybrid_memory import EventKind

KINDS = {
    EventKind.MESSAGE: "message",
    EventKind.COMPACTION: "compaction",
    EventKind.RESET: "conversation reset",
    EventKind.RECALLED: "prompt",
    EventKind.PAYLOAD: "offloaded text",
    EventKind.CLAIM: "claim",
    EventKind.LEARNED: "facts extracted",
    EventKind.ROLLBACK: "rollback",
    EventKind.SUPERSEDED: "edit",
    EventKind.ERASED: "forgotten",
    EventKind.GRANT: "grant",
    EventKind.DENIED: "access denied",
    EventKind.QUARANTINED: "in quarantine",
    EventKind.ITEM: "item",
    EventKind.USED: "recall count",
    EventKind.BLOCK: "block edit",
    EventKind.FILE: "file change",
}

TIERS = {
    "context": ("L1 in the prompt", "the next prompt has it word for word"),
    "semantic": ("L2 searchable", "a search can return it"),
    "episodic": ("L3 in the log only", "neither prompt nor search has it"),
}
"""By tier, the badge and what it means; a badge of the log stands where there is no other."""

SIGNALS = {
    "vector": "near the query in meaning, against the other hits",
    "text": "words in common with the query (BM25)",
    "similarity": "near the query in meaning, by itself",
    "coverage": "share of the query's words that it has, rare ones first",
    "neighbours": "the turns next to it fit the query",
    "segment": "the conversation around it fits the query",
    "alike": "resembles the best hit",
    "statement": "states something, rather than asks or greets",
    "speaker": "said by whom the query is about",
    "kind": "has what is asked for, such as a date or a number",
    "recency": "how new it is",
    "importance": "how important it is",
    "use": "how often it was recalled",
    "current": "no newer hit contradicts it",
    "exact": "has the quotes, paths and ids of the query",
    "temporal": "from the time that the query names",
}


def split(text: str, wanted: str) -> list[tuple[str, bool]]:
    """The text in stretches, each with whether it is one of the wanted words, in any case."""
    words = sorted(wanted.split(), key=len, reverse=True)
    if not words:
        return [(text, False)]
    parts = re.split(f"({'|'.join(map(re.escape, words))})", text, flags=re.IGNORECASE)
    return [(part, row % 2 == 1) for row, part in enumerate(parts) if part]
