"""A neural network with one hidden layer that judges sentences: inference and training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats

BATCH = 64
RATE = 2e-3
DECAY = 1e-2
DROPPED = 0.5
"""The dropout rate of hidden units; half of it for inputs."""

MARKS_WEIGHT = 10.0
"""The weight of all marks of a sentence relative to its kind."""

_FAST, _SLOW, _SMALL = 0.9, 0.999, 1e-8
"""Parameters of Adam (Kingma and Ba 2015)."""


@dataclass(frozen=True, slots=True)
class Network:
    """``relu((x - mean) * scale @ w1 + b1) @ w2 + b2``, averaged over several fitted from different initial weights.

    Attributes:
        mean: of the inputs, of shape (inputs,); scale: the factors that the inputs are multiplied by.
        layers: w1, b1, w2 and b2 of each.
    """

    mean: Floats
    scale: Floats
    layers: tuple[tuple[Floats, Floats, Floats, Floats], ...]

    def __call__(self, inputs: Floats) -> Floats:
        """Outputs of shape (n, outputs) for inputs of shape (n, inputs)."""
        rows = (inputs - self.mean) * self.scale
        outputs = [np.maximum(rows @ w1 + b1, 0.0) @ w2 + b2 for w1, b1, w2, b2 in self.layers]
        return np.asarray(np.mean(outputs, axis=0), dtype=np.float32)

    def save(self, file: Path, **more: Any) -> None:
        """Save the network with further arrays, in half precision."""
        layers = {f"{row}.{name}": part for row, layer in enumerate(self.layers) for name, part in enumerate(layer)}
        arrays = {"mean": self.mean, "scale": self.scale} | layers | more
        halves = {name: _halved(np.asarray(array)) for name, array in arrays.items()}
        np.savez_compressed(file, **halves)

    @classmethod
    def load(cls, file: Path) -> tuple[Network, dict[str, Any]]:
        """Load a saved network and the further arrays."""
        with file.open("rb") as content, np.load(content, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        mean = arrays.pop("mean").astype(np.float32)
        scale = arrays.pop("scale", np.ones_like(mean)).astype(np.float32)
        count = sum(name.endswith(".0") for name in arrays)
        layers = tuple(
            tuple(arrays.pop(f"{row}.{name}").astype(np.float32) for name in range(4)) for row in range(count)
        )
        return cls(mean, scale, layers), arrays


def _halved(array: Any) -> Any:
    return array.astype(np.float16) if array.dtype == np.float32 else array


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a network, and the number of training epochs."""

    hidden: int = 384
    epochs: int = 40


USUAL = Size()


@dataclass(frozen=True, slots=True)
class Lessons:
    """Training data, one row each.

    Attributes:
        inputs: of shape (n, inputs).
        kinds: the index among the first outputs, of shape (n,).
        marks: which of the other outputs apply, of shape (n, marks); they count if the kind is 0.
    """

    inputs: Floats
    kinds: npt.NDArray[np.int64]
    marks: Floats


def fitted(lessons: Lessons, kinds: int, scale: Floats, *, size: Size = USUAL, seeds: Sequence[int] = (0,)) -> Network:
    """A network whose first outputs predict the kind by a softmax, and each of the others a mark by a sigmoid.

    The first kind against all others has an extra loss term, as it matters most. Trained by Adam with decoupled weight
    decay and a cosine learning rate schedule.
    """
    mean = lessons.inputs.mean(axis=0)
    rows = np.asarray((lessons.inputs - mean) * scale, dtype=np.float32)
    layers = tuple(_fitted(rows, lessons, kinds, size, np.random.default_rng(seed)) for seed in seeds)
    return Network(mean, scale, layers)


def _fitted(
    rows: Floats, lessons: Lessons, kinds: int, size: Size, chance: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats]:
    outputs = kinds + lessons.marks.shape[1]
    shapes = [(rows.shape[1], size.hidden), (size.hidden,), (size.hidden, outputs), (outputs,)]
    bounds = [rows.shape[1] ** -0.5] * 2 + [size.hidden**-0.5] * 2
    weights = [chance.uniform(-b, b, shape).astype(np.float32) for b, shape in zip(bounds, shapes, strict=True)]
    fast, slow = [np.zeros_like(one) for one in weights], [np.zeros_like(one) for one in weights]
    steps = size.epochs * -(-len(rows) // BATCH)
    for step, chosen in enumerate(_batches(len(rows), size.epochs, chance)):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        part = Lessons(rows[chosen], lessons.kinds[chosen], lessons.marks[chosen])
        for place, slope in enumerate(_slopes(weights, part, kinds, chance)):
            fast[place] += (1 - _FAST) * (slope - fast[place])
            slow[place] += (1 - _SLOW) * (slope * slope - slow[place])
            corrected = np.sqrt(slow[place] / (1 - _SLOW ** (step + 1))) + _SMALL
            change = DECAY * weights[place] + fast[place] / (1 - _FAST ** (step + 1)) / corrected
            weights[place] = np.asarray(weights[place] - rate * change, dtype=np.float32)
    w1, b1, w2, b2 = weights
    return w1, b1, w2, b2


def _batches(count: int, epochs: int, chance: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    for _ in range(epochs):
        order = chance.permutation(count)
        for start in range(0, count, BATCH):
            yield order[start : start + BATCH]


def _slopes(weights: Sequence[Floats], part: Lessons, kinds: int, chance: np.random.Generator) -> list[Floats]:
    """The gradient of the loss: half the entropy of all kinds, that of the first one alone, and that of the marks."""
    w1, _, w2, _ = weights
    rows, kind, marks = part.inputs, part.kinds, part.marks
    kept = chance.random(rows.shape, dtype=np.float32) >= DROPPED / 2
    shown = rows * kept / (1 - DROPPED / 2)
    hidden = np.maximum(shown @ w1 + weights[1], 0.0)
    mask = (chance.random(hidden.shape, dtype=np.float32) >= DROPPED) / np.float32(1 - DROPPED)
    dropped = np.asarray(hidden * mask, dtype=np.float32)
    outputs = np.asarray(dropped @ w2 + weights[3], dtype=np.float32)
    shares = softmax(outputs[:, :kinds])
    target = np.eye(kinds, dtype=np.float32)[kind]
    first = (kind == 0).astype(np.float32)
    found = shares[:, 0]
    others = shares[:, 1:] / np.maximum(1 - found, 1e-6)[:, None]
    told = (found - first)[:, None] * np.column_stack([np.ones(len(rows), dtype=np.float32), -others])
    wrong = np.zeros_like(outputs)
    wrong[:, :kinds] = 0.5 * (shares - target) + told
    count = max(float(first.sum()), 1.0) * marks.shape[1] / len(rows)
    wrong[:, kinds:] = MARKS_WEIGHT * (sigmoid(outputs[:, kinds:]) - marks) * first[:, None] / count
    wrong /= len(rows)
    back = (wrong @ w2.T) * mask * (hidden > 0)
    slopes = [shown.T @ back, back.sum(axis=0), dropped.T @ wrong, wrong.sum(axis=0)]
    return [np.asarray(slope, dtype=np.float32) for slope in slopes]


def softmax(outputs: Floats) -> Floats:
    """The softmax along the last axis."""
    raised = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), dtype=np.float32)


def sigmoid(outputs: Floats) -> Floats:
    """``1 / (1 + exp(-x))``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(outputs, -30, 30))), dtype=np.float32)
