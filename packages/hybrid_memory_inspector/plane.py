"""A map of the turns by meaning: their vectors on the plane in which they differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory import Event, EventKind, Hit, Hits
from hybrid_memory.analysis import handle
from hybrid_memory_inspector.reading import PageRequest

TURNS = 400
"""On one map; older ones are linked."""

MOST_HITS = 8
"""That a query is joined with."""

HUES, AGES = 10, 6
"""Sessions with a hue of their own, and steps of age."""

WIDTH, HEIGHT, MARGIN = 900, 480, 26
"""Of the picture; the margin keeps points and numbers inside."""

Points = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dot:
    """A turn on the map.

    Attributes:
        look: names its colour.
        place: among the hits of the query, from 1; 0 of none.
    """

    position: int
    handle: str
    session: str
    speaker: str
    text: str
    x: float
    y: float
    look: str
    place: int


def landscape(request: PageRequest) -> dict[str, Any]:
    """The newest turns on a plane, and a query with its hits among them."""
    query = request.query.get("q", "").strip()
    colour = "time" if request.query.get("colour") == "time" else "session"
    before = request.number("before", 0) or None
    scoped = request.scoped
    hits = scoped.recall(query, k=MOST_HITS) if query else Hits()
    events = scoped.events(kinds=(EventKind.MESSAGE,), before=before, limit=TURNS + 1)
    older, events = len(events) > TURNS, events[-TURNS:]
    listed = {event.position: event for event in events}
    missing = [hit.record.turn for hit in hits if hit.record.turn not in listed]
    listed |= {event.position: event for event in scoped.events(which=missing)} if missing else {}
    vectors, asked = scoped.vectors(sorted(listed), query=query)
    drawn = [listed[position] for position in sorted(vectors)]
    plane = _plane(np.array([vectors[event.position] for event in drawn]), asked) if len(drawn) > 2 else None  # noqa: PLR2004
    shown: dict[str, Any] = {
        "q": query,
        "colour": colour,
        "before": before,
        "turns": len(events),
        "dots": [],
    }
    if plane is None:
        return shown | {"sessions": [], "without": len(events)}
    points, query_point, share = plane
    looks, sessions = _looks(drawn, colour)
    places = {hit.record.turn: place for place, hit in reversed(list(enumerate(hits, 1)))}
    dots = [_dot(event, point, looks[event.position], places) for event, point in zip(drawn, points, strict=True)]
    return shown | {
        "dots": sorted(dots, key=lambda dot: -dot.place if dot.place else -MOST_HITS - 1),
        "found": sorted((dot for dot in dots if dot.place), key=lambda dot: dot.place),
        "scores": _scores(hits),
        "point": query_point,
        "share": share,
        "sessions": sessions,
        "since": drawn[0].at,
        "until": drawn[-1].at,
        "older": events[0].position if older else None,
        "without": len(listed) - len(drawn),
        "size": (WIDTH, HEIGHT),
    }


def _scores(hits: Sequence[Hit]) -> Mapping[int, float]:
    return {hit.record.turn: hit.score for hit in reversed(hits)}


def _plane(rows: npt.NDArray[np.float32], asked: npt.NDArray[np.float32] | None) -> tuple[Points, Any, float]:
    """The points of the rows and of the query on their two main axes, fitted to the picture, and the share they show.

    The sign of each axis is that of its greatest part, so that a map does not turn over between two looks.
    """
    middle = rows.mean(axis=0)
    strengths, columns = np.linalg.eigh((rows - middle).T @ (rows - middle))  # the weakest first
    axes = columns[:, :-3:-1].T
    axes = axes * np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]
    points = (rows - middle) @ axes.T
    whole = points if asked is None else np.vstack([points, (asked - middle) @ axes.T])
    low, high = whole.min(axis=0), whole.max(axis=0)
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    placed = MARGIN + (whole - low) / np.maximum(high - low, 1e-9) * room
    share = float(strengths[-2:].sum() / max(strengths.sum(), 1e-9))
    query = None if asked is None else tuple(placed[-1].tolist())
    return placed[: len(points)], query, share


def _looks(events: Sequence[Event], colour: str) -> tuple[dict[int, str], list[tuple[str, str, int]]]:
    """By position the name of a colour; and the sessions with theirs and how many turns, those with a hue first."""
    counts: dict[str, int] = {}
    for event in events:
        counts[event.scope.session or ""] = counts.get(event.scope.session or "", 0) + 1
    if colour == "time":
        steps = {event.position: f"age{AGES * row // len(events)}" for row, event in enumerate(events)}
        return steps, []
    largest = sorted(counts, key=lambda name: -counts[name])[:HUES]
    ordered = sorted(counts, key=lambda name: name not in largest)  # else as they began
    hues = {name: f"hue{row}" if row < HUES else "hue-rest" for row, name in enumerate(ordered)}
    looks = {event.position: hues[event.scope.session or ""] for event in events}
    return looks, [(name, hues[name], counts[name]) for name in ordered]


def _dot(event: Event, point: npt.NDArray[np.float64], look: str, places: Mapping[int, int]) -> Dot:
    return Dot(
        position=event.position,
        handle=handle(event.position, event.position),
        session=event.scope.session or "",
        speaker=event.message.speaker,
        text=event.message.text[:300],
        x=float(point[0]),
        y=float(point[1]),
        look=look,
        place=places.get(event.position, 0),
    )
