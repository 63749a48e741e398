"""Fits a judge to any embedder's vectors, with a selection of the labelled sentences."""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.sentences.examples import CLAIMS, KINDS, Example
from hybrid_memory.facts.sentences.judge import Judge, asked, calibrated, learned, lessons, logit
from hybrid_memory.facts.sentences.network import Lessons, Network, softmax
from hybrid_memory.models.port import Embedder

CHOSEN = 4_000
"""The number of examples for fitting a judge."""

CLAIMING = 0.6
"""The share of claims among them, from which there is more to learn than from other sentences."""

BATCH = 128
PROBES = 3
"""Number of batches after which to check whether the vectors are informative."""

TELLING = 0.68
"""How often, at least, a claim must score higher than a non-claim after a few examples: .77 for models of meaning
(multilingual-e5-small, a universal sentence encoder), .57 for hashed words.
"""

LEAST_DIM = 64
"""The least width of vectors that may be informative."""

FOLDS = 3

_log = logging.getLogger(__name__)


def fitted_judge(embedder: Embedder, known: Iterable[Example], progress: Progress | None = None) -> Judge | None:
    """The judge for an embedder; None if its vectors are not informative. Takes as long as embedding 4,000 sentences.

    Raises:
        ModelError: the embedder failed.
    """
    known = list(known)
    told = chosen(known)
    claims = np.array([one.kind == CLAIMS for one in told], dtype=bool)
    batches = [told[start : start + BATCH] for start in range(0, len(told), BATCH)]
    vectors = np.empty((0, 0), dtype=np.float32)
    for number, batch in enumerate(batches, start=1):
        rows = embedded(embedder, [asked(one.text, one.before) for one in batch])
        if number > 1 and rows.shape[1] != vectors.shape[1]:
            raise ModelError(f"embedder {embedder.name!r} returned vectors of different widths")
        vectors = np.concatenate([vectors, rows]) if number > 1 else rows
        _log.info("fitting a sentence judge to embedder %r: %d of %d examples", embedder.name, len(vectors), len(told))
        if progress is not None:
            progress(len(vectors), len(told))
        if number == min(PROBES, len(batches)) and (likely := telling(vectors, claims[: len(vectors)])) < TELLING:
            _log.info("embedder %r cannot judge sentences (%.2f): rules alone extract facts", embedder.name, likely)
            return None
    if not batches:
        return None
    network, logits = _crossed(lessons(told, vectors))
    slope, bias = calibrated(logits, claims.astype(np.float64))
    # As often as in all examples something is claimed.
    bias += _odds([one.kind == CLAIMS for one in known]) - _odds(claims)
    _log.info("embedder %r judges sentences now", embedder.name)
    return Judge(embedder.name, network, slope, bias)


def _odds(claims: Sequence[bool] | npt.NDArray[np.bool_]) -> float:
    return float(logit(np.array(np.mean(claims), dtype=np.float32)))


def embedded(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """The vectors of texts; any failure of the embedder raises `ModelError`."""
    try:
        return embedder.embed_documents(texts)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the embedder failed: {type(error).__name__}: {error}") from error


def chosen(known: Iterable[Example], count: int = CHOSEN) -> list[Example]:
    """At most this many examples, always the same, in pseudorandom order.

    The number for each language grows with the square root of its total; within a language, kinds and attributes are
    balanced.
    """
    languages = _grouped(sorted(known, key=_order), lambda one: one.language)
    total = sum(len(of) ** 0.5 for of in languages)
    picked: list[Example] = []
    for of in languages:
        room = round(count * len(of) ** 0.5 / total)
        claims = _in_turn([one for one in of if one.kind == CLAIMS])[: round(CLAIMING * room)]
        picked += claims + _in_turn([one for one in of if one.kind != CLAIMS])[: room - len(claims)]
    return sorted(picked, key=_order)[:count]


def _order(example: Example) -> bytes:
    return hashlib.blake2b(f"{example.before}\t{example.text}".encode(), digest_size=8).digest()


def _grouped(told: Iterable[Example], by: Callable[[Example], str]) -> list[list[Example]]:
    groups = defaultdict(list)
    for one in told:
        groups[by(one)].append(one)
    return [groups[name] for name in sorted(groups)]


def _in_turn(told: Iterable[Example]) -> list[Example]:
    """One example of each kind, or of each first claimed attribute, then the next one of each."""
    groups = _grouped(told, lambda one: one.own[0].attribute if one.kind == CLAIMS else one.kind)
    return [one for one in chain.from_iterable(zip_longest(*groups)) if one is not None]


def telling(vectors: Floats, claims: npt.NDArray[np.bool_]) -> float:
    """How often a claim scores higher than a non-claim, by leave-one-out ridge regression."""
    if claims.all() or not claims.any():
        return 0.0
    rows = np.asarray(vectors - vectors.mean(axis=0), dtype=np.float64)
    alike = rows @ rows.T
    size = np.trace(alike) / len(rows)
    if size <= 0:
        return 0.0
    hat = np.linalg.solve(alike / size + np.eye(len(rows)), alike / size)
    wanted = np.where(claims, 1.0, -1.0)
    own = np.diag(hat)
    left_out = (hat @ wanted - own * wanted) / (1 - own)
    return float((left_out[claims][:, None] > left_out[~claims]).mean())


def _crossed(taught: Lessons) -> tuple[Network, Array]:
    """The mean of networks that each left out a part, and the logits of each example by the one that did not see it."""
    fold = np.arange(len(taught.kinds)) % FOLDS
    mean = taught.inputs.mean(axis=0)
    logits = np.zeros(len(fold))
    layers = []
    for number in range(FOLDS):
        kept = fold != number
        network = learned(Lessons(taught.inputs[kept], taught.kinds[kept], taught.marks[kept]), seeds=(number,))
        shares = softmax(network(taught.inputs[~kept])[:, : len(KINDS)])
        logits[~kept] = logit(shares[:, 0])
        ((w1, b1, w2, b2),) = network.layers
        layers.append((w1, b1 + ((mean - network.mean) * network.scale) @ w1, w2, b2))
    return Network(mean, network.scale, tuple(layers)), logits
