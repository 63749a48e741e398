"""When to fold, and how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_memory.context.measures import Drift, Measures, drift, fired, keep_rounds
from hybrid_memory.context.queue import Unit, cut
from hybrid_memory.context.summaries.importance import importance
from hybrid_memory.context.view import View
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.text_index import TextIndex

DRIFT_UNITS = 60
"""The newest units that are searched for a change of topic."""


async def due(run: Runner, services: Services, seen: View, wanted: int, max_tokens: int) -> tuple[str, int]:
    """Why to fold now, and how many units; nothing and 0 if there is no need or nothing to fold.

    The prompt needs ``wanted`` tokens of its budget ``max_tokens``.
    """
    config = services.config.compaction
    units = seen.session.queue.evictable
    if len(units) < 2:  # noqa: PLR2004 - the newest always stays
        return "", 0
    moved = await _drift(run, services, units) if config.drift is not None else None
    before = 0 if moved is None else sum(unit.opens for unit in units[: moved.row])
    reason = fired(
        config,
        Measures(
            rounds=seen.session.queue.rounds,
            tokens=wanted,
            max_tokens=max_tokens,
            importance=_density(services, seen, units, max_tokens) if config.density is not None else 0.0,
            drift=moved,
            before=before,
        ),
    )
    if not reason:
        return "", 0
    if reason.startswith("drift") and moved is not None:
        return reason, moved.row
    count = excess(services, seen, max_tokens, by_tokens=reason.startswith("tokens"))
    # The turn that the rest answers is shown as long as any of that is: folded alone it would only be told twice.
    alone = count == 1 and units[0].opens and not units[1].opens
    return ("", 0) if alone else (reason, count)


def excess(services: Services, seen: View, max_tokens: int, *, by_tokens: bool, rounds: int | None = None) -> int:
    """How many units to fold so that the rest fits: into its share of the budget, or into so many rounds."""
    config = services.config.compaction
    units = seen.session.queue.evictable
    costs = seen.unit_costs
    room = max_tokens - seen.fixed
    if by_tokens:
        return cut(units, costs, max_tokens=int(config.keep_ratio * room))
    most = keep_rounds(config, _by_round(units)) if rounds is None else rounds
    room -= int((config.recall_ratio + config.summary_ratio) * max_tokens)
    return cut(units, costs, max_tokens=max(room, 1), max_rounds=most)


def _density(services: Services, seen: View, units: Sequence[Unit], max_tokens: int) -> float:
    """The mean importance of the messages that would be folded."""
    folded = units[: excess(services, seen, max_tokens, by_tokens=False)]
    worth = [importance(message.text) for unit in folded for message in unit.messages]
    return float(np.mean(worth)) if worth else 0.0


def _by_round(units: Sequence[Unit]) -> list[float]:
    """The importance of the weightiest message of each round."""
    worth: list[float] = []
    for unit in units:
        most = max(importance(message.text) for message in unit.messages)
        if unit.opens:
            worth.append(most)
        elif worth:
            worth[-1] = max(worth[-1], most)
    return worth


async def _drift(run: Runner, services: Services, units: tuple[Unit, ...]) -> Drift | None:
    """The clearest change of topic, at the round that begins next to it; None if there are no vectors to tell."""
    owner = units[0].events[0].scope.owner
    try:
        await services.state(TextIndex).catch_up(run, services, owner)
        ids = np.array([unit.first for unit in units[-DRIFT_UNITS:]], dtype=np.int64)
        found = drift(await run.call(services.index.likeness, owner, ids))
    except HybridMemoryError:
        return None
    if found is None:
        return None
    start = max(0, len(units) - DRIFT_UNITS) + found.row
    row = next((row for row in range(start, len(units)) if units[row].opens), None)
    return None if row is None else Drift(found.strength, row)
