"""The judgement of sentences: whether they claim something of their speaker, which attributes, and how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.sentences.cues import cues
from hybrid_memory.facts.sentences.examples import KINDS, MARKS, Example
from hybrid_memory.facts.sentences.network import Lessons, Network, fitted, sigmoid, softmax

SHORT_CHARS = 80
"""What is longer is understood without what was said before."""

BEFORE_CHARS = 120
"""Of what was said before a short sentence, the end."""

SPREAD = 15.0
"""What differences of unit vectors are multiplied with, so that they are as large as cues."""

STEPS, SMALL = 25, 1e-6
"""Of Newton's method, and a ridge that keeps it from running away where all is right."""

SHIPPED = Path(__file__).with_name("judge.npz")
"""Made by benchmarks/sentences."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What sentences are, a row each.

    Attributes:
        kinds: probabilities in the order of `KINDS`, of shape (n, 12).
        marks: probabilities in the order of `MARKS`, where something is claimed.
        claims: the calibrated probability that something is claimed of the speaker, of shape (n,).
    """

    kinds: Floats
    marks: Floats
    claims: Array


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges sentences by the vectors of one embedder.

    Attributes:
        embedder: its name.
        network: from vector and cues to kinds and marks.
        slope, bias: of the calibration, ``1 / (1 + exp(-(slope * logit + bias)))``.
    """

    embedder: str
    network: Network
    slope: float
    bias: float

    def __call__(self, texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Judged:
        """The sentences, what was said before each, and the vectors of what `asked` says of them."""
        outputs = self.network(inputs(texts, before, vectors))
        kinds = softmax(outputs[:, : len(KINDS)])
        told = self.slope * logit(kinds[:, 0]) + self.bias
        return Judged(kinds, sigmoid(outputs[:, len(KINDS) :]), 0.5 * (1 + np.tanh(0.5 * told)))

    def save(self, file: Path, **more: Floats) -> None:
        """Write it, and other arrays."""
        self.network.save(file, embedder=self.embedder, calibration=[self.slope, self.bias], **more)

    @classmethod
    def load(cls, file: Path) -> Judge:
        """The one that `save` wrote."""
        network, more = Network.load(file)
        slope, bias = more["calibration"].tolist()
        return cls(str(more["embedder"]), network, slope, bias)


def asked(text: str, before: str) -> str:
    """What is embedded of a sentence: a short one with what was said before, which it may answer."""
    return f"{before[-BEFORE_CHARS:]} / {text}" if before and len(text) <= SHORT_CHARS else text


def inputs(texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Floats:
    """Vectors and cues, side by side."""
    return np.column_stack([vectors, cues(texts, [bool(one) for one in before])]).astype(np.float32)


def lessons(told: Sequence[Example], vectors: Floats) -> Lessons:
    """What examples teach, by the vectors of what `asked` says of them."""
    marks = np.zeros((len(told), len(MARKS)), dtype=np.float32)
    for row, example in enumerate(told):
        for one in example.own:
            marks[row, MARKS.index(one.attribute)] = marks[row, MARKS.index(one.stance)] = 1.0
    kinds = np.array([KINDS.index(example.kind) for example in told], dtype=np.int64)
    return Lessons(inputs([one.text for one in told], [one.before for one in told], vectors), kinds, marks)


def learned(taught: Lessons, *, seeds: Sequence[int] = (0,)) -> Network:
    """The network of these lessons."""
    scale = np.ones(taught.inputs.shape[1], dtype=np.float32)
    scale[: -len(cues([""], [False])[0])] = SPREAD
    return fitted(taught, len(KINDS), scale, seeds=seeds)


def logit(share: Floats) -> Array:
    """``log(p / (1 - p))``."""
    held = np.clip(share.astype(np.float64), 1e-7, 1 - 1e-7)
    return np.asarray(np.log(held / (1 - held)))


def calibrated(logits: Array, right: Array) -> tuple[float, float]:
    """Slope and bias of a logistic regression on the logits (Platt 1999), by Newton's method."""
    # From 0 and with logits of one size it finds its way; from 1 and with large ones it goes astray.
    size = float(logits.std()) or 1.0
    columns = np.column_stack([logits / size, np.ones(len(logits))])
    found = np.zeros(2)
    for _ in range(STEPS):
        told = 0.5 * (1 + np.tanh(0.5 * columns @ found))
        bend = (columns * (told * (1 - told))[:, None]).T @ columns + SMALL * np.eye(2)
        found = found - np.linalg.solve(bend, columns.T @ (told - right) + SMALL * found)
    return float(found[0] / size), float(found[1])
