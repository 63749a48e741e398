"""When to compact (too many tokens or rounds, too much important content, or a change of topic), and how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CompactionConfig
from hybrid_memory.context.lines import importance
from hybrid_memory.context.queue import Unit, cut
from hybrid_memory.context.view import PromptView
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.log.message import Role
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services

WORTH = 0.1
"""The least share of the excess that a compaction must free."""

DRIFT_TURNS = 60
"""How many of the user's newest turns are searched for a change of topic; replies say more of the model than of it."""

SMALL_TALK = 0.2
"""A round whose most important message is below this is small talk."""

WINDOW = 6
"""The number of turns on either side of a boundary that are compared."""

PRIOR = 2.0
"""This many average pairs are added to each mean, as a few pairs may be similar by chance."""

LEAST_SPREAD = 1e-3
"""Turns whose similarities differ by less are the same except for rounding."""

_Rows = npt.NDArray[np.int64]

_Values = npt.NDArray[np.float64]


async def due_now(run: Runner, services: Services, seen: PromptView, needed: int, budget: int) -> tuple[str, int]:
    """The part of `due` worth doing: for what the model has answered, and enough of what does not fit."""
    reason, count = await due(run, services, seen, needed, budget)
    units = seen.session.queue.units
    last = next((row for row in reversed(range(len(units))) if units[row].role is Role.ASSISTANT), None)
    if last is not None:  # what follows was not read yet, such as the results of its calls
        count = min(count, last if units[last].messages[0].tool_calls else last + 1)
    if sum(seen.unit_costs[:count]) < WORTH * (needed - budget):
        return "", 0  # what does not fit is one long message, which is shortened
    return reason, count


async def due(run: Runner, services: Services, seen: PromptView, needed: int, max_tokens: int) -> tuple[str, int]:
    """Why to compact now, and how many units; empty and 0 if there is no need or nothing to compact.

    The prompt needs ``needed`` tokens of its budget ``max_tokens``.
    """
    config, rounds = services.config.compaction, seen.session.queue.rounds
    units, limit = seen.session.queue.evictable, round(config.flush * max_tokens)
    if len(units) < 2:  # noqa: PLR2004 - the newest always stays
        return "", 0
    density = 0.0
    if config.density is not None:
        leaving = units[: excess(services, seen, max_tokens, by_tokens=False)]
        density = float(np.mean([importance(message.text) for unit in leaving for message in unit.messages] or [0.0]))
    if needed > limit:
        reason = f"tokens: {needed} of {limit}"
    elif config.rounds is not None and rounds >= config.rounds:
        reason = f"rounds: {rounds} of {config.rounds}"
    elif config.density is not None and density >= config.density and rounds >= 2 * config.keep_rounds:
        # Twice as many, so that as many new rounds follow each compaction.
        reason = f"density: {density:.2f} of {config.density:.2f}"
    else:
        return await _drifted(run, services, units, rounds)
    count = excess(services, seen, max_tokens, by_tokens=needed > limit)
    # The turn that the rest answers is shown as long as any of that is: compacted alone it would only be told twice.
    alone = count == 1 and units[0].opens and not units[1].opens
    return ("", 0) if alone else (reason, count)


def excess(services: Services, seen: PromptView, max_tokens: int, *, by_tokens: bool, rounds: int | None = None) -> int:
    """How many units to compact so that the rest fits its share of the budget, or this many rounds."""
    config = services.config.compaction
    units = seen.session.queue.evictable
    room = max_tokens - seen.fixed
    if by_tokens:
        return cut(units, seen.unit_costs, max_tokens=int(config.keep_ratio * room))
    if rounds is None:
        worth: list[float] = []  # by round, of its most important message
        for unit in units:
            most = max(importance(message.text) for message in unit.messages)
            if unit.opens:
                worth.append(most)
            elif worth:
                worth[-1] = max(worth[-1], most)
        rounds = keep_rounds(config, worth)
    room -= int((config.recall_ratio + config.summary_ratio) * max_tokens)
    return cut(units, seen.unit_costs, max_tokens=max(room, 1), max_rounds=rounds)


async def _drifted(run: Runner, services: Services, units: Sequence[Unit], rounds: int) -> tuple[str, int]:
    """The clearest change of topic in the user's turns, if it is clear enough and has enough rounds on both sides."""
    config = services.config.compaction
    if config.drift is None:
        return "", 0
    owner = units[0].events[0].scope.owner
    rows = [row for row, unit in enumerate(units) if unit.opens][-DRIFT_TURNS:]
    try:
        _, note = await services.state(TextIndex).catch_up(run, services, owner)
        ids = np.array([units[row].first for row in rows], dtype=np.int64)
        change = None if note else drift(await run.call(services.index.likeness, owner, ids))
    except HybridMemoryError:
        return "", 0
    if change is None or change[0] < config.drift:
        return "", 0
    strength, row = change
    before = sum(unit.opens for unit in units[: rows[row]])
    if min(before, rounds - before) < config.keep_least:
        return "", 0
    return f"drift: {strength:.2f} of {config.drift:.2f}", rows[row]


def keep_rounds(config: CompactionConfig, importances: Sequence[float]) -> int:
    """How many of the last rounds stay verbatim; the importance of each round is in [0, 1], oldest first.

    All of ``keep_rounds``, unless more than half of that many newest rounds are small talk: then proportionally fewer,
    down to ``keep_least``.
    """
    newest = importances[-config.keep_rounds :]
    worth = sum(importance >= SMALL_TALK for importance in newest) / max(len(newest), 1)
    return config.keep_least + round((config.keep_rounds - config.keep_least) * min(2 * worth, 1.0))


def drift(likeness: Floats, *, least: int = 4) -> tuple[float, int] | None:
    """The clearest change of topic between two stretches of at least ``least`` turns, the latest of equals.

    How clear it is, in [0, 1], and the first turn of the new topic; None if fewer than ``2 * least`` turns have a
    vector. ``likeness`` holds the inner products of the turns' embeddings, shape (n, n), oldest first, 0 if a vector is
    missing.

    At each boundary, up to 6 turns before it and after it are compared, as in TextTiling (Hearst 1997): the gap is the
    mean likeness within both sides minus that across. What is usual for each turn is subtracted first, so that short
    turns, which resemble all others or none, count no more than others. The rest is measured in its standard deviation,
    so that the embedder's scale cancels out. The strength is ``gap / (1 + gap)``, 0 for no gap.
    """
    rows = np.flatnonzero(likeness.diagonal() > 0)
    n = len(rows)
    if n < 2 * least:
        return None
    others = 1 - np.eye(n)
    values = likeness[np.ix_(rows, rows)]
    values = (values - (values * others).sum() / max(n * (n - 1), 1)) * others
    # Each row sums to n - 2 times the part of its turn, where likeness is the sum of a part for either turn.
    usual = values.sum(axis=1) / max(n - 2, 1)
    values = np.triu(values - usual[:, np.newaxis] - usual, k=1)
    spread = np.sqrt((values**2).sum() / max(n * (n - 1) / 2, 1))
    centred: _Values = values / max(spread, LEAST_SPREAD)
    sums, counts = _prefix(centred), _prefix(np.triu(np.ones((n, n)), k=1))
    at = np.arange(least, n - least + 1)
    start, end = np.maximum(at - WINDOW, 0), np.minimum(at + WINDOW, n)

    def mean(top: _Rows, bottom: _Rows, left: _Rows, right: _Rows) -> _Values:
        total, count = (
            table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
            for table in (sums, counts)
        )
        return total / (count + PRIOR)

    gaps = (mean(start, at, start, at) + mean(at, end, at, end)) / 2 - mean(start, at, at, end)
    best = len(gaps) - 1 - int(gaps[::-1].argmax())
    gap = max(float(gaps[best]), 0.0)
    return gap / (1 + gap), int(rows[at[best]])


def _prefix(table: _Values) -> _Values:
    """Sums of all rows and columns before each place, shape (n + 1, n + 1)."""
    return np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
