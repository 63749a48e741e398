"""``why_not``: why a turn was not among the first hits of a recall."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from hybrid_memory.context.expand import behind
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.event import EventKind, handle
from hybrid_memory.recall.gather import centred, narrowed, query_vector
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Request
from hybrid_memory.recall.recall import recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.retention import retained
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, in_view
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

DEPTH = 200
"""Number of hits searched for the turn."""

TOLD = 3
"""How many signals to explain, those that cost most."""


async def why_not(run: Runner, services: Services, request: Request, scope: Scope, what: Any) -> Explanation:
    """The turn's rank for this query and its weak signals, or why no path of the recall found it.

    Raises:
        InvalidInputError: this owner has no turn there.
    """
    event = (await behind(run, services, scope, what))[0]
    if event.kind is not EventKind.MESSAGE:
        raise InvalidInputError(f"{shown(what)} is not a turn but an event of kind {event.kind}: recall finds turns")
    name = handle(event.position, event.position)
    hits = await recall(run, services, request)
    place = _row(hits, event.position)
    if place is None:
        hits = await recall(run, services, replace(request, k=max(DEPTH, request.k)))
        place = _row(hits, event.position)
        about = f"{name} does not come back for {request.query!r}"
        if place is None:
            view = await in_view(run, services, scope)
            steps = tuple([step async for step in _missed(run, view, request, event.position, len(hits))])
        else:
            about += f" among the first {request.k}: its rank is {place + 1}"
            steps = tuple(_outranked(hits, place, request.k))
    elif not request.keeps(hits[place].confidence, usual := services.config.recall.min_confidence):
        least = usual if request.min_confidence is None else request.min_confidence
        about = f"{name} does not come back for {request.query!r}: its confidence is too low"
        steps = (f"confidence {hits[place].confidence:.2f}, the minimum is {least:g}", hits[place].why())
    else:
        about = f"{name} does come back for {request.query!r}, at rank {place + 1}"
        steps = (hits[place].why(),)
    return Explanation(about=about, steps=steps, turns=((name, event.message),))


def _row(hits: Sequence[Hit], position: int) -> int | None:
    return next((row for row, hit in enumerate(hits) if hit.record.turn == position), None)


def _outranked(hits: Sequence[Hit], place: int, k: int) -> Iterator[str]:
    """The signals in which the turn falls behind the last returned hit."""
    mine, last = hits[place], hits[min(k, place) - 1]
    yield mine.arithmetic
    yield f"the last hit returned: {last.arithmetic}"
    total = sum(asdict(mine.weights).values())
    lacks = {
        name: weight * (getattr(last.signals, name) - getattr(mine.signals, name)) / total
        for name, weight in asdict(mine.weights).items()
    }
    for name in sorted(lacks, key=lambda name: -lacks[name])[:TOLD]:
        if lacks[name] > 0:
            has, needs = getattr(mine.signals, name), getattr(last.signals, name)
            yield f"{lacks[name]:.3f} less by {name}: {has:.2f} against {needs:.2f}"


async def _missed(run: Runner, view: View, request: Request, position: int, depth: int) -> AsyncIterator[str]:
    """Why no path found the turn."""
    records = await run.call(view.index.get, [position])
    where = narrowed(view, request.where)
    if not records:
        yield "it is not in the index: it has no words to search, or is not indexed yet; flush() indexes it"
        return
    for reason in barriers(records[0], where):
        yield reason
    if not where.allows(records[0]):
        return
    places = await run.call(view.index.columns, np.array([position], dtype=np.int64), where, 0)
    if not retained(view, places).all():
        yield "it is hidden by age: see RetentionConfig"
        return
    common = sorted(set(terms(request.query)) & set(terms(records[0].text)))
    yield f"words in common: {', '.join(common)}, too frequent to count" if common else "no word in common"
    yield await _nearness(run, view, request, where, position)
    yield f"it is not among the first {depth} hits"


def barriers(record: Record, where: Where) -> Iterator[str]:
    """The search conditions that exclude the record."""
    parts: dict[str, dict[str, Any]] = {
        f"it is from another session than {where.scope.session!r}": {"scope": where.scope.owner},
        f"it is a {record.kind}, but only other kinds were requested": {"kinds": frozenset()},
        f"its category is {record.category!r}, but only others were requested": {"categories": frozenset()},
        f"its origin is {record.origin}, which was not requested or may not be recalled": {"origins": frozenset()},
        f"it was said at {record.at:%Y-%m-%d %H:%M}, outside the requested time": {
            "since": None,
            "until": None,
        },
        "its metadata differs from the requested values": {"metadata": {}},
        "it is hidden by a rollback, or comes after this view of the past": {"hidden": ()},
        f"it is older than the retention of its kind ({record.kind}) or category allows": {"fresh": {}},
    }
    everything = Where(record.scope.owner)
    for reason, part in parts.items():
        alone = {name: getattr(where, name) for name in part}
        if not replace(everything, **alone).allows(record):
            yield reason


async def _nearness(run: Runner, view: View, request: Request, where: Where, position: int) -> str:
    status = await run.call(view.index.status, where.scope.owner, sums=True)
    vector, failure = await query_vector(run, view, request.query, status)
    vector, average, _ = centred(status, vector)
    if vector is None:
        return f"its meaning was not compared: {failure or 'nothing has a vector yet'}"
    ids = np.array([position], dtype=np.int64)
    mine = float((await run.call(view.index.similar, vector, where.scope.owner, ids))[0])
    if np.isnan(mine):
        return "its vector is not made yet: flush() makes it"
    nearest = await run.call(view.index.nearest, vector, where, DEPTH)
    furthest = float(nearest.scores[-1]) if len(nearest.scores) else average
    return (
        f"its similarity to the query is {mine - average:+.3f} relative to an average turn; the lowest of the "
        f"{len(nearest.ids)} nearest is {furthest - average:+.3f}"
    )
