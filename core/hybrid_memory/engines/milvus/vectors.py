"""The vectors of records, and the sum of each owner's vectors."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.milvus.catalog import VECTOR_PAGE, VECTORS, WINDOW, Catalog
from hybrid_memory.engines.milvus.rows import NARROWING, Narrowing, Row
from hybrid_memory.engines.milvus.state import EMBEDDER, StateTable, sum_of
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import Matches

FILTERED = 256
"""The fewest rows that a search fetches if they must be filtered."""


@dataclass(frozen=True, slots=True)
class Probing:
    """How many inverted lists a search probes: without a filter, and with one.

    A filtered search probes all lists, as the nearest ones may contain no allowed record. So does a search that found
    too few.

    Attributes:
        exact: whether such a search misses nothing.
    """

    plain: int
    narrowed: int
    exact: bool


class VectorTable:
    """The collection of vectors, created with the first vector."""

    def __init__(self, catalog: Catalog, state: StateTable, probing: Probing) -> None:
        self._catalog = catalog
        self._state = state
        self._probing = probing

    def embedder(self) -> tuple[str, int] | None:
        stored = self._state.get([EMBEDDER])
        return (stored[EMBEDDER][0], stored[EMBEDDER][1]) if stored else None

    def prepare(self, embedder: tuple[str, int]) -> None:
        """Create the collection for this embedder; errors as in `IndexEngine.put_vectors`."""
        stored = self.embedder()
        if stored is None:
            # The name comes last: where it is missing, a collection that a crash left is made again.
            self._catalog.make_vectors(embedder[1])
            self._state.put({EMBEDDER: list(embedder)})
        elif stored != embedder:
            raise EmbedderMismatchError(stored, embedder)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        wanted = list(dict.fromkeys(key.hex() for key in keys))
        if not wanted or self.embedder() is None:
            return {}
        names = ", ".join(f'"{name}"' for name in wanted)
        rows = self._catalog.select(VECTORS, f"key in [{names}]", ["id", "key"])
        one_of = {row["key"]: row["id"] for row in rows}
        vectors = self._fetch(list(one_of.values()), ["key"])
        return {bytes.fromhex(row["key"]): _vector(row) for row in vectors}

    def put(self, rows: Sequence[Row], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]) -> None:
        """Store the vectors of these records, given their rows, which have none yet."""
        present = {row["id"] for row in self._catalog.fetch(VECTORS, [row["id"] for row in rows], ["id"])}
        stored = [
            {
                **{name: row[name] for name in NARROWING},
                "metadata": list(row["metadata"]),
                "key": keys[row["id"]].hex(),
                "vector": np.asarray(vectors[keys[row["id"]]], dtype=np.float32).tolist(),
            }
            for row in rows
        ]
        self._catalog.write(VECTORS, stored)
        self._add([row for row in stored if row["id"] not in present], 1)
        for owner in {row["owner"] for row in rows if row["id"] in present}:  # a crash came before they were counted
            self.repair(owner)

    def drop(self, ids: Sequence[int]) -> None:
        if self.embedder() is not None and (rows := self._fetch(ids, ["owner"])):
            self._catalog.remove(VECTORS, [row["id"] for row in rows])
            self._add(rows, -1)

    def of(self, owner: str, ids: Sequence[int]) -> dict[int, Floats]:
        if not ids or self.embedder() is None:
            return {}
        rows = self._fetch(list(dict.fromkeys(ids)), ["owner"])
        return {row["id"]: _vector(row) for row in rows if row["owner"] == owner}

    def repair(self, owner: str) -> None:
        """Recompute the sum of the owner's vectors if it does not match their number."""
        if self.embedder() is None:
            return
        expression = f'owner == "{owner}"'
        summed = self._state.get([sum_of(owner)]).get(sum_of(owner), {"count": 0})
        if summed["count"] != len(self._catalog.select(VECTORS, expression, ["id"])):
            rows = self._catalog.select(VECTORS, expression, ["id", "vector"], page=VECTOR_PAGE)
            self._state.put({sum_of(owner): _summed(rows, None, 1)})

    def nearest(self, vector: Floats, narrowing: Narrowing, k: int) -> Matches:
        if k < 1 or (stored := self.embedder()) is None or stored[1] != len(vector):
            return Matches.best({}, k)
        limit = k if narrowing.whole else max(4 * k, FILTERED)
        nprobe = self._probing.plain if narrowing.plain else self._probing.narrowed
        while limit <= WINDOW:
            hits = self._catalog.nearest(vector, narrowing.expression, limit, nprobe=nprobe)
            scores = {row["id"]: row["distance"] for row in hits if narrowing.whole or narrowing.visible(row["turn"])}
            if len(scores) >= k:
                return Matches.best(scores, k)
            if len(hits) == limit:
                limit *= 4
            elif nprobe < self._probing.narrowed:
                nprobe = self._probing.narrowed
            elif self._probing.exact:
                return Matches.best(scores, k)
            else:
                break
        return self._compared(vector, narrowing, k)

    def _compared(self, vector: Floats, narrowing: Narrowing, k: int) -> Matches:
        """The same by brute force: there are few, or an approximate index missed some."""
        rows = self._catalog.select(VECTORS, narrowing.expression, ["id", "turn", "vector"], page=VECTOR_PAGE)
        rows = [row for row in rows if narrowing.visible(row["turn"])]
        return Matches.best({row["id"]: float(_vector(row) @ vector) for row in rows}, k)

    def _fetch(self, ids: Sequence[int], fields: Sequence[str]) -> list[Row]:
        return self._catalog.fetch(VECTORS, ids, ["id", "vector", *fields])

    def _add(self, rows: Sequence[Row], sign: int) -> None:
        mine: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            mine[row["owner"]].append(row)
        sums = self._state.get(sum_of(owner) for owner in mine)
        self._state.put({sum_of(owner): _summed(part, sums.get(sum_of(owner)), sign) for owner, part in mine.items()})


def _vector(row: Row) -> Floats:
    return np.asarray(row["vector"], dtype=np.float32)


def _summed(rows: Sequence[Row], before: dict[str, Any] | None, sign: int) -> dict[str, Any] | None:
    """The previous sum plus these vectors; None if there are none."""
    count = (before["count"] if before else 0) + sign * len(rows)
    if count < 1:
        return None
    total = sign * np.sum([_vector(row) for row in rows], axis=0, dtype=np.float64)
    if (earlier := unpacked(before)[1]) is not None:
        total = total + earlier
    return {"count": count, "sum": base64.b64encode(total.astype(np.float64).tobytes()).decode()}


def unpacked(document: dict[str, Any] | None) -> tuple[int, npt.NDArray[np.float64] | None]:
    """The number of summed vectors, and their sum."""
    if not document or not document["count"]:
        return 0, None
    return document["count"], np.frombuffer(base64.b64decode(document["sum"]), dtype=np.float64)
