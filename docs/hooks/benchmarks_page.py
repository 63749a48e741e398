"""The tables of the benchmarks, from the files that they wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

SETS = {
    "locomo": "LoCoMo",
    "realtalk": "REALTALK",
    "longmemeval_oracle": "LongMemEval oracle",
    "memorybank_zh": "MemoryBank, Chinese",
    "memorybank_en": "MemoryBank, English",
    "crosswoz_val": "CrossWOZ",
    "tau_airline": "service dialogues",
    "miniswe": "coding runs",
}

HUNDRED = 100


def section(folder: Path, which: str) -> str:
    """The table of a benchmark, and what made it."""
    told = json.loads((folder / f"{which}.json").read_text(encoding="utf-8"))
    parts = DRAWN[which](told["results"])
    note = f" {told['note'][0].upper()}{told['note'][1:]}." if told["note"] else ""
    ours = told["versions"]["hybrid-agent-memory"]
    made = f"Measured on {told['date']} with version {ours}, on {told['machine']}.{note}"
    return "\n\n".join([*parts, made, f"```bash\n{told['command']}\n```"])


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        # Three digits that count, of a share as of a time.
        return f"{value:.3f}" if value <= 1 else f"{value:,.1f}" if round(value) < HUNDRED else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _retrieval(results: dict[str, Any]) -> list[str]:
    methods = ("hybrid", "plain 0.7/0.3", "vector alone", "BM25 alone")
    rows = [
        (SETS[name], one["hybrid"]["questions"], *(one[method]["r@10"] for method in methods))
        for name, one in results.items()
    ]
    more = [
        (SETS[name], *(one["hybrid"][measure] for measure in ("r@5", "r@10", "all@10", "hit@1", "mrr")))
        for name, one in results.items()
    ]
    return [
        _table(("R@10", "questions", *methods), rows),
        _table(("hybrid", "R@5", "R@10", "all@10", "hit@1", "MRR"), more),
    ]


def _longmemeval(results: dict[str, Any]) -> list[str]:
    rows = [
        (level, method, *(figures[measure] for measure in ("r@5", "r@10", "all@5", "all@10", "hit@1")))
        for level, methods in results.items()
        for method, figures in methods.items()
    ]
    return [_table(("level", "method", "R@5", "R@10", "all@5", "all@10", "hit@1"), rows)]


def _peers(results: dict[str, Any]) -> list[str]:
    names = sorted(results, key=list(SETS).index)
    found = {name: {row["memory"]: row["r@10"] for row in results[name]} for name in names}
    measured = [memory for memory, value in found["locomo"].items() if value is not None]
    ranked = sorted(measured, key=lambda memory: -found["locomo"][memory])
    rows = [(memory, *(found[name].get(memory) for name in names)) for memory in ranked]
    return [_table(("R@10", *(SETS[name] for name in names)), rows)]


def _speed(results: list[dict[str, Any]]) -> list[str]:
    parts = []
    for size in results:
        parts += [f"**{size['title'].removeprefix('Speed over ')}**", _table(size["columns"], size["rows"])]
    return parts


def _methods(results: dict[str, Any]) -> list[str]:
    first = next(iter(results.values()))
    names = [row["method"] for row in first["methods"]]
    cells = {name: [_kept(one, name) for one in results.values()] for name in names}
    titles = {"longmemeval_oracle": "chats"} | {name: SETS[name] for name in ("tau_airline", "miniswe")}
    head = [f"{titles[name]}, {one['probes']} probes" for name, one in results.items()]
    return [_table(("survival", *head), [(n, *c) for n, c in cells.items()])]


def _kept(one: dict[str, Any], name: str) -> str:
    row = next((row for row in one["methods"] if row["method"] == name), None)
    if row is None:
        return ""
    broken = [f"{row[what]} {what}" for what in ("over", "invalid") if row[what]]
    return f"{row['survival']:.2f}" + (f" ({', '.join(broken)} of {row['prompts']})" if broken else "")


def _acting(results: dict[str, Any]) -> list[str]:
    return [_table(list(rows[0]), [list(row.values()) for row in rows]) for rows in results.values()]


def _paging(results: dict[str, Any]) -> list[str]:
    rows = [
        (f"evidence in the prompt: {SETS[row['set']]}", row["questions"], row["one paged"], row["one window"])
        for row in results["retrieval"]
    ]
    rows += [
        (f"chain of keys, depth {row['depth']}", 8, row["paged, notes"], row["window"]) for row in results["lookup"]
    ]
    rows += [
        (f"one document of {row['documents']}, {row['in']}", row["questions"], row["paged"], row["window"])
        for row in results["documents"]
    ]
    return [_table(("task", "questions", "paged", "plain window"), rows)]


def _case(results: dict[str, Any]) -> list[str]:
    rows = [
        (SETS[name], what, *(_case_cell(what, sides[side]) for side in ("before", "after")))
        for name, one in results.items()
        for what, sides in one.items()
    ]
    return [_table(("set", "figure", "before", "after"), rows)]


def _case_cell(what: str, value: float) -> str:
    return f"{value:.0f} ms" if what.endswith("ms") else f"{100 * value:.1f} %"


DRAWN: dict[str, Callable[[Any], list[str]]] = {
    "acting": _acting,
    "answers": _acting,
    "longmemeval_s": _longmemeval,
    "methods": _methods,
    "original_case": _case,
    "paging": _paging,
    "peers": _peers,
    "poisoning": _acting,
    "retrieval": _retrieval,
    "speed": _speed,
}
