"""Learns which turns will be asked about: ``core/hybrid_memory/context/summaries/asked_about.json``.

    python benchmarks/ranking/asked_about.py --data PATH --cache PATH [--write] [--without SET ...]

A turn that is evidence of a labelled question was asked about. A logistic regression tells it from all others by its
vector and its form, in every set from its own base, and both classes count alike; of large sets each turn counts less.
Printed is the area under the ROC curve over each set's turns, by length (what the importance of a record is), by cue
words (what that of a summary line was) and by the head, learned without that set and those that share its
conversations, with a bootstrap interval of 95 percent over conversations, and over turns where those are few. Of
LoCoMo, REALTALK, BEAM and MemDaily nothing is ever learned.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import rankdata

from benchmarks.ranking.conversations import OWN, conversations
from benchmarks.retrieval import Clock, messages
from benchmarks.vectors import KeptVectors
from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.arrays import Array
from hybrid_memory.config import LearningConfig, OrchestrationConfig
from hybrid_memory.context.summaries import asked_about
from hybrid_memory.log.event import EventKind
from hybrid_memory.models.embedders import LocalEmbedder

LEARNED_FROM = (*OWN, "memorybank_zh", "memorybank_en", "bfcl_memory", "friendsqa", "longmemeval_oracle")
MEASURED = ("locomo", "realtalk", "beam_100K", "memdaily")
RELATED = ({"memorybank_zh", "memorybank_en"},)

RIDGE = 3.0
SCALE = np.array([6.0] * LocalEmbedder.dim + [3.0, 3.0, 1.0, 1.0, 1.0, 1.0])
"""What numbers of a vector and of the form are multiplied with, so that one ridge serves all."""

LENGTH, CUES = LocalEmbedder.dim, LocalEmbedder.dim + 5
DRAWN = 300
FEW = 10
"""Conversations; of fewer sets turns are drawn."""


@dataclass(slots=True)
class Turns:
    """The turns of a set: vectors and form of shape (n, dim + 6), whether they are asked about, and where."""

    inputs: Array
    asked: Array
    conversation: npt.NDArray[np.int64]


@dataclass(slots=True)
class Head:
    """Weights of the inputs, what vectors add on average, and what is added; 0 is asked about as much as most."""

    weights: Array
    usual: float
    bias: float

    def __call__(self, inputs: Array) -> Array:
        """Log odds of shape (n,)."""
        return np.asarray(inputs @ self.weights + self.bias)


def turns_of(data: Path, name: str, embedder: KeptVectors) -> Turns:
    """All turns of a set, as a memory keeps them."""
    parts = [_conversation(one, embedder) for one in conversations(data, name)]
    embedder.save()
    number = np.repeat(np.arange(len(parts)), [len(asked) for _, asked in parts])
    return Turns(np.concatenate([rows for rows, _ in parts]), np.concatenate([asked for _, asked in parts]), number)


def _conversation(one: dict[str, Any], embedder: KeptVectors) -> tuple[Array, Array]:
    evidence = {str(turn) for asked in one["questions"] if not asked.get("bad") for turn in asked.get("evidence") or ()}
    config = MemoryConfig(
        url="memory://",
        orchestration=OrchestrationConfig(background=False),
        learning=LearningConfig(background=False),
    )
    with open_memory(config, embedder=embedder, clock=Clock()) as memory:
        for session, said in messages(one["turns"]):
            memory.scoped(user="u", session=session).remember(said)
        memory.scoped(user="u").flush(progress=False)
        services, owner = memory._runtime.services, memory.scoped(user="u").scope.owner  # noqa: SLF001 - with vectors
        turns = services.log.read(owner, kinds=(EventKind.MESSAGE,), limit=100_000)
        vectors, known = services.index.vector_rows(owner, np.array([turn.position for turn in turns]))
    turns, vectors = [turn for turn, has in zip(turns, known, strict=True) if has], vectors[known]
    asked = np.array([float(turn.id in evidence) for turn in turns])
    return np.column_stack([vectors.astype(np.float64), asked_about.form(turns, vectors)]), asked


def learned(sets: Mapping[str, Turns]) -> Head:
    """The head of these sets, each with a bias of its own while it is learned."""
    rows = np.concatenate([turns.inputs for turns in sets.values()]) * SCALE
    asked = np.concatenate([turns.asked for turns in sets.values()])
    each = np.concatenate([_weights(turns.asked) for turns in sets.values()])
    owns = np.repeat(np.eye(len(sets)), [len(turns.asked) for turns in sets.values()], axis=0)
    middle = rows.mean(axis=0)
    design = np.column_stack([rows - middle, owns])
    penalty = np.r_[np.full(rows.shape[1], RIDGE), np.full(len(sets), 1e-3)]

    def loss(solution: Array) -> tuple[float, Array]:
        chance = 1 / (1 + np.exp(-np.clip(design @ solution, -40, 40)))
        lost = -float(each @ (asked * np.log(chance + 1e-12) + (1 - asked) * np.log(1 - chance + 1e-12)))
        return lost + 0.5 * float(penalty @ solution**2), design.T @ (each * (chance - asked)) + penalty * solution

    solved = minimize(loss, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    weights = solved[: len(middle)]
    usual = float(middle[:LENGTH] @ weights[:LENGTH])
    return Head(weights * SCALE, usual, -float(middle @ weights))


def _weights(asked: Array) -> Array:
    """What turns count: both classes alike, and a set as the root of its turns."""
    share = np.where(asked > 0, asked.sum(), (1 - asked).sum())
    return np.asarray(0.5 * np.sqrt(len(asked)) / share)


def without(name: str, sets: Mapping[str, Turns], *, besides: Collection[str] = ()) -> Head:
    """The head of the sets to learn from that share nothing with this one."""
    related = {name, *besides, *(other for group in RELATED if name in group for other in group)}
    return learned({other: turns for other, turns in sets.items() if other in LEARNED_FROM and other not in related})


def told(scores: Array, turns: Turns) -> tuple[float, float, float]:
    """The area under the ROC curve, and the bounds between which the bootstrap has 95 percent of it."""
    chance, areas = np.random.default_rng(24), []
    groups = turns.conversation if turns.conversation[-1] + 1 >= FEW else np.arange(len(turns.asked))
    places = np.split(np.arange(len(groups)), np.flatnonzero(np.diff(groups)) + 1)
    for _ in range(DRAWN):
        rows = np.concatenate([places[one] for one in chance.integers(0, len(places), len(places))])
        areas.append(_area(scores[rows], turns.asked[rows]))
    low, high = np.quantile(areas, [0.025, 0.975])
    return _area(scores, turns.asked), float(low), float(high)


def _area(scores: Array, asked: Array) -> float:
    yes, no = asked.sum(), (1 - asked).sum()
    return float((rankdata(scores)[asked > 0].sum() - yes * (yes + 1) / 2) / (yes * no))


def main() -> None:
    """Print how well it does, and write the weights if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--cache", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="sets that are not learned from")
    options = parser.parse_args()
    embedder = KeptVectors(options.cache)
    sets = {name: turns_of(options.data, name, embedder) for name in (*LEARNED_FROM, *MEASURED)}
    print(f"{'':<20}{'turns':>7}{'asked':>7}{'length':>22}{'cue words':>22}{'learned':>22}")
    for name, turns in sets.items():
        scores = (turns.inputs[:, LENGTH], turns.inputs[:, CUES], without(name, sets)(turns.inputs))
        cells = (told(one, turns) for one in scores)
        areas = "".join(f"{mean:>9.3f} ({low:.2f}-{high:.2f})" for mean, low, high in cells)
        print(f"{name:<20}{len(turns.asked):>7}{int(turns.asked.sum()):>7}{areas}", flush=True)
    if options.write:
        head = without("", sets, besides=options.without)
        vector, form = (np.round(part, 3).tolist() for part in np.split(head.weights, [embedder.dim]))
        added = {"usual": round(head.usual, 3), "bias": round(head.bias, 3)}
        stored = {"embedder": embedder.name, **added, "form": form, "vector": vector}
        Path(asked_about.__file__).with_suffix(".json").write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
