"""What a replay came to: the four figures, and their tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.original.chats import DEPTHS
from benchmarks.original.replay import AFTER, BEFORE, Tally
from benchmarks.tables import Table

ORIGINAL = {
    "facts answerable": ("45 %", "92 %"),
    "mean recall latency": ("800 ms", "120 ms"),
    "embedding-cache hit rate": ("0 %", "67 %"),
    "context utilisation": ("35 %", "78 %"),
}
COLUMNS = ("figure", BEFORE, AFTER, "case before", "case after")

RECALLS = {
    "all recalls": ("turn", "first", "again"),
    "equal work: no cache knows the query": ("turn", "first"),
    "its embedding is known": ("again",),
}
REQUESTS = {
    "all requests": ("turns", "questions", "writes"),
    "of recall and assemble": ("turns", "questions"),
    "without the questions that are asked again": ("turns",),
}


def share(parts: float, whole: float) -> float | None:
    """None of nothing."""
    return parts / whole if whole else None


def answerable(tally: Tally, side: str, depths: Sequence[int] = DEPTHS) -> dict[str, Any]:
    """Shares of the literal answers in the prompts for their questions."""
    prompts = [prompt for depth in depths for prompt in tally.prompts[side, depth]]
    if not prompts:
        return {"found": None, "shown": None, "prompts": 0}
    return {
        "found": statistics.fmean(prompt.found for prompt in prompts),
        "shown": statistics.fmean(prompt.shown for prompt in prompts),
        "prompts": len(prompts),
    }


def latency(tally: Tally, side: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of recalls."""
    spent = np.array([both for kind in kinds for both in tally.spent[side, kind]]) * 1e3
    if not len(spent):
        return {"mean": None, "p50": None, "p95": None, "processor": None, "calls": 0}
    p50, p95 = np.percentile(spent[:, 0], (50, 95)).tolist()
    mean, processor = spent.mean(axis=0).tolist()
    return {"mean": mean, "p50": p50, "p95": p95, "processor": processor, "calls": len(spent)}


def hit_rate(tally: Tally, kinds: Sequence[str]) -> dict[str, Any]:
    """Of the cache of embeddings."""
    hits, misses = (sum(tally.requests[kind][what] for kind in kinds) for what in ("hits", "misses"))
    return {"rate": share(hits, hits + misses), "hits": hits, "misses": misses}


def utilisation(tally: Tally, side: str) -> dict[str, Any]:
    """Shares of the tokens of all prompts."""
    prompts = [prompt for depth in DEPTHS for prompt in tally.prompts[side, depth]]
    whole = sum(prompt.tokens for prompt in prompts)
    standing, evidence = sum(prompt.standing for prompt in prompts), sum(prompt.evidence for prompt in prompts)
    return {
        "both": share(standing + evidence, whole),
        "standing": share(standing, whole),
        "evidence": share(evidence, whole),
        "with all that was recalled": share(sum(prompt.chosen for prompt in prompts), whole),
        "tokens": share(whole, len(prompts)),
    }


def figures(tally: Tally) -> dict[str, Any]:
    """All of them."""
    return {
        "chats": tally.chats,
        "turns": tally.turns,
        "facts": {
            side: {
                "50 and more": answerable(tally, side),
                **{str(depth): answerable(tally, side, (depth,)) for depth in DEPTHS},
            }
            for side in (BEFORE, AFTER)
        },
        "latency_ms": {
            side: {name: latency(tally, side, kinds) for name, kinds in RECALLS.items()} for side in (BEFORE, AFTER)
        },
        "cache": {
            **{name: hit_rate(tally, kinds) for name, kinds in REQUESTS.items()},
            "one query a turn": {
                "rate": share(tally.known, tally.turns),
                "hits": tally.known,
                "misses": tally.turns - tally.known,
            },
        },
        "utilisation": {side: utilisation(tally, side) for side in (BEFORE, AFTER)},
        "sections": {name: tokens / sum(tally.sections.values()) for name, tokens in tally.sections.items()},
        "missed": tally.missed,
    }


def percent(value: float | None) -> str:
    """For a table."""
    return "-" if value is None else f"{value:.0%}".replace("%", " %")


def four(result: dict[str, Any], note: str) -> Table:
    """The table of the case."""
    table = Table("The four figures of the original case", COLUMNS, note=note)

    def row(name: str, before: str, after: str) -> None:
        case = ORIGINAL.get(name, ("", ""))
        table.rows.append(dict(zip(COLUMNS, (name, before, after, *case), strict=True)))

    facts, spent, used = result["facts"], result["latency_ms"], result["utilisation"]
    for part in facts[BEFORE]:
        name = "facts answerable" if part == "50 and more" else f"  after {part} rounds"
        name += f", {facts[AFTER][part]['prompts']} questions" if name not in ORIGINAL else ""
        row(name, *(percent(facts[side][part]["found"]) for side in (BEFORE, AFTER)))
    row("  in a sentence of the evidence", *(percent(facts[side]["50 and more"]["shown"]) for side in (BEFORE, AFTER)))
    for part in RECALLS:
        name = "mean recall latency" if part == "all recalls" else f"  {part}"
        row(name, *(_milliseconds(spent[side][part]["mean"]) for side in (BEFORE, AFTER)))
    for part, measure in (("median", "p50"), ("95th percentile", "p95"), ("processor time, mean", "processor")):
        row(f"  {part}", *(_milliseconds(spent[side]["all recalls"][measure]) for side in (BEFORE, AFTER)))
    for part, cache in result["cache"].items():
        row("embedding-cache hit rate" if part == "all requests" else f"  {part}", "0 %", percent(cache["rate"]))
    for part in used[BEFORE]:
        name = "context utilisation" if part == "both" else f"  {part}"
        cells = (used[side][part] for side in (BEFORE, AFTER))
        row(name, *(f"{cell:.0f}" if part == "tokens" and cell else percent(cell) for cell in cells))
    return table


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.{0 if value >= 100 else 1}f} ms"


def by_set(results: dict[str, Any]) -> Table:
    """The main figures of each set: before and after."""
    columns = ("set", "questions", "facts", "facts after", "ms", "ms after", "cache", "used", "used after")
    table = Table("By set, before and after", columns)
    for name, result in results.items():
        facts, used = result["facts"], result["utilisation"]
        spent = [result["latency_ms"][side]["all recalls"]["mean"] for side in (BEFORE, AFTER)]
        table.rows.append(dict(zip(columns, (
            name, facts[AFTER]["50 and more"]["prompts"],
            *(percent(facts[side]["50 and more"]["found"]) for side in (BEFORE, AFTER)),
            *(f"{mean:.1f}" for mean in spent), percent(result["cache"]["all requests"]["rate"]),
            *(percent(used[side]["both"]) for side in (BEFORE, AFTER)),
        ), strict=True)))  # fmt: skip
    return table
