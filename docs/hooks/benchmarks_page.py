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
    "tau_airline": "service dialogues",
    "miniswe": "coding runs",
}

HUNDRED = 100


def section(folder: Path, which: str) -> str:
    """The table of a benchmark, and what made it."""
    told = json.loads((folder / f"{which}.json").read_text(encoding="utf-8"))
    parts = DRAWN[which](told["results"])
    note = f" {told['note'][0].upper()}{told['note'][1:]}." if told["note"] else ""
    made = f"`{told['command']}`, version {told['versions']['hybrid-agent-memory']}, {told['date']}.{note}"
    return "\n\n".join([*parts, made])


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
    bases = ("plain 0.7/0.3", "vector alone", "BM25 alone")
    measures = ("r@5", "all@10", "hit@1", "mrr")
    rows = []
    for name, one in results.items():
        hybrid = one["hybrid"]
        others = [one[method]["r@10"] for method in bases]
        rows.append([SETS[name], hybrid["questions"], hybrid["r@10"], *others, *(hybrid[what] for what in measures)])
    return [_table(("set", "questions", "R@10", *(f"{base}: R@10" for base in bases), *measures), rows)]


def _longmemeval(results: dict[str, Any]) -> list[str]:
    measures = ("r@10", "all@10", "hit@1")
    methods = list(next(iter(results.values())))
    rows = [(name, *(one[name][what] for one in results.values() for what in measures)) for name in methods]
    head = [f"{level}: {what}" for level in results for what in measures]
    return [_table(("method", *head), rows)]


def _peers(results: dict[str, Any]) -> list[str]:
    names = sorted(results, key=list(SETS).index)
    found = {name: {row["memory"]: row["r@10"] for row in results[name]} for name in names}
    measured = [memory for memory, value in found["locomo"].items() if value is not None]
    ranked = sorted(measured, key=lambda memory: -found["locomo"][memory])
    rows = [(memory, *(found[name].get(memory) for name in names)) for memory in ranked]
    return [_table(("R@10", *(SETS[name] for name in names)), rows)]


SPEED = ("memory", "search p50 ms", "search p95 ms", "found", "first ms", "writes/s", "bulk/s", "client MB", "disk MB")
"""Columns on the page; the file has more, and smaller sizes."""


def _speed(results: list[dict[str, Any]]) -> list[str]:
    largest = results[-1]
    places = [largest["columns"].index(name) for name in SPEED]
    return [_table(SPEED, [[row[place] for place in places] for row in largest["rows"]])]


def _methods(results: dict[str, Any]) -> list[str]:
    first = next(iter(results.values()))
    names = [row["method"] for row in first["methods"] if not row["method"].endswith("-alone")]
    cells = {name: [_kept(one, name) for one in results.values()] for name in names}
    titles = {"longmemeval_oracle": "chats"} | {name: SETS[name] for name in ("tau_airline", "miniswe")}
    sizes = [f"{one['probes']} probes, {one['methods'][0]['prompts']} prompts" for one in results.values()]
    head = [f"{titles[name]}: {size}" for name, size in zip(results, sizes, strict=True)]
    return [_table(("survival", *head), [(n, *c) for n, c in cells.items()])]


def _kept(one: dict[str, Any], name: str) -> str:
    row = next((row for row in one["methods"] if row["method"] == name), None)
    if row is None:
        return ""
    broken = [f"{row[what]} {what}" for what in ("over", "invalid") if row[what]]
    return f"{row['survival']:.2f}" + (f" ({', '.join(broken)})" if broken else "")


def _acting(results: dict[str, Any]) -> list[str]:
    return [_rows(next(iter(results.values())))]


ANSWERS = 5
"""Columns on the page; behind them is one for each life."""


def _answers(results: dict[str, Any]) -> list[str]:
    rows = next(iter(results.values()))
    return [_rows([dict(list(row.items())[:ANSWERS]) for row in rows])]


UNSHOWN = {"failed", "read later"}


def _poisoning(results: dict[str, Any]) -> list[str]:
    systems, kinds = results.values()
    shown = [{name: value for name, value in row.items() if name not in UNSHOWN} for row in systems]
    inert = ", ".join(f"{row['attacks']} {row['all']}" for row in kinds)
    return [_rows(shown), f"Inert by kind: {inert}."]


def _rows(rows: list[dict[str, Any]]) -> str:
    return _table(list(rows[0]), [list(row.values()) for row in rows])


DRAWN: dict[str, Callable[[Any], list[str]]] = {
    "acting": _acting,
    "answers": _answers,
    "longmemeval_s": _longmemeval,
    "methods": _methods,
    "peers": _peers,
    "poisoning": _poisoning,
    "retrieval": _retrieval,
    "speed": _speed,
}
