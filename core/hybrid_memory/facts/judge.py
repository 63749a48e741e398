"""The sentence judge: whether sentences make claims about their speaker, with which attributes and stance.

A network with one hidden layer reads the vector of a sentence and a few cues of its wording that the vector hardly
shows. It is fitted by benchmarks/sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.attributes import ATTRIBUTES
from hybrid_memory.facts.fact import Stance
from hybrid_memory.models.port import Embedder
from hybrid_memory.text import lazy

CLAIMS = "claims"

KINDS = (  # the kind of a sentence: a claim about its speaker, or why it is not
    CLAIMS, "question", "quote", "fiction", "hypothetical", "other", "sarcasm", "translate", "momentary", "chat",
    "general", "negated",
)  # fmt: skip

LEARNED = tuple(ATTRIBUTES)  # the attributes that the judge distinguishes

MARKS = (*LEARNED, *Stance)

OUTPUTS = (*KINDS, *MARKS, "safety")  # the last one: whether somebody may be harmed if the sentence is unknown
SHORT_CHARS = 80  # longer sentences are understood without what was said before
BEFORE_CHARS = 120  # how much of the end of the previous text is used with a short sentence
SHIPPED = Path(__file__).with_name("judge.npz")  # made by benchmarks/sentences


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgements on sentences, one row each.

    Attributes:
        kinds: probabilities in the order of `KINDS`, of shape (n, 12).
        marks: probabilities in the order of `MARKS`, given that something is claimed of anybody.
        claims: the calibrated probability that something is claimed about the speaker, of shape (n,).
        safety: the probability that somebody may be harmed if it is unknown, of shape (n,).
    """

    kinds: Floats
    marks: Floats
    claims: Array
    safety: Floats

    def __getitem__(self, row: int) -> Judged:
        """The judgement on one sentence."""
        return Judged(self.kinds[row], self.marks[row], self.claims[row], self.safety[row])


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges sentences by the vectors of one embedder.

    Attributes:
        embedder: its name.
        network: maps vector and cues to kinds and marks.
        slope, bias: of the calibration, ``1 / (1 + exp(-(slope * logit + bias)))``.
        needs: what questions need, of shape (73, dim + 1), in the order of `OUTPUTS`: for the vector of a question
            and a 1; see `benchmarks/sentences/needs.py`.
    """

    embedder: str
    network: Network
    slope: float
    bias: float
    needs: Floats

    def __call__(self, texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Judged:
        """Judge the sentences, given what was said before each, and the vectors of their texts from `asked`."""
        outputs = self.network(inputs(texts, before, vectors))
        kinds = softmax(outputs[:, : len(KINDS)])
        told = self.slope * logit(kinds[:, 0]) + self.bias
        marks = sigmoid(outputs[:, len(KINDS) :])
        return Judged(kinds, marks[:, :-1], 0.5 * (1 + np.tanh(0.5 * told)), marks[:, -1])

    def outlines(self, vectors: Floats) -> Floats:
        """What vectors alone show of sentences: square roots of the probabilities of `OUTPUTS`, of shape (n, 73)."""
        cues = np.tile(self.network.mean[vectors.shape[1] :], (len(vectors), 1))
        outputs = self.network(np.column_stack([vectors, cues]))
        kinds, marks = softmax(outputs[:, : len(KINDS)]), sigmoid(outputs[:, len(KINDS) :])
        return np.asarray(np.sqrt(np.column_stack([kinds, marks])), dtype=np.float32)

    def needed(self, question: Floats) -> Floats:
        """How much a question needs sentences with each of `OUTPUTS`, of shape (73,), by its vector."""
        return np.asarray(self.needs @ np.append(question, np.float32(1)), dtype=np.float32)


def judge_of(embedder: Embedder) -> Judge | None:
    """The shipped judge, if it was made for this embedder's vectors."""
    judge = _shipped()
    return judge if judge.embedder == embedder.name else None


@lru_cache(maxsize=1)
def _shipped() -> Judge:
    with SHIPPED.open("rb") as content, np.load(content, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    if tuple(arrays["outputs"].tolist()) != OUTPUTS:
        raise ValueError("judge.npz was fitted for other kinds or attributes: run benchmarks/sentences --write")
    mean = arrays["mean"].astype(np.float32)
    scale = arrays["scale"].astype(np.float32)
    count = sum(name.endswith(".0") for name in arrays)
    layers = tuple(tuple(arrays[f"{row}.{name}"].astype(np.float32) for name in range(4)) for row in range(count))
    slope, bias = arrays["calibration"].tolist()
    network, needs = Network(mean, scale, layers), arrays["needs"].astype(np.float32)
    return Judge(str(arrays["embedder"]), network, slope, bias, needs)


def asked(text: str, before: str) -> str:
    """The text to embed for a sentence: a short one together with what it may answer."""
    return f"{before[-BEFORE_CHARS:]} / {text}" if before and len(text) <= SHORT_CHARS else text


def inputs(texts: Sequence[str], before: Sequence[str], vectors: Floats) -> Floats:
    """Vectors and cues, side by side."""
    return np.column_stack([vectors, cues(texts, [bool(one) for one in before])]).astype(np.float32)


def logit(share: Floats) -> Array:
    """``log(p / (1 - p))``."""
    held = np.clip(share.astype(np.float64), 1e-7, 1 - 1e-7)
    return np.asarray(np.log(held / (1 - held)))


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


def softmax(outputs: Floats) -> Floats:
    """The softmax along the last axis."""
    raised = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), dtype=np.float32)


def sigmoid(outputs: Floats) -> Floats:
    """``1 / (1 + exp(-x))``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(outputs, -30, 30))), dtype=np.float32)


LONG_CHARS = 100  # a length that counts as 1; capped at three times as much

CUES = tuple(
    lazy(cue, re.IGNORECASE)
    for cue in (
        r"[?？]",
        r"[?？]\W*$",
        r'["“”「」『』«»]',
        r'^["“「«].*["”」»]\W*$',
        r"\b(?:if|would|could|wish|imagine|suppose|maybe|might)\b|如果|要是|假如|假设|要不|可能|也许|万一",
        r"\b(?:said|says|told|asked|wrote)\b|说[:：，,]?[“\"「]|告诉|写道",
        r"\b(?:i|i'm|i've|i'd|my|me|mine|we|our|us)\b|我|咱",
        r"\b(?:he|she|they|his|her|their|him|them)\b|他|她|它",
        r"\b(?:you|your)\b|你|您",
        r"\d",
        r"[:：]",
        r"[!！]",
        r"\b(?:translate|rewrite|proofread|summari[sz]e|correct|grammar|rephrase)\b|翻译|改写|润色|修改|病句|改成",
        r"\b(?:novel|character|story|game|role|dream\w*|movie|film|book|hero|play)\b|小说|角色|故事|游戏|梦|剧|电影|主角",
        r"[:：]\s*[\"“「]?(?:I|My)\b|[:：]\s*[\"“「]?我",
        r"\b(?:lol|haha|literally|ugh|great|sure)\b|哈哈|呵呵|真是|可真",
        r"\b(?:now|today|tonight|just|this morning)\b|现在|今天|刚|今晚",
        r"\b(?:always|never|every|usually|ever since|years)\b|一直|从来|每|总是|从小|多年|年了",
    )
)


def cues(texts: Sequence[str], answers: Sequence[bool]) -> Floats:
    """One row per text: binary features, the length in hundreds of characters, and whether it answers something."""
    rows = [
        [*(float(cue.search(text) is not None) for cue in CUES), min(len(text) / LONG_CHARS, 3.0), float(answer)]
        for text, answer in zip(texts, answers, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(texts), len(CUES) + 2)
