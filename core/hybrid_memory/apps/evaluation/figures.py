"""The figures of a method, from what its replays and the judge left."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.apps.evaluation.judging.scores import Scores
from hybrid_memory.apps.evaluation.measures import Prices
from hybrid_memory.apps.evaluation.report import Figures, Outcome, grouped


def figures(
    method: str,
    replays: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Outcome],
    *,
    history: Mapping[str, int],
    prices: Prices | None = None,
    scores: Scores | None = None,
) -> Figures:
    """Of one method.

    Args:
        method: its name.
        replays: what `replayed` returned for each transcript.
        outcomes: of its probes, at least one.
        history: tokens of each whole transcript, by name.
        prices: for the cost.
        scores: of the judge.
    """
    prompts = [replay["prompts"] for replay in replays]
    model = {name: sum(replay["model"][name] for replay in replays) for name in ("calls", "sent", "written")}
    seconds = [second for one in prompts for second in one["seconds"]]
    reuse = [one["reuse"] for one in prompts if one["reuse"] is not None]
    told = [one.told for one in outcomes if one.told is not None]
    finished = sum(one.finished for one in outcomes)
    by_kind, by_age = grouped(outcomes)
    total = {name: sum(one[name] for one in prompts) for name in ("prompts", "tokens", "reused", "over", "invalid")}
    return Figures(
        method=method,
        probes=len(outcomes),
        survival=statistics.fmean(one.survival for one in outcomes),
        reach=statistics.fmean(one.reach for one in outcomes),
        finished=finished / len(outcomes),
        by_kind=by_kind,
        by_age=by_age,
        ratio=statistics.fmean(history[one.transcript] / max(1, one.tokens) for one in outcomes),
        context=statistics.fmean(one.tokens for one in outcomes),
        task=sum(one.tokens + one.fetched for one in outcomes) / finished if finished else None,
        reuse=statistics.fmean(reuse) if reuse else None,
        prompts=total["prompts"],
        largest=max((one["largest"] for one in prompts), default=0),
        over=total["over"],
        invalid=total["invalid"],
        milliseconds=float(np.median(seconds)) * 1e3 if seconds else None,
        slowest=float(np.quantile(seconds, 0.95)) * 1e3 if seconds else None,
        calls=model["calls"],
        sent=model["sent"],
        written=model["written"],
        cost=None
        if prices is None
        else prices.cost(total["tokens"] + model["sent"], model["written"], reused=total["reused"]),
        told=statistics.fmean(told) if told else None,
        scores=scores,
    )
