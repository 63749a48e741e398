"""Learns the judgement of sentences from labelled ones, and measures it on others.

    python benchmarks/sentences [--cache FOLDER] [--write]

Printed is, out of fold and on the tests: how well claims are told from what only sounds like one (AUROC), the share of
claims that is found where 95 % of what is claimed is one, the kinds of what is claimed and should not be, and how often
what is held for likely is so. With ``--write`` the network is learned from all examples and stored in the package.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.ranking.certainty import auroc
from benchmarks.sentences.training import (
    Example,
    Lessons,
    calibrated,
    examples,
    learned,
    lessons,
    saved,
)
from benchmarks.tables import parser
from benchmarks.vectors import KeptVectors
from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.judge import (
    CLAIMS,
    KINDS,
    LEARNED,
    SHIPPED,
    Judge,
    Network,
    asked,
    inputs,
    logit,
    softmax,
)

FOLDS = 5
SEEDS = (0, 1)
PRECISION = 0.95


def logits(network: Network, rows: Floats) -> Array:
    """How likely each is to claim something, before the calibration."""
    return logit(softmax(network(rows)[:, : len(KINDS)])[:, 0])


def out_of_fold(taught: Lessons) -> Array:
    """The logits of all examples, each by a network that has not seen it, nor its neighbours in the file."""
    count = len(taught.kinds)
    fold = (np.arange(count) // 50) % FOLDS
    told = np.zeros(count)
    for number in range(FOLDS):
        kept, left = fold != number, fold == number
        part = Lessons(taught.inputs[kept], taught.kinds[kept], taught.marks[kept])
        told[left] = logits(learned(part), taught.inputs[left])
    return told


def show(title: str, told: Array, given: Sequence[Example]) -> None:
    """One line for all languages, and one for each."""
    claims = np.array([one.kind == CLAIMS for one in given])
    languages = np.array([one.language for one in given])
    for language in ("", *sorted(set(languages))):
        of = languages == language if language else np.ones(len(given), dtype=bool)
        yes, no = told[of & claims], told[of & ~claims]
        if len(yes) and len(no):
            found = _found(told[of], claims[of])
            print(
                f"{title:12} {language or 'all':4} n {of.sum():6} AUROC {auroc(yes, no):.3f} found at .95 {found:.3f}"
            )


def _found(told: Array, claims: npt.NDArray[np.bool_]) -> float:
    order = np.argsort(-told)
    right = np.cumsum(claims[order])
    enough = np.flatnonzero(right / np.arange(1, len(order) + 1) >= PRECISION)
    return float(right[enough[-1]] / claims.sum()) if len(enough) else 0.0


def calibration(likely: Array, claims: npt.NDArray[np.bool_]) -> None:
    """The share that is so, of what is held for likely so much."""
    edges = np.linspace(0, 1, 11)
    for low, high in pairwise(edges):
        of = (likely >= low) & (likely < high + (high == 1))
        if of.any():
            print(f"held for {low:.1f} to {high:.1f}: {claims[of].mean():.2f} of {of.sum()}")


def main() -> None:
    """Print how well it does, and write the weights if asked."""
    command = parser(__doc__, "--cache")
    command.add_argument("--write", action="store_true")
    options = command.parse_args()
    embedder = KeptVectors(options.cache)
    known, unknown = list(examples()), list(examples(Path(__file__).with_name("tests")))
    rows = embedder.embed_documents([asked(one.text, one.before) for one in known])
    tested = embedder.embed_documents([asked(one.text, one.before) for one in unknown])
    embedder.save()
    taught = lessons(known, rows)
    told = out_of_fold(taught)
    show("out of fold", told, known)
    claims = np.array([one.kind == CLAIMS for one in known])
    slope, bias = calibrated(told, claims.astype(np.float64))
    judge = Judge(embedder.name, learned(taught, seeds=SEEDS), slope, bias)
    if unknown:
        texts, before = [one.text for one in unknown], [one.before for one in unknown]
        outputs = logits(judge.network, inputs(texts, before, tested))
        show("tests", outputs, unknown)
        judged = judge(texts, before, tested)
        really = np.array([one.kind == CLAIMS for one in unknown])
        calibration(judged.claims, really)
        print(
            "claimed, and should not be:",
            Counter(unknown[row].kind for row in np.flatnonzero(judged.claims > 0.8) if not really[row]),
        )
        best = judged.marks[:, : len(LEARNED)].argmax(axis=1)
        right = [
            LEARNED[best[row]] in {each.attribute for each in one.own} for row, one in enumerate(unknown) if really[row]
        ]
        print(f"attribute right: {np.mean(right):.3f}")
    if options.write:
        saved(judge, SHIPPED)


if __name__ == "__main__":
    main()
