"""Creates quantized vectors: learns lists from a sample, and assigns every vector to one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.sqlite import lazy_faiss as faiss
from hybrid_memory.engines.sqlite.quantized import MAGIC, Block, Part, QuantizedVectors, Shape

TRAINED_ON = 32
"""Vectors per centroid; twice as many, in ten rounds, took three times as long and found 1 % more."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The centroids of the lists and the range of each dimension; ``trained_at`` as in `QuantizedVectors`."""

    centroids: Floats
    span: Floats
    trained_at: int

    @classmethod
    def of(cls, vectors: QuantizedVectors) -> Grouping:
        return cls(np.array(vectors.centroids), np.array(vectors.span), vectors.trained_at)

    @classmethod
    def learned(cls, sample: Floats, count: int, lists: int) -> Grouping:
        """The grouping learned from a sample of this many vectors."""
        dim = sample.shape[1]
        quantizer = faiss.ScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit)
        quantizer.train(sample)
        span = faiss.vector_to_array(quantizer.trained).reshape(2, dim)
        if lists == 1:
            return cls(np.zeros((1, dim), dtype=np.float32), span, 0)
        means = faiss.Kmeans(
            dim,
            min(lists, len(sample)),
            niter=8,
            spherical=True,
            min_points_per_centroid=1,
            max_points_per_centroid=TRAINED_ON,
        )
        means.train(sample)
        return cls(means.centroids, span, count)

    def lists(self, vectors: Floats) -> Ids:
        """The list of each vector."""
        if len(self.centroids) == 1:
            return np.zeros(len(vectors), dtype=np.int64)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(self.centroids)
        found: Ids = index.search(np.ascontiguousarray(vectors), 1)[1][:, 0]
        return found


def lists_for(count: int) -> int:
    """The number of lists for this many vectors."""
    return max(1, int(2 * math.sqrt(count)))


def sample_size(count: int) -> int:
    """How many of this many vectors to sample for learning the lists."""
    return min(count, TRAINED_ON * lists_for(count))


def quantized(
    grouping: Grouping, parts: Callable[[], Iterator[Part]], new_block: Callable[[int], Block]
) -> QuantizedVectors | None:
    """All vectors of these parts, None if there are none. Parts are read twice; vectors missing then were deleted."""
    every, members = [], []
    for ids, vectors, lists in parts():
        every.append(ids)
        members.append(grouping.lists(vectors) if lists is None else lists)
    ids, lists = np.concatenate(every or [np.empty(0, np.int64)]), np.concatenate(members or [np.empty(0, np.int64)])
    if not len(ids):
        return None
    made = _empty(grouping, ids, lists, new_block)
    quantizer = made._quantizer  # noqa: SLF001
    total = np.zeros(made.dim)
    for some, vectors, _ in parts():
        here = np.isin(some, made.ordered)
        rows, kept = made.rows(some[here]), np.ascontiguousarray(vectors[here])
        if len(rows):
            made.codes[rows] = quantizer.compute_codes(kept)
            made.gone[rows] = False
            total += kept.sum(axis=0, dtype=np.float64)
    made.total[:] = total
    return made


def _empty(grouping: Grouping, ids: Ids, lists: Ids, new_block: Callable[[int], Block]) -> QuantizedVectors:
    """Empty space for these vectors, by list."""
    shape = Shape(grouping.centroids.shape[1], len(grouping.centroids), len(ids))
    block = new_block(shape.size)
    block[:64].view(np.int64)[:] = MAGIC, shape.dim, shape.lists, shape.rows, 0, 0, 0, grouping.trained_at
    made = QuantizedVectors(block)
    made.span[:], made.centroids[:] = grouping.span, grouping.centroids
    made.bounds[1:] = np.cumsum(np.bincount(lists, minlength=shape.lists))
    made.ids[:] = ids[np.argsort(lists, kind="stable")]
    made.places[:] = np.argsort(made.ids, kind="stable")
    made.ordered[:] = made.ids[made.places]
    made.gone[:] = True
    return QuantizedVectors(block)  # whose quantizer knows the span
