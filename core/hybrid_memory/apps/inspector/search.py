"""A recall with the arithmetic of each score, and why a turn was not in it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from hybrid_memory import Event, EventKind, Explanation, Hit, Record, Tier, Weights
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.apps.inspector.reading import PageRequest, tiers_of
from hybrid_memory.errors import InvalidInputError

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
    handle: str
    shares: list[Share]
    total: float
    tiers: list[Tier]


def search(request: PageRequest) -> dict[str, Any]:
    """The hits of a query, and why a turn that is named is not among them."""
    query = request.query.get("q", "").strip()
    k = request.number("k", DEFAULT_K, most=MOST)
    wanted = request.query.get("missing", "").strip()
    within: Within = "session" if request.scope.session and request.query.get("within") == "session" else "user"
    hits: list[Hit] = request.scoped.recall(query, k=k, within=within) if query else []
    shown: dict[str, Any] = {"why_not": None, "refused": ""}
    if query and wanted:
        try:
            shown["why_not"] = _why_not(request, query, wanted, k=k, within=within)
        except InvalidInputError as error:
            shown["refused"] = str(error)
    return shown | {
        "q": query,
        "k": k,
        "within": within,
        "hits": _rows(request, hits),
        "plan": str(hits[0].plan) if hits and hits[0].plan else "",
        "notes": list(dict.fromkeys(hit.note for hit in hits if hit.note)),
        "missing": wanted,
    }


def _rows(request: PageRequest, hits: list[Hit]) -> list[HitRow]:
    best = max((hit.score for hit in hits), default=1.0) or 1.0
    positions = [hit.record.turn for hit in hits]
    tiers = tiers_of(request, [_turn(hit.record) for hit in hits])
    return [
        HitRow(
            place=place,
            hit=hit,
            speaker=spoken(hit.record.speaker, hit.record.origin),
            handle=handle(position, position),
            shares=shares_of(hit, best),
            total=sum(getattr(hit.weights, part.name) for part in fields(Weights)),
            tiers=tiers[position],
        )
        for place, (hit, position) in enumerate(zip(hits, positions, strict=True), 1)
    ]


def _turn(record: Record) -> Event:
    """As much of the event of a record's turn as its tiers depend on."""
    return Event(record.turn, record.sources[0], record.scope, EventKind.MESSAGE, record.at, {})


def shares_of(hit: Hit, best: float) -> list[Share]:
    """What each signal brings, in the order of the weights; the bar of the best score is as long as it can be."""
    total = sum(getattr(hit.weights, part.name) for part in fields(Weights))
    results: list[Share] = []
    start = 0.0
    for part in fields(Weights):
        weight, signal = getattr(hit.weights, part.name), getattr(hit.signals, part.name)
        points = weight * signal / total
        if weight:
            width = 100 * points / best
            results.append(Share(part.name, weight, signal, points, start, width))
            start += width
    return results


def _why_not(
    request: PageRequest, query: str, wanted: str, *, k: int, within: Literal["user", "session"]
) -> Explanation:
    name = f"#{wanted}" if wanted.isdecimal() else wanted
    return request.scoped.why_not(query, name, k=k, within=within)
