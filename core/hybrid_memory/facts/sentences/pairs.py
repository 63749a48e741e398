"""The effect of a later sentence on an earlier claim, learned from pairs of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.sentences.examples import LEARNED
from hybrid_memory.facts.sentences.judge import SPREAD, Judge
from hybrid_memory.facts.sentences.network import Lessons, Network, Size, fitted, softmax
from hybrid_memory.facts.values import overlap
from hybrid_memory.models.embedders import LocalEmbedder

NOTHING, SAME, REPLACED = "none", "same", "replaced"

RELATIONS = (
    NOTHING,
    SAME,
    REPLACED,
    *(stance.value for stance in (Stance.ENDED, Stance.DONE, Stance.DROPPED, Stance.WRONG)),
)
"""Unrelated, the same, a newer value, ended, done, given up, or wrong."""

EMBEDDER = LocalEmbedder.name
"""The embedder of the shipped network."""

SHIPPED = Path(__file__).with_name("pairs.npz")
EXAMPLES = Path(__file__).with_name("examples") / "changes"

SIZE = Size(hidden=128, epochs=25)

NEAR = 0.8
"""A typical cosine of two sentences by one person."""

_SMALL = 1e-3


@dataclass(frozen=True, slots=True)
class Pair:
    """An earlier sentence, its attribute, and a later sentence."""

    relation: str
    attribute: str
    earlier: str
    later: str


def pairs(folder: Path = EXAMPLES) -> Iterator[Pair]:
    """The pairs in the files of a folder: ``RELATION<TAB>ATTRIBUTE<TAB>EARLIER<TAB>LATER``."""
    for file in sorted(folder.glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Pair(*line.split("\t"))


def pair_inputs(judge: Judge, given: Sequence[Pair], earlier: Floats, later: Floats) -> Floats:
    """The inputs of the network: the difference of the vectors, and the judgement on the later sentence.

    Args:
        judge: the judge for these vectors.
        given: the pairs; their relation is ignored.
        earlier: vectors of the earlier sentences, of shape (n, dim).
        later: vectors of the later sentences.
    """
    nothing = [""] * len(given)
    judged = judge([pair.later for pair in given], nothing, later)
    of = np.zeros((len(given), len(LEARNED)), dtype=np.float32)
    for row, pair in enumerate(given):
        if pair.attribute in LEARNED:
            of[row, LEARNED.index(pair.attribute)] = 1.0
    names = judged.marks[:, : len(LEARNED)]
    common = [[overlap(pair.earlier, pair.later)] for pair in given]
    near = (earlier * later).sum(axis=1, keepdims=True)
    return np.column_stack(
        [
            (earlier - later) * SPREAD,
            np.log(judged.kinds + _SMALL),
            np.log(judged.marks[:, len(LEARNED) :] + _SMALL),
            np.log((of * names).sum(axis=1, keepdims=True) + _SMALL),
            np.log(names.max(axis=1, keepdims=True) + _SMALL),
            of,
            np.sqrt(names),
            np.array(common, dtype=np.float32) * 3,
            (near - NEAR) * 20,
        ]
    ).astype(np.float32)


def related(network: Network, rows: Floats) -> Floats:
    """Probabilities in the order of `RELATIONS`, of shape (n, 7)."""
    return softmax(network(rows))


def learned(rows: Floats, relations: npt.NDArray[np.int64], *, seeds: Sequence[int] = (0,)) -> Network:
    """The network fitted to these inputs and indexes into `RELATIONS`."""
    taught = Lessons(rows, relations, np.zeros((len(rows), 0), dtype=np.float32))
    scale = np.ones(rows.shape[1], dtype=np.float32)
    return fitted(taught, len(RELATIONS), scale, size=SIZE, seeds=seeds)


@lru_cache(maxsize=1)
def shipped() -> Network:
    """The network for the local embedder's vectors."""
    return Network.load(SHIPPED)[0]
