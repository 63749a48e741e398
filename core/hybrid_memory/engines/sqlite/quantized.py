"""Many vectors of one owner, one byte per dimension: lists around centroids, in a block that can be memory-mapped."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids


class _Faiss:
    """FAISS, imported on first use, so that calls that only read the log do not wait for the import."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module("faiss"), name)
        setattr(self, name, value)
        return value


faiss = _Faiss()

PROBED_SHARE = 8
"""A search examines one in this many vectors: on real turns it found 96 % of the ten nearest; half as many, 92 %."""

DECODED_AT_ONCE = 10_000

MAGIC = int.from_bytes(b"HAMvec01", "little")
TOKEN_BYTES = 16

Block = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Part = tuple[Ids, Floats, Ids | None]
"""Ids, vectors, and their lists if already known."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the block's parts, which determine their offsets."""

    dim: int
    lists: int
    rows: int

    @property
    def parts(self) -> list[tuple[str, type[np.generic], tuple[int, ...]]]:
        return [
            ("head", np.int64, (8,)),
            ("token", np.uint8, (TOKEN_BYTES,)),
            ("total", np.float64, (self.dim,)),
            ("span", np.float32, (2, self.dim)),
            ("centroids", np.float32, (self.lists, self.dim)),
            ("bounds", np.int64, (self.lists + 1,)),
            ("ids", np.int64, (self.rows,)),
            ("ordered", np.int64, (self.rows,)),
            ("places", np.int64, (self.rows,)),
            ("gone", np.bool_, (self.rows,)),
            ("codes", np.uint8, (self.rows, self.dim)),
        ]

    @property
    def size(self) -> int:
        """Bytes of the block."""
        return sum(_padded(math.prod(shape) * np.dtype(kind).itemsize) for _, kind, shape in self.parts)


class QuantizedVectors:
    """Vectors in lists, each in the list of its nearest centroid, in a block. A row is an index into all of them.

    Attributes:
        ids: record ids by row.
        gone: the rows with overwritten vectors; other processes see them too.
        total: the sum of the vectors that were not overwritten.
    """

    head: Ids
    token: npt.NDArray[np.uint8]
    total: npt.NDArray[np.float64]
    span: Floats
    centroids: Floats
    bounds: Ids
    ids: Ids
    ordered: Ids
    places: Ids
    gone: Mask
    codes: npt.NDArray[np.uint8]

    def __init__(self, block: Block) -> None:
        head = block[:64].view(np.int64) if len(block) >= 64 else np.zeros(8, dtype=np.int64)  # noqa: PLR2004
        shape = Shape(*(int(number) for number in head[1:4]))
        if head[0] != MAGIC or min(shape.dim, shape.lists, shape.rows) < 1 or len(block) != shape.size:
            raise ValueError("these are no vectors")
        self._block = block
        plain, at = block.view(np.ndarray), 0  # slices of a mapped array take ten times as long
        for name, kind, sizes in shape.parts:
            width = math.prod(sizes) * np.dtype(kind).itemsize
            setattr(self, name, plain[at : at + width].view(kind).reshape(sizes))
            at += _padded(width)
        self._quantizer = faiss.ScalarQuantizer(shape.dim, faiss.ScalarQuantizer.QT_8bit)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.span).ravel(), self._quantizer.trained)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        return int(self.head[1])

    @property
    def revision(self) -> int:
        """The store's revision, like the last included vector (``upto``) and change (``seen``)."""
        return int(self.head[4])

    @property
    def upto(self) -> int:
        return int(self.head[5])

    @property
    def seen(self) -> int:
        return int(self.head[6])

    @property
    def trained_at(self) -> int:
        """The number of vectors when the centroids were made; 0 if there is a single list."""
        return int(self.head[7])

    @property
    def nbytes(self) -> int:
        """Bytes of private memory; mapped memory does not count."""
        return 0 if isinstance(self._block, np.memmap) else self._block.nbytes

    def mark(self, revision: int, upto: int, seen: int, token: bytes) -> None:
        """Record which state of the store is included."""
        self.head[4:7] = revision, upto, seen
        self.token[:] = np.frombuffer(token, dtype=np.uint8)

    def flush(self) -> None:
        """Make changes durable, if it is mapped from a file."""
        if isinstance(self._block, np.memmap):
            self._block.flush()

    def rows(self, ids: Ids) -> Ids:
        """The rows of these ids, overwritten or not; unknown ids are left out."""
        at = np.minimum(np.searchsorted(self.ordered, ids), len(self) - 1)
        found: Ids = self.places[at[self.ordered[at] == ids]]
        return found

    def vectors(self, rows: Ids) -> Floats:
        """The approximate vectors of these rows."""
        vectors: Floats = self._quantizer.decode(np.ascontiguousarray(self.codes[rows]))
        return vectors

    def residue(self) -> npt.NDArray[np.float64]:
        """The part of the total that quantization loses."""
        left = np.flatnonzero(~self.gone)
        blocks = (left[start : start + DECODED_AT_ONCE] for start in range(0, len(left), DECODED_AT_ONCE))
        total: npt.NDArray[np.float64] = self.total - sum(
            self.vectors(rows).sum(axis=0, dtype=np.float64) for rows in blocks
        )
        return total

    def erase(self, rows: Ids) -> None:
        """Overwrite the vectors of these rows."""
        rows = rows[~self.gone[rows]]
        if len(rows):
            self.total[:] -= self.vectors(rows).sum(axis=0, dtype=np.float64)
            self.gone[rows] = True
            self.codes[rows] = 0

    def nearest(self, query: Floats, k: int, mask: Mask | None) -> Ids:
        """About the k nearest rows, from some of the lists; only of the wanted ones, if a mask is given."""
        bits = None if mask is None else np.packbits(mask, bitorder="little")
        selector = None if bits is None else faiss.IDSelectorBitmap(bits)
        chosen = np.argsort(-(self.centroids @ query))
        sizes = np.cumsum(np.diff(self.bounds)[chosen])
        enough = max(len(self) // PROBED_SHARE, 2 * k)
        best = _Best(self._quantizer, query, min(k, len(self)), selector)
        for one in chosen[: int(np.searchsorted(sizes, enough)) + 1]:
            first, last = int(self.bounds[one]), int(self.bounds[one + 1])
            best.scan(self.codes[first:last], np.arange(first, last))
        return best.rows()

    def nearest_of(self, query: Floats, k: int, rows: Ids) -> Ids:
        """The k nearest of these rows, by brute force."""
        if not len(rows):
            return rows
        best = _Best(self._quantizer, query, min(k, len(rows)), None)
        best.scan(np.ascontiguousarray(self.codes[rows]), np.ascontiguousarray(rows))
        return best.rows()

    def parts(self, gone: Mask) -> Iterator[Part]:
        """All vectors that were not overwritten, with their lists."""
        lists = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        left = np.flatnonzero(~gone)
        for start in range(0, len(left), DECODED_AT_ONCE):
            rows = left[start : start + DECODED_AT_ONCE]
            yield self.ids[rows], self.vectors(rows), lists[rows]


class _Best:
    """Collects the nearest rows of a FAISS scan."""

    def __init__(self, quantizer: Any, query: Floats, k: int, selector: Any) -> None:
        self._query, self._selector = np.ascontiguousarray(query, dtype=np.float32), selector  # FAISS keeps addresses
        self._scores = np.full(k, -np.inf, dtype=np.float32)
        self._rows: Ids = np.full(k, -1, dtype=np.int64)
        self._scanner = quantizer.select_InvertedListScanner(faiss.METRIC_INNER_PRODUCT, None, False, selector, False)
        self._scanner.set_query(faiss.swig_ptr(self._query))
        self._scanner.set_list(0, 0.0)

    def scan(self, codes: npt.NDArray[np.uint8], rows: Ids) -> None:
        if len(rows):
            found = (faiss.swig_ptr(self._scores), faiss.swig_ptr(self._rows), len(self._rows))
            self._scanner.scan_codes(len(rows), faiss.swig_ptr(codes), faiss.swig_ptr(rows), *found)

    def rows(self) -> Ids:
        return self._rows[self._rows >= 0]


def opened(path: Path, *, writable: bool = False) -> QuantizedVectors:
    """The vectors in a file, memory-mapped; raises `ValueError` if it contains no vectors, or only a part of them."""
    with path.open("r+b" if writable else "rb") as file:
        return QuantizedVectors(np.memmap(file, dtype=np.uint8, mode="r+" if writable else "r"))


def file_block(path: Path, size: int) -> Block:
    """An empty block mapped from a new file; raises `OSError` if the disk is full."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with path.open("w+b") as file:
        if hasattr(os, "posix_fallocate"):  # else writing to a full disk would end the process
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return np.memmap(file, dtype=np.uint8, mode="r+")


def memory_block(size: int) -> Block:
    """An empty block in memory."""
    return np.zeros(size, dtype=np.uint8)


def _padded(size: int) -> int:
    return -(-size // 64) * 64


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
    made = QuantizedVectors(block)  # whose quantizer knows the span
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
