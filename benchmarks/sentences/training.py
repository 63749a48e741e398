"""Training of the sentence judge: labelled sentences, the fitting of the network, and its calibration.

A line of the examples is ``LABEL<TAB>TEXT`` or ``LABEL<TAB>BEFORE<TAB>TEXT``, with what was said before. A label has
claims, ``attribute=value`` or ``attribute!stance=value``, joined by semicolons; those about others look like
``user's sister/home=Rome``. Or it begins with ``-kind``, the reason why it claims nothing about the speaker; with
``-unclear`` only the sentences before show that it is about somebody else, and it counts as one about the speaker.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.attributes import AT_STAKE, ATTRIBUTES
from hybrid_memory.facts.fact import USER, Stance
from hybrid_memory.facts.judge import CLAIMS, KINDS, MARKS, OUTPUTS, Judge, Network, cues, inputs, sigmoid, softmax

EXAMPLES, CHATS, FORMS = (Path(__file__).with_name(name) for name in ("examples", "chats", "forms.tsv"))

TIMES = 3
"""How often a sentence of the chats, or one made of the forms, is learned from: memories are read from such ones,
while the examples are harder.
"""

DRAWS = 8
"""Sentences made of a form; twice as many in English and Chinese, half as many of one without a slot."""

SLOT = re.compile(r"\{(\w)\}")
UNCLEAR = "-unclear; "

HIDDEN, EPOCHS = 384, 20
BATCH = 256
RATE = 4e-3
DECAY = 1e-2
DROPPED = 0.5
"""The dropout rate of hidden units; half of it for inputs."""

MARKS_WEIGHT, SAFETY_WEIGHT = 10.0, 2.0
"""The weights of all marks of a sentence, and of whether safety is at stake, relative to its kind."""

_FAST, _SLOW, _SMALL = 0.9, 0.999, 1e-8
"""Parameters of Adam (Kingma and Ba 2015)."""

SPREAD = 15.0
"""The factor that brings differences of unit vectors to the scale of cues."""

STEPS, SMALL = 25, 1e-6
"""Steps of Newton's method, and a ridge that prevents divergence if everything is separable."""


@dataclass(frozen=True, slots=True)
class Told:
    """A claim of a sentence: subject, attribute with value, and stance."""

    subject: str
    attribute: str
    stance: Stance
    value: str


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled sentence; kind is one of `KINDS`. It is learned from so many times."""

    text: str
    before: str
    kind: str
    told: tuple[Told, ...]
    language: str
    times: int = 1

    @property
    def at_stake(self) -> bool:
        """Whether somebody may be harmed if it is unknown."""
        return any(told.attribute in AT_STAKE and told.stance is Stance.HOLDS for told in self.told)


def examples(folder: Path = EXAMPLES, *, times: int = 1) -> Iterator[Example]:
    """The examples in all files of a folder, in the order of their names, which begin with the language."""
    for file in sorted(folder.glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line:
                yield replace(parsed(line, file.stem[:2]), times=times)


def plain_examples(file: Path = FORMS) -> Iterator[Example]:
    """Plain sentences about harms, and about things that harm nobody, made of the forms in a file.

    A line has a language, a label and a text with slots, or the name of a slot and what may stand in it. The slots
    ``head`` and ``tail`` stand before and behind many sentences, as people say several things in one.
    """
    chance = random.Random(7)  # noqa: S311 - the same ones each time
    slots: dict[tuple[str, str], list[str]] = {}
    forms = []
    for line in file.read_text(encoding="utf-8").splitlines():
        language, label, text = line.split("\t")
        if label.startswith("@"):
            slots[language, label[1:]] = text.split("|")
        else:
            forms.append((language, label, text))
    made: dict[tuple[str, str], str] = {}
    for language, label, text in forms:
        names = SLOT.findall(text)
        draws = DRAWS * (2 if language in {"en", "zh"} else 1)
        for _ in range(draws if names else draws // 2):
            words = {name: chance.choice(slots[language, name]) for name in (*names, "head", "tail")}
            tail = "" if label.startswith(("-question", "-chat", "-sarcasm")) else words["tail"]
            blank = " " if tail and tail[0] not in ",，" and language != "ja" else ""
            said = words["head"] + text.format_map(words) + blank + tail
            said = f"{said[:1].upper()}{said[1:]}" if chance.random() < CAPITAL else said
            end = ("。" if language in {"zh", "ja"} else ".") * (chance.random() < CAPITAL and said[-1] not in "?？")
            made[language, said + end] = label.format_map(words)
    for (language, text), label in made.items():
        yield replace(parsed(f"{label}\t{text}", language), times=TIMES)


CAPITAL = 0.3
"""The share of sentences that begin with a capital letter, and of those that end with a full stop."""


def parsed(line: str, language: str = "") -> Example:
    """The example in a line; raises ValueError for an invalid label."""
    label, *before, text = line.split("\t")
    kind, told = CLAIMS, []
    unclear = label.startswith(UNCLEAR)
    for part in label.removeprefix(UNCLEAR).split("; "):
        if part.startswith("-"):
            kind = part[1:]
            continue
        head, _, value = part.partition("=")
        subject, _, name = head.rpartition("/")
        attribute, _, stance = name.partition("!")
        if attribute not in ATTRIBUTES or not value:
            raise ValueError(f"no such label: {label!r}")
        told.append(Told(subject or USER, attribute, Stance(stance or Stance.HOLDS), value))
    if kind not in KINDS:
        raise ValueError(f"no such kind: {label!r}")
    if kind == CLAIMS and not unclear and all(one.subject != USER for one in told):
        kind = "other"
    return Example(text, before[0] if before else "", kind, tuple(told), language)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Training data, one row each.

    Attributes:
        inputs: of shape (n, inputs).
        kinds: the index among the first outputs, of shape (n,).
        marks: which of the next outputs apply, of shape (n, marks); they count if something is claimed of anybody.
        safety: whether safety is at stake, the last output, of shape (n,).
        times: how often it is learned from, of shape (n,).
    """

    inputs: Floats
    kinds: npt.NDArray[np.int64]
    marks: Floats
    safety: Floats
    times: npt.NDArray[np.int64]

    def rows(self, chosen: npt.NDArray[Any]) -> Lessons:
        """Some of them, by number or by truth."""
        columns = self.inputs, self.kinds, self.marks, self.safety, self.times
        return Lessons(*(column[chosen] for column in columns))


def fitted(lessons: Lessons, scale: Floats, *, seeds: Sequence[int] = (0,)) -> Network:
    """A network whose first outputs predict the kind by a softmax, and each of the others a mark by a sigmoid.

    The first kind against all others has an extra loss term, as it matters most. Trained by Adam with decoupled weight
    decay and a cosine learning rate schedule.
    """
    mean = lessons.inputs.mean(axis=0)
    rows = np.asarray((lessons.inputs - mean) * scale, dtype=np.float32)
    scaled = replace(lessons, inputs=rows)
    layers = tuple(_fitted(scaled, np.random.default_rng(seed)) for seed in seeds)
    return Network(mean, scale, layers)


def _fitted(lessons: Lessons, chance: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    count, columns = lessons.inputs.shape
    shapes = [(columns, HIDDEN), (HIDDEN,), (HIDDEN, len(OUTPUTS)), (len(OUTPUTS),)]
    bounds = [columns**-0.5] * 2 + [HIDDEN**-0.5] * 2
    weights = [chance.uniform(-b, b, shape).astype(np.float32) for b, shape in zip(bounds, shapes, strict=True)]
    fast, slow = [np.zeros_like(one) for one in weights], [np.zeros_like(one) for one in weights]
    steps = EPOCHS * -(-count // BATCH)
    for step, chosen in enumerate(_batches(count, EPOCHS, chance)):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        for place, slope in enumerate(_slopes(weights, lessons.rows(chosen), chance)):
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


def _slopes(weights: Sequence[Floats], part: Lessons, chance: np.random.Generator) -> list[Floats]:
    """The gradient of the loss: half the entropy of all kinds, those of the first one alone, of marks and of safety."""
    w1, _, w2, _ = weights
    rows, kind, marks, kinds = part.inputs, part.kinds, part.marks, len(KINDS)
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
    claims = ((kind == 0) | (kind == KINDS.index("other"))).astype(np.float32)
    count = max(float(claims.sum()), 1.0) * marks.shape[1] / len(rows)
    wrong[:, kinds:-1] = MARKS_WEIGHT * (sigmoid(outputs[:, kinds:-1]) - marks) * claims[:, None] / count
    wrong[:, -1] = SAFETY_WEIGHT * (sigmoid(outputs[:, -1]) - part.safety)
    wrong /= len(rows)
    back = (wrong @ w2.T) * mask * (hidden > 0)
    slopes = [shown.T @ back, back.sum(axis=0), dropped.T @ wrong, wrong.sum(axis=0)]
    return [np.asarray(slope, dtype=np.float32) for slope in slopes]


def lessons(told: Sequence[Example], vectors: Floats) -> Lessons:
    """Training data from examples, given the vectors of their texts from `asked`."""
    marks = np.zeros((len(told), len(MARKS)), dtype=np.float32)
    for row, example in enumerate(told):
        for one in example.told:
            marks[row, MARKS.index(one.attribute)] = marks[row, MARKS.index(one.stance)] = 1.0
    kinds = np.array([KINDS.index(example.kind) for example in told], dtype=np.int64)
    safety = np.array([example.at_stake for example in told], dtype=np.float32)
    times = np.array([example.times for example in told], dtype=np.int64)
    columns = inputs([one.text for one in told], [one.before for one in told], vectors)
    return Lessons(columns, kinds, marks, safety, times)


def learned(taught: Lessons, *, seeds: Sequence[int] = (0,)) -> Network:
    """The network fitted to these lessons."""
    scale = np.ones(taught.inputs.shape[1], dtype=np.float32)
    scale[: -len(cues([""], [False])[0])] = SPREAD
    return fitted(taught.rows(np.repeat(np.arange(len(taught.times)), taught.times)), scale, seeds=seeds)


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


def saved(judge: Judge, file: Path) -> None:
    """Save the judge, in half precision."""
    network = judge.network
    layers = {f"{row}.{name}": part for row, layer in enumerate(network.layers) for name, part in enumerate(layer)}
    calibration = [judge.slope, judge.bias]
    arrays: dict[str, Any] = {
        "mean": network.mean,
        "scale": network.scale,
        "embedder": judge.embedder,
        "needs": judge.needs,
    }
    arrays |= {"calibration": calibration, "outputs": OUTPUTS}
    halved: dict[str, Any] = {
        name: array.astype(np.float16) if array.dtype == np.float32 else array
        for name, array in ((name, np.asarray(part)) for name, part in (arrays | layers).items())
    }
    np.savez_compressed(file, **halved)
