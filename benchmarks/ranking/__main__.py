"""The ranker of recall: what it knows of every question, what it learns from that, and what it is worth.

    python benchmarks/ranking collect --data PATH --cache PATH [--sets ...]
    python benchmarks/ranking learn --cache PATH [--write]
    python benchmarks/ranking measure --cache PATH [--json FILE]

`collect` asks every question of the sets, through recall, and keeps what the ranker knew of each candidate. `learn`
makes curves and weights from our own conversations and from the sets of others whose licence allows it; with --write
they take the place of those that are shipped. `measure` grades the ranking that was learned without the question's set
(of LoCoMo and REALTALK nothing is ever learned, so that this is what is shipped), beside the hand-set one of version
0.9. Beside each mean stands a bootstrap interval of 95 percent over the questions. Last come questions that a store
cannot answer: how well confidence tells them from its own, and what a confidence of 0.2 lets through.

The constants of learning (ridge, bends, knots) were chosen by the mean over the sets to learn from, each left out.
"""

import json
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.measures import grade
from benchmarks.ranking.certainty import LEAST, Certainty, auroc, learn_certainty
from benchmarks.ranking.collect import Asked, collect
from benchmarks.ranking.conversations import LICENSED, MEASURED, OWN
from benchmarks.ranking.learn import Model, learn, relevance
from benchmarks.tables import cell, parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory.arrays import Array
from hybrid_memory.recall.signals import LEARNED, Curve

LEARNED_FROM = (*OWN, *LICENSED)
SHOWN = ("r@5", "r@10", "all@10", "hit@1", "mrr")
SAMPLES = 1000
RELATED = ({"memorybank_zh", "memorybank_en"}, {"longmemeval_oracle", "longmemeval_s"})
"""The same questions in two languages, or over two histories: left out together."""

SEED = 23

Rank = Callable[[Asked], Array]


def load(cache: Path, name: str) -> list[Asked]:
    """What was collected of a set."""
    with (cache / f"{name}.pickle").open("rb") as file:
        return list(pickle.load(file))  # noqa: S301 - our own


def own(questions: Sequence[Asked]) -> list[Asked]:
    """Those that something in the store answers."""
    return [one for one in questions if one.kind == "own"]


def without(name: str) -> list[str]:
    """The sets to learn from that share nothing with this one."""
    related = next((group for group in RELATED if name in group), {name})
    return [other for other in LEARNED_FROM if other not in related]


def fixed(asked: Asked) -> Array:
    """The ranking of version 0.9."""
    known = asked.features
    around = 0.3 * known["around"] + 0.4 * known["segment"] + 0.3 * known["importance"]
    return np.asarray(relevance(asked) + known["brevity"] * around + 0.4 * known["in time"])


def ranked(asked: Asked, scores: Array) -> list[str]:
    """Turn ids, best first, each once."""
    return list(dict.fromkeys(asked.ids[row] for row in np.argsort(-scores, kind="stable")))


def graded(questions: Sequence[Asked], rank: Rank) -> list[dict[str, float]]:
    """The measures of each question."""
    return [grade(ranked(one, rank(one)), set(one.wanted)) for one in questions]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean, and the bounds between which the bootstrap has 95 percent of it."""
    drawn = np.random.default_rng(SEED).choice(np.array(values), (SAMPLES, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
    return float(np.mean(values)), float(low), float(high)


def measured(name: str, sets: Mapping[str, list[Asked]]) -> dict[str, list[dict[str, float]]]:
    """Graded rankings of a set: set by hand, and learned from the others."""
    unseen = learn([one for other in without(name) for one in sets[other]])
    return {way: graded(sets[name], rank) for way, rank in {"0.9": fixed, "learned": unseen.scores}.items()}


def table(name: str, ways: Mapping[str, list[dict[str, float]]]) -> None:
    """Print the means of a set, with their intervals."""
    print(f"\n{name}, {len(ways['0.9'])} questions" + " " * 10 + "".join(f"{key:>22}" for key in SHOWN))
    for way, rows in ways.items():
        cells = (interval([row[key] for row in rows]) for key in SHOWN)
        print(f"{way:<28}" + "".join(f"{mean:>10.3f} ({low:.2f}-{high:.2f})" for mean, low, high in cells))


def silence(names: Sequence[str], cache: Path) -> dict[str, Any]:
    """How confidence tells what a store answers from what it doesn't, of each set learned without it."""
    results = {}
    print(f"\n{'confidence':<22}{'foreign':>9}{'AUROC':>10}{'pass':>10}{'lost R@10':>10}{'none':>10}{'swapped':>10}")
    for name in names:
        sets = {other: load(cache, other) for other in without(name)}
        model = learn(own([one for other in sets.values() for one in other]))
        certainty = learn_certainty([one for other in sets.values() for one in other], model)
        results[name] = row = _silence(load(cache, name), model, certainty)
        cells = (row[key] for key in ("auroc", "passing", "lost", "none", "swapped"))
        print(f"{name:<22}{row['foreign']:>9}" + "".join(f"{cell(value):>10}" for value in cells))
    return results


def _silence(questions: Sequence[Asked], model: Model, certainty: Certainty) -> dict[str, Any]:
    shares = {id(one): certainty(one, model.normal(one)) for one in questions}
    mine = own(questions)
    swapped = [one for one in mine if one.category in {"adversarial", "swapped"}]
    true = [one for one in mine if one.category not in {"adversarial", "swapped"}]

    def of(those: Sequence[Asked]) -> list[float]:
        return [shares[id(one)] for one in those]

    foreign = [one for one in questions if one.kind == "foreign"]
    none = [one for one in questions if one.kind == "none"]
    lost = [grade(ranked(one, model.scores(one)), set(one.wanted))["r@10"] * (shares[id(one)] < LEAST) for one in mine]
    return {
        "foreign": len(foreign),
        "auroc": auroc(of(true), of(foreign)) if foreign else None,
        "passing": float(np.mean(np.array(of(foreign)) >= LEAST)) if foreign else None,
        "lost": float(np.mean(lost)),
        "none": auroc(of(true), of(none)) if none else None,
        "swapped": auroc(of(true), of(swapped)) if swapped else None,
    }


def ship(cache: Path, *, shipped: bool) -> None:
    """Learn from all that may be learned from; print the weights, and put them where recall reads them."""
    sets = [one for name in LEARNED_FROM for one in load(cache, name)]
    model = learn(own(sets))
    certainty = learn_certainty(sets, model)
    curves, weights = model.curves()
    rounded = {name: round(weight, 2) for name, weight in weights.items()}
    stored = {
        "weights": {"vector": 0.7, "text": 0.3, **rounded, "exact": 0.4},
        "curves": {signal: {name: _points(curve) for name, curve in mine.items()} for signal, mine in curves.items()},
        "bias": round(certainty.bias, 5),
        "certainty": {name: _points(curve) for name, curve in certainty.curves.items()},
    }
    print(json.dumps(stored["weights"], indent=1))
    if shipped:
        place = Path(__file__).resolve().parents[2] / "core/hybrid_memory/recall" / f"{LEARNED}.json"
        place.write_text(json.dumps(stored) + "\n", "utf-8")
        print(f"written to {place}; the defaults of `Weights` must be the same")


def _points(curve: Curve) -> list[list[float]]:
    return [[round(float(value), 5) for value in part] for part in curve]


def main() -> None:
    """Do what is asked."""
    command = parser(__doc__, "--json")
    command.add_argument("what", choices=("collect", "learn", "measure"))
    command.add_argument("--data", type=Path, help="folder of the conversation sets (*.jsonl.gz)")
    command.add_argument("--cache", type=Path, required=True, help="where vectors and what was collected are kept")
    command.add_argument("--sets", nargs="+", default=[*LEARNED_FROM, *MEASURED])
    command.add_argument("--write", action="store_true", help="ship what is learned")
    asked = command.parse_args()
    if asked.what == "collect":
        embedder = KeptVectors(asked.cache)
        for name in asked.sets:
            found = collect(asked.data, name, embedder)
            with (asked.cache / f"{name}.pickle").open("wb") as file:
                pickle.dump(found, file)
    elif asked.what == "learn":
        ship(asked.cache, shipped=asked.write)
    else:
        sets = {name: own(load(asked.cache, name)) for name in {*asked.sets, *LEARNED_FROM}}
        results = {name: measured(name, sets) for name in asked.sets}
        for name, ways in results.items():
            table(name, ways)
        write(asked.json, results, confidence=silence(asked.sets, asked.cache))


if __name__ == "__main__":
    main()
