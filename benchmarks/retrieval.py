"""Retrieval quality on conversation sets with labelled evidence, by turn and by session, through the public face.

    python benchmarks/retrieval.py --data PATH --sets locomo longmemeval_s --cache PATH --json out.json

Every conversation goes into a store of its own, its questions are asked as they stand, at the time that the set gives
them, and what comes back is compared with the evidence. One configuration, the defaults, for all sets. Ids of turns and
sessions are opaque and never indexed; the evidence is read only after all answers are in. The measures are those of
`measures.py`.

Questions marked `bad`, without evidence, or of the category `abstention` are skipped. Turns are the first 20 that
`recall` returns. Sessions are ranked by their best turn among the first 150, which come from ten sessions or more where
there are as many; their measures say nothing at a k as large as their number.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.measures import MEASURES, Labels
from benchmarks.sets import Clock, counted, load, messages, when
from benchmarks.tables import parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory import ScopedMemory, Weights, open_memory
from hybrid_memory.ports import Embedder

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
Grades = dict[str, float]


def turns_found(memory: ScopedMemory, question: str, k: int, weights: Weights | None) -> list[str]:
    """The ids of the turns that come back, best first."""
    return [hit.record.sources[0] for hit in memory.recall(question, k=k, weights=weights)]


@dataclass(slots=True)
class Run:
    """One run over a set.

    Attributes:
        grades: of each question, by level and method.
        fewest: sessions of a conversation; their measures say nothing where k is no smaller.
    """

    name: str
    embedder: Embedder
    grades: dict[str, dict[str, list[Grades]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    turns: int = 0
    fewest: int = sys.maxsize
    indexing: float = 0.0
    spent: list[float] = field(default_factory=list)

    def ask(self, conversation: dict[str, Any]) -> None:
        """All questions of a conversation, by every method."""
        questions = [question for question in conversation["questions"] if counted(question)]
        labels, clock = Labels.of(conversation["turns"]), Clock()
        self.turns += len(conversation["turns"])
        self.fewest = min(self.fewest, len(set(labels.session.values())))
        with open_memory("memory://", clock=clock, embedder=self.embedder) as memory:
            for session, said in messages(conversation["turns"]):
                memory.scoped(user=self.name, session=session).remember(said)
            everything = memory.scoped(user=self.name)
            started = time.perf_counter()
            everything.flush(progress=False)
            self.indexing += time.perf_counter() - started
            answers = [(question, self._answers(everything, clock, question)) for question in questions]
        for question, found in answers:
            for method, (few, many) in found.items():
                for level, grades in labels.grades(question, few, many).items():
                    self.grades[level][method].append(grades)

    def _answers(
        self, memory: ScopedMemory, clock: Clock, question: dict[str, Any]
    ) -> dict[str, tuple[list[str], list[str]]]:
        clock.now = when(question.get("time")) or clock.now
        words, found = question["question"], {}
        for method, weights in METHODS.items():
            started = time.perf_counter()
            few = turns_found(memory, words, DEPTH, weights)
            if method == HYBRID:
                self.spent.append(time.perf_counter() - started)
            found[method] = few, turns_found(memory, words, SESSION_DEPTH, weights)
        return found

    def report(self) -> dict[str, Any]:
        """All figures: by level and method, the mean over the questions."""
        return {
            "set": self.name,
            "turns": self.turns,
            "fewest_sessions": self.fewest,
            "index_s": self.indexing,
            "recall_ms": statistics.median(self.spent) * 1e3 if self.spent else None,
            "levels": {
                level: {method: _means(rows) for method, rows in methods.items()}
                for level, methods in self.grades.items()
            },
        }


def _means(rows: Sequence[Grades]) -> dict[str, float]:
    return {"questions": len(rows)} | {key: statistics.fmean(row[key] for row in rows) for key in MEASURES}


def show(result: Mapping[str, Any]) -> None:
    """The tables of one set."""
    print(f"\n{result['set']}: {result['turns']} turns; {result['fewest_sessions']} sessions or more in a conversation")
    for level, methods in result["levels"].items():
        print(f"{level:<28}{'n':>5}" + "".join(f"{key:>8}" for key in MEASURES))
        for method, row in methods.items():
            print(f"{method:<28}{row['questions']:>5}" + "".join(f"{row[key]:>8.3f}" for key in MEASURES))


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    command = parser(__doc__, "--data", "--limit", "--cache", "--json")
    command.add_argument("--sets", nargs="+", default=SETS)
    options = command.parse_args()
    embedder, results = KeptVectors(options.cache), []
    for name in options.sets:
        run = Run(name, embedder)
        for conversation in tqdm(list(load(options.data, name, options.limit)), desc=name, disable=None):
            run.ask(conversation)
        embedder.save()
        results.append(run.report())
        show(results[-1])
    write(options.json, results)


if __name__ == "__main__":
    main()
