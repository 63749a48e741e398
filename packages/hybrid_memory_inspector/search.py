"""A recall with the arithmetic of each score, and why a turn was not in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from hybrid_memory import Event, EventKind, Hit, Hits, Weights
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory_inspector.log import facts_from
from hybrid_memory_inspector.reading import PageRequest, tiers_of

MOST = 100
DEFAULT_K = 10
EXAMPLES, EXAMPLE_CHARS = 5, 100
EXAMINED = 200
"""Newest prompts or messages among which examples are looked for."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one signal brings to a score."""

    name: str
    weight: float
    signal: float
    points: float


def search(request: PageRequest) -> dict[str, Any]:
    """The hits of a query, and why a turn that is named is not among them."""
    query, missing = request.query.get("q", "").strip(), request.query.get("missing", "").strip()
    k = request.number("k", DEFAULT_K, most=MOST)
    hits = request.scoped.recall(query, k=k) if query else Hits()
    why_not, refused = None, ""
    if query and missing:
        try:
            why_not = request.scoped.why(f"#{missing}" if missing.isdecimal() else missing, query, k=k)
        except InvalidInputError as error:
            refused = str(error)
    plan = str(hits[0].plan) if hits and hits[0].plan else ""
    facts = facts_from(request, {hit.record.turn for hit in hits}) if hits else []
    return {
        "q": query,
        "k": k,
        "hits": _rows(request, hits),
        "facts": [fact for fact in facts or [] if fact.current],
        "examples": [] if query else _examples(request),
        "plan": f"{plan[0].upper()}{plan[1:]}." if plan else "",
        "notes": list(dict.fromkeys(hit.note for hit in hits if hit.note)),
        "missing": missing,
        "why_not": why_not,
        "refused": refused,
    }


def _examples(request: PageRequest) -> list[str]:
    """Queries to begin with: those of the newest prompts, or else the newest messages; questions if there are some."""
    noted = request.scoped.events(kinds=(EventKind.RECALLED,), limit=EXAMINED)
    messages = [] if noted else request.scoped.events(kinds=(EventKind.MESSAGE,), limit=EXAMINED)
    texts = [event.payload["query"] for event in noted]
    texts += [event.message.text for event in messages if event.message.opens]
    short = [text for text in dict.fromkeys(reversed(texts)) if 0 < len(text) <= EXAMPLE_CHARS]
    return [text for text in short if text.endswith(("?", "？"))][:EXAMPLES] or short[:EXAMPLES]


def _rows(request: PageRequest, hits: list[Hit]) -> list[dict[str, Any]]:
    records = [hit.record for hit in hits]
    # As much of the event of a record's turn as its tiers depend on.
    turns = [
        Event(record.turn, record.sources[0], record.scope, EventKind.MESSAGE, record.at, {}) for record in records
    ]
    tiers = tiers_of(request, turns)
    return [
        {
            "place": place,
            "hit": hit,
            "speaker": spoken(hit.record.speaker, hit.record.origin),
            "asked": spoken(hit.asked.speaker, hit.asked.origin) if hit.asked else "",
            "handle": handle(hit.record.turn, hit.record.turn),
            "shares": shares_of(hit),
            "tiers": tiers[hit.record.turn],
        }
        for place, hit in enumerate(hits, 1)
    ]


def shares_of(hit: Hit) -> list[Share]:
    """What each signal brings, in the order of the weights; the whole bar is a score of 1."""
    total = sum(getattr(hit.weights, part.name) for part in fields(Weights))
    parts = [(part.name, getattr(hit.weights, part.name), getattr(hit.signals, part.name)) for part in fields(Weights)]
    return [Share(name, weight, signal, weight * signal / total) for name, weight, signal in parts if weight]
