"""A recall with the arithmetic of each score, and why a turn was not in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from hybrid_memory import Event, EventKind, Hit, Hits, Record, Tier, Weights
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory_inspector.reading import PageRequest, tiers_of

Within: TypeAlias = Literal["user", "session"]

MOST = 100
DEFAULT_K = 10


@dataclass(frozen=True, slots=True)
class Share:
    """What one signal brings to a score; its stretch of the bar in percent, from the left."""

    name: str
    weight: float
    signal: float
    points: float
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class HitRow:
    """A hit on the page."""

    place: int
    hit: Hit
    speaker: str
    asked: str
    handle: str
    shares: list[Share]
    total: float
    tiers: list[Tier]


def search(request: PageRequest) -> dict[str, Any]:
    """The hits of a query, beside those of another one; and why a turn that is named is not among them."""
    query, other = request.query.get("q", "").strip(), request.query.get("other", "").strip()
    k = request.number("k", DEFAULT_K, most=MOST)
    wanted = request.query.get("missing", "").strip()
    within: Within = "session" if request.scope.session and request.query.get("within") == "session" else "user"
    least = request.share("min_confidence")
    hits = request.scoped.recall(query, k=k, within=within, min_confidence=least) if query else Hits()
    shown: dict[str, Any] = {"why_not": None, "refused": "", "sides": []}
    if query and other:
        others = request.scoped.recall(other, k=k, within=within, min_confidence=least)
        shown["sides"] = _sides(request, (query, hits), (other, others))
    if query and wanted:
        try:
            name = f"#{wanted}" if wanted.isdecimal() else wanted
            shown["why_not"] = request.scoped.why_not(query, name, k=k, within=within, min_confidence=least)
        except InvalidInputError as error:
            shown["refused"] = str(error)
    return shown | {
        "q": query,
        "other": other,
        "k": k,
        "within": within,
        "min_confidence": least,
        "unsure": hits.unsure,
        "hits": _rows(request, hits),
        "plan": _plan(hits),
        "notes": list(dict.fromkeys(hit.note for hit in hits if hit.note)),
        "missing": wanted,
    }


def _rows(request: PageRequest, hits: list[Hit]) -> list[HitRow]:
    positions = [hit.record.turn for hit in hits]
    tiers = tiers_of(request, [_turn(hit.record) for hit in hits])
    return [
        HitRow(
            place=place,
            hit=hit,
            speaker=spoken(hit.record.speaker, hit.record.origin),
            asked=spoken(hit.asked.speaker, hit.asked.origin) if hit.asked else "",
            handle=handle(position, position),
            shares=shares_of(hit),
            total=sum(getattr(hit.weights, part.name) for part in fields(Weights)),
            tiers=tiers[position],
        )
        for place, (hit, position) in enumerate(zip(hits, positions, strict=True), 1)
    ]


def _sides(request: PageRequest, *found: tuple[str, Hits]) -> list[dict[str, Any]]:
    """For each query its hits, each with its place among those of the other one; None if it is not there."""
    places = [{hit.record.id: place for place, hit in enumerate(hits, 1)} for _, hits in found]
    return [
        {
            "q": query,
            "plan": _plan(hits),
            "rows": [(row, places[1 - side].get(row.hit.record.id)) for row in _rows(request, hits)],
            "shared": len(places[0].keys() & places[1].keys()),
        }
        for side, (query, hits) in enumerate(found)
    ]


def _plan(hits: Hits) -> str:
    """How the recall read its query, as a sentence."""
    plan = str(hits[0].plan) if hits and hits[0].plan else ""
    return f"{plan[0].upper()}{plan[1:]}." if plan else ""


def _turn(record: Record) -> Event:
    """As much of the event of a record's turn as its tiers depend on."""
    return Event(record.turn, record.sources[0], record.scope, EventKind.MESSAGE, record.at, {})


def shares_of(hit: Hit) -> list[Share]:
    """What each signal brings, in the order of the weights; the whole bar is a score of 1."""
    total = sum(getattr(hit.weights, part.name) for part in fields(Weights))
    results: list[Share] = []
    start = 0.0
    for part in fields(Weights):
        weight, signal = getattr(hit.weights, part.name), getattr(hit.signals, part.name)
        points = weight * signal / total
        if weight:
            width = 100 * points
            results.append(Share(part.name, weight, signal, points, start, width))
            start += width
    return results
