"""How many records have a term: what BM25 weighs, and the list of terms that misspelt ones are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hybrid_memory.engines.milvus.catalog import FLAT, RECORDS, TERMS, Catalog
from hybrid_memory.engines.milvus.rows import Row, digest
from hybrid_memory.index.bm25 import idf
from hybrid_memory.text.spelling import allowed_edits, close_terms

TOTAL = "total"
SPELT_CHARS = 64


class TermCounts:
    """Over the whole index, kept with the writes; `repair` counts anew where a crash left them wrong."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def weights(self, terms: Sequence[str]) -> tuple[dict[str, float], float]:
        """The idf of each of these terms that some record has, and the average length of a record."""
        names = {digest("term", term): term for term in terms}
        rows = {row["id"]: row for row in self._catalog.fetch(TERMS, [TOTAL, *names], ["id", "count", "length"])}
        total = rows.pop(TOTAL, {"count": 0, "length": 0})
        average = max(total["length"] / max(total["count"], 1), 1e-9)
        return {names[name]: idf(total["count"], row["count"]) for name, row in rows.items()}, average

    def change(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """Count the terms of records that come, and no longer those of records that go."""
        counts, total, length = _counted(added)
        fewer, less, shorter = _counted(removed)
        counts.subtract(fewer)
        changed = {digest("term", term): (term, count) for term, count in counts.items() if count}
        if not changed and total == less:
            return
        before = {row["id"]: row for row in self._catalog.fetch(TERMS, [TOTAL, *changed], ["id", "count", "length"])}
        rows = [
            _row(name, term, max(count + (before[name]["count"] if name in before else 0), 0))
            for name, (term, count) in changed.items()
        ]
        there = before.get(TOTAL, {"count": 0, "length": 0})
        sums = {"count": max(there["count"] + total - less, 0), "length": max(there["length"] + length - shorter, 0)}
        self._store([*rows, {**_row(TOTAL, "", 0), **sums}])

    def repair(self) -> None:
        """Count everything anew if the counts are not of as many records as there are."""
        there = self._catalog.fetch(TERMS, [TOTAL], ["id", "count"])
        if (there[0]["count"] if there else 0) == self._catalog.count(RECORDS):
            return
        counts, total, length = _counted(row["terms"] for row in self._catalog.select(RECORDS, "", ["id", "terms"]))
        known = {row["id"] for row in self._catalog.select(TERMS, "", ["id"])}
        rows = {name: _row(name, term, count) for term, count in counts.items() if (name := digest("term", term))}
        rows[TOTAL] = {**_row(TOTAL, "", 0), "count": total, "length": length}
        self._store([*rows.values(), *(_row(name, "", 0) for name in known - rows.keys())])

    def near(self, term: str, k: int) -> list[str]:
        """At most k terms of any owner that are one or two edits away, nearest first; none if anybody has this one."""
        most = allowed_edits(term)
        if not most or any(row["count"] for row in self._catalog.fetch(TERMS, [digest("term", term)], ["id", "count"])):
            return []
        expression = f"chars >= {len(term) - most} and chars <= {len(term) + most} and term like '{term[0]}%'"
        rows = self._catalog.select(TERMS, expression, ["id", "term"])
        return close_terms(term, [row["term"] for row in rows], k)

    def _store(self, rows: Sequence[Row]) -> None:
        """Terms that no record has are removed: what was forgotten is not to be read here."""
        self._catalog.write(TERMS, [row for row in rows if row["count"] or row["id"] == TOTAL])
        self._catalog.remove(TERMS, [row["id"] for row in rows if not row["count"] and row["id"] != TOTAL])


def _counted(texts: Iterable[str]) -> tuple[Counter[str], int, int]:
    """How many texts have each term, how many texts there are, and their length; one more each, as FTS5 counts."""
    counts: Counter[str] = Counter()
    total = length = 0
    for text in texts:
        words = text.split()
        counts.update(set(words))
        total, length = total + 1, length + len(words) + 1
    return counts, total, length


def _row(name: str, term: str, count: int) -> Row:
    spelt = term if len(term) <= SPELT_CHARS else ""
    return {"id": name, "term": spelt, "chars": len(spelt) or -1, "count": count, "length": 0, "dummy": FLAT}
