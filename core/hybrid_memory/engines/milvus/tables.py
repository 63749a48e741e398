"""Of a Milvus index: the names of its documents, the term counts of owners, and the vectors."""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.milvus.catalog import FLAT, RECORDS, TERMS, VECTOR_PAGE, VECTORS, WINDOW, Catalog
from hybrid_memory.engines.milvus.rows import NARROWING, Narrowing, Row, digest
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import Matches
from hybrid_memory.index.record import Keys, Vectors
from hybrid_memory.text.tokenize import allowed_edits

EMBEDDER = "embedder"


SPELT_CHARS = 64  # the longest term that is kept as it is spelt, to correct others by
SIFTED = 256  # the fewest rows that a search fetches if some of them may be hidden


def name_of(kind: str, *parts: str) -> str:
    """The name of a document.

    Of an owner: ``applied`` (position), ``anchor`` (of that position), ``newest`` (the latest time of a record, in
    microseconds), ``sum`` (of the vectors), ``total`` (number and length of the records), and of one of its sessions,
    given as a digest, ``tail`` (the id of the last turn).
    """
    return ":".join((kind, *parts))


class TermCounts:
    """Term counts of each owner, updated with every write; `repair` recounts them after a crash.

    The count of the empty term is that of the records, with their total length (terms plus one for each).
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of(self, owner: str, terms: Sequence[str]) -> tuple[dict[str, int], int, int]:
        """For each of these terms, how many of the owner's records have it; their number and total length."""
        stored = self._stored(owner, ["", *terms])
        records, length = stored.pop("", (0, 0))
        return {term: count for term, (count, _) in stored.items()}, records, length

    def change(self, added: Sequence[Row], removed: Sequence[Row]) -> None:
        """Add the terms of some records to the counts, and subtract those of others."""
        changes: dict[str, Counter[str]] = defaultdict(Counter)
        lengths: Counter[str] = Counter()
        for sign, rows in ((1, added), (-1, removed)):
            for row in rows:
                words = row["terms"].split()
                lengths[row["owner"]] += sign * (len(words) + 1)
                for term in {"", *words}:
                    changes[row["owner"]][term] += sign
        for owner, counts in changes.items():
            self._add(owner, {term: count for term, count in counts.items() if count or not term}, lengths[owner])

    def repair(self, owner: str) -> None:
        """Recount everything if the counts do not match the number of records."""
        mine = f'owner == "{owner}"'
        if self.of(owner, [])[1] != self._catalog.count(RECORDS, mine):
            known = [row["id"] for row in self._catalog.select(TERMS, f"term like '{owner}:%'", ["id"])]
            self._catalog.remove(TERMS, [*known, _name_of(owner, "")])
            self.change(self._catalog.select(RECORDS, mine, ["id", "owner", "terms"]), [])

    def near(self, owner: str, term: str) -> list[str]:
        """The owner's terms with the same first letter and a similar length."""
        first, last = len(term) - allowed_edits(term), len(term) + allowed_edits(term)
        expression = f"chars >= {first} and chars <= {last} and term like '{owner}:{term[0]}%'"
        return [row["term"].partition(":")[2] for row in self._catalog.select(TERMS, expression, ["id", "term"])]

    def _add(self, owner: str, counts: Mapping[str, int], length: int) -> None:
        stored = self._stored(owner, list(counts))
        rows, gone = [], []
        for term, change in counts.items():
            count, before = stored.get(term, (0, 0))
            name, spelt = _name_of(owner, term), term if len(term) <= SPELT_CHARS else ""
            if count + change < 1:  # no record has it: what was forgotten is not to be read here
                gone.append(name)
                continue
            row = {"id": name, "term": f"{owner}:{spelt}", "chars": len(spelt) or -1, "dummy": FLAT}
            rows.append({**row, "count": count + change, "length": 0 if term else max(before + length, 0)})
        self._catalog.write(TERMS, rows)
        self._catalog.remove(TERMS, gone)

    def _stored(self, owner: str, terms: Sequence[str]) -> dict[str, tuple[int, int]]:
        names = {_name_of(owner, term): term for term in terms}
        rows = self._catalog.fetch(TERMS, list(names), ["id", "count", "length"])
        return {names[row["id"]]: (row["count"], row["length"]) for row in rows}


def _name_of(owner: str, term: str) -> str:
    return digest("term", owner, term) if term else name_of("total", owner)


class VectorTable:
    """The collection of vectors, created with the first vector.

    Args:
        lists: the number of inverted lists, of which an unfiltered search probes one in eight. A filtered search probes
            all, as the nearest ones may contain no allowed record, and so does one that found too few.
        exact: whether a search that probes all misses nothing.
    """

    def __init__(self, catalog: Catalog, *, lists: int, exact: bool) -> None:
        self._catalog = catalog
        self._lists = lists
        self._exact = exact

    def embedder(self) -> tuple[str, int] | None:
        stored = self._catalog.documents([EMBEDDER])
        return (stored[EMBEDDER][0], stored[EMBEDDER][1]) if stored else None

    def prepare(self, embedder: tuple[str, int]) -> None:
        """Create the collection for this embedder; errors as in `SemanticIndex.put_vectors`."""
        stored = self.embedder()
        if stored is None:
            # The name comes last: where it is missing, a collection that a crash left is made again.
            self._catalog.make_vectors(embedder[1])
            self._catalog.put_documents({EMBEDDER: list(embedder)})
        elif stored != embedder:
            raise EmbedderMismatchError(stored, embedder)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        wanted = list(dict.fromkeys(key.hex() for key in keys))
        if not wanted or self.embedder() is None:
            return {}
        rows = self._catalog.select(VECTORS, f"key in {json.dumps(wanted)}", ["id", "key"])
        one_of = {row["key"]: row["id"] for row in rows}
        vectors = self._fetch(list(one_of.values()), ["key"])
        return {bytes.fromhex(row["key"]): _vector(row) for row in vectors}

    def put(self, rows: Sequence[Row], keys: Keys, vectors: Vectors) -> None:
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
        mine, name = f'owner == "{owner}"', name_of("sum", owner)
        if unpacked(self._catalog.documents([name]).get(name))[0] != self._catalog.count(VECTORS, mine):
            self._catalog.put_documents({name: None})
            self._add(self._catalog.select(VECTORS, mine, ["id", "owner", "vector"], page=VECTOR_PAGE), 1)

    def nearest(self, vector: Floats, narrowing: Narrowing, k: int) -> Matches:
        if k < 1 or (stored := self.embedder()) is None or stored[1] != len(vector):
            return Matches.best({}, k)
        limit = max(4 * k, SIFTED) if narrowing.hidden else k
        nprobe = max(1, self._lists // 8) if narrowing.plain else self._lists
        while limit <= WINDOW:
            hits = self._catalog.nearest(vector, narrowing.expression, limit, nprobe=nprobe)
            scores = {row["id"]: row["distance"] for row in narrowing.sifted(hits)}
            if len(scores) >= k or (self._exact and nprobe == self._lists and len(hits) < limit):
                return Matches.best(scores, k)
            if len(hits) == limit:
                limit *= 4
            elif nprobe < self._lists:
                nprobe = self._lists
            else:
                break
        # The same by brute force: there are few, or an approximate index missed some.
        rows = self._catalog.select(VECTORS, narrowing.expression, ["id", "turn", "vector"], page=VECTOR_PAGE)
        return Matches.best({row["id"]: float(_vector(row) @ vector) for row in narrowing.sifted(rows)}, k)

    def _fetch(self, ids: Sequence[int], fields: Sequence[str]) -> list[Row]:
        return self._catalog.fetch(VECTORS, ids, ["id", "vector", *fields])

    def _add(self, rows: Sequence[Row], sign: int) -> None:
        """Add these vectors to the sums of their owners, or subtract them."""
        mine: dict[str, list[Floats]] = defaultdict(list)
        for row in rows:
            mine[name_of("sum", row["owner"])].append(_vector(row))
        stored = self._catalog.documents(mine)
        sums: dict[str, Any] = {}
        for name, vectors in mine.items():
            count, before = unpacked(stored.get(name))
            count += sign * len(vectors)
            change = sign * np.sum(vectors, axis=0, dtype=np.float64)
            packed = base64.b64encode((change if before is None else before + change).tobytes()).decode()
            sums[name] = {"count": count, "sum": packed} if count > 0 else None
        self._catalog.put_documents(sums)


def _vector(row: Row) -> Floats:
    return np.asarray(row["vector"], dtype=np.float32)


def unpacked(document: dict[str, Any] | None) -> tuple[int, npt.NDArray[np.float64] | None]:
    """The number of summed vectors, and their sum."""
    if document is None:
        return 0, None
    return document["count"], np.frombuffer(base64.b64decode(document["sum"]), dtype=np.float64)
