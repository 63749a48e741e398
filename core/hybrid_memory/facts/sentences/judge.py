"""The sentence judge: whether sentences make claims about their speaker, with which attributes and stance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.sentences.cues import cues
from hybrid_memory.facts.sentences.examples import KINDS, MARKS, Example
from hybrid_memory.facts.sentences.network import Lessons, Network, fitted, sigmoid, softmax
from hybrid_memory.models.port import Embedder

SHORT_CHARS = 80
"""Longer sentences are understood without what was said before."""

BEFORE_CHARS = 120
"""How much of the end of the previous text is used with a short sentence."""

SPREAD = 15.0
"""The factor that brings differences of unit vectors to the scale of cues."""

STEPS, SMALL = 25, 1e-6
"""Steps of Newton's method, and a ridge that prevents divergence if everything is separable."""

SHIPPED = Path(__file__).with_name("judge.npz")
"""Made by benchmarks/sentences."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgements on sentences, one row each.

    Attributes:
        kinds: probabilities in the order of `KINDS`, of shape (n, 12).
        marks: probabilities in the order of `MARKS`, given that something is claimed.
        claims: the calibrated probability that something is claimed about the speaker, of shape (n,).
    """

    kinds: Floats
    marks: Floats
    claims: Array


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges sentences by the vectors of one embedder.

    Attributes:
        embedder: its name.
        network: maps vector and cues to kinds and marks.
        slope, bias: of the calibration, ``1 / (1 + exp(-(slope * logit + bias)))``.
    """

    embedder: str
    network: Network
    slope: float
    bias: float

    def __call__(self, texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Judged:
        """Judge the sentences, given what was said before each, and the vectors of their texts from `asked`."""
        outputs = self.network(inputs(texts, before, vectors))
        kinds = softmax(outputs[:, : len(KINDS)])
        told = self.slope * logit(kinds[:, 0]) + self.bias
        return Judged(kinds, sigmoid(outputs[:, len(KINDS) :]), 0.5 * (1 + np.tanh(0.5 * told)))

    def save(self, file: Path, **more: Floats) -> None:
        """Save the judge, with further arrays."""
        self.network.save(file, embedder=self.embedder, calibration=[self.slope, self.bias], **more)

    @classmethod
    def load(cls, file: Path) -> Judge:
        """Load a saved judge."""
        network, more = Network.load(file)
        slope, bias = more["calibration"].tolist()
        return cls(str(more["embedder"]), network, slope, bias)


def judge_of(embedder: Embedder) -> Judge | None:
    """The shipped judge, if it was made for this embedder's vectors."""
    judge = _shipped()
    return judge if judge.embedder == embedder.name else None


@lru_cache(maxsize=1)
def _shipped() -> Judge:
    return Judge.load(SHIPPED)


def asked(text: str, before: str) -> str:
    """The text to embed for a sentence: a short one together with what it may answer."""
    return f"{before[-BEFORE_CHARS:]} / {text}" if before and len(text) <= SHORT_CHARS else text


def inputs(texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Floats:
    """Vectors and cues, side by side."""
    return np.column_stack([vectors, cues(texts, [bool(one) for one in before])]).astype(np.float32)


def lessons(told: Sequence[Example], vectors: Floats) -> Lessons:
    """Training data from examples, given the vectors of their texts from `asked`."""
    marks = np.zeros((len(told), len(MARKS)), dtype=np.float32)
    for row, example in enumerate(told):
        for one in example.own:
            marks[row, MARKS.index(one.attribute)] = marks[row, MARKS.index(one.stance)] = 1.0
    kinds = np.array([KINDS.index(example.kind) for example in told], dtype=np.int64)
    return Lessons(inputs([one.text for one in told], [one.before for one in told], vectors), kinds, marks)


def learned(taught: Lessons, *, seeds: Sequence[int] = (0,)) -> Network:
    """The network fitted to these lessons."""
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
