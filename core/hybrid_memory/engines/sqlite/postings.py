"""The text index of a store file: postings in blocks of one owner each, whose size no other owner affects."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids
from hybrid_memory.index.bm25 import BM25_B, BM25_K1, idf
from hybrid_memory.text.tokenize import allowed_edits

FAN = 8
"""How many blocks of one level are merged into one of the next; a search reads at most this many per level."""

LARGEST = 32_768
"""Records in a block that is not merged any further: making one takes 0.2 s."""

BLANK = ""
"""The term of a record without terms."""

_POSTING = np.dtype([("low", "<u4"), ("high", "<u2"), ("length", "<u2"), ("count", "<u2")])
"""Record id, number of its terms plus one, and number of occurrences of this term."""

_MOST = (1 << 16) - 1
_SPREAD = 16
"""Scores are summed in one array if the range of ids is at most this many times the number of postings."""

_INTO = "INSERT INTO postings(owner, block, term, data) VALUES (?, ?, ?, ?)"
_OF_TERMS = (
    "FROM json_each(?) w CROSS JOIN posting_blocks b CROSS JOIN postings p "
    "WHERE b.owner = ? AND p.owner = b.owner AND p.block = b.block AND p.term = w.value"
)

Select = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


def add(connection: sqlite3.Connection, owner: int, entries: Sequence[tuple[int, str]]) -> None:
    """Index the terms of new records, given as id and terms separated by spaces."""
    if not entries:
        return
    connection.executemany("INSERT INTO words(record, terms) VALUES (?, ?)", entries)
    ids = np.array([number for number, _ in entries], dtype=np.int64)
    words = [text.split() or [BLANK] for _, text in entries]
    lengths = np.array([min(len(text.split()) + 1, _MOST) for _, text in entries])
    level = 0
    while FAN ** (level + 1) <= len(ids):
        level += 1
    block = (level, len(ids), int(lengths.sum()), int(ids.min()), int(ids.max()))
    _write(connection, owner, block, _inverted(ids, lengths, words))
    while _merged(connection, owner, level):
        level += 1


def remove(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Remove records from the index; call it while the records themselves still exist."""
    rows = connection.execute(
        "SELECT r.owner, w.record, w.terms FROM words w JOIN records r ON r.id = w.record "
        "WHERE w.record IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).fetchall()
    by_owner: defaultdict[int, dict[int, list[str]]] = defaultdict(dict)
    for owner, number, text in rows:
        by_owner[owner][number] = text.split() or [BLANK]
    for owner, gone in by_owner.items():
        blocks = connection.execute(
            "SELECT block, first, last FROM posting_blocks WHERE owner = ?", (owner,)
        ).fetchall()
        for block, first, last in blocks:
            inside = {number: terms for number, terms in gone.items() if first <= number <= last}
            if inside:
                _remove_from(connection, owner, block, inside)
    connection.executemany("DELETE FROM words WHERE record = ?", [(number,) for _, number, _ in rows])


def counts(select: Select, owner: int | None, terms: Sequence[str]) -> dict[str, int]:
    """How many records of the owner have each of these terms."""
    return dict(
        select(
            f"SELECT w.value, sum(length(p.data)) / {_POSTING.itemsize} {_OF_TERMS} GROUP BY w.value",
            (json.dumps(list(dict.fromkeys(terms))), owner),
        )
    )


def near(select: Select, owner: int | None, term: str) -> dict[str, int]:
    """How many of the owner's records have each term with this first letter and a similar length."""
    edits = allowed_edits(term)
    return dict(
        select(
            f"SELECT p.term, sum(length(p.data)) / {_POSTING.itemsize} FROM posting_blocks b CROSS JOIN postings p "
            "WHERE b.owner = ? AND p.owner = b.owner AND p.block = b.block AND p.term >= ? AND p.term < ? "
            "AND length(p.term) BETWEEN ? AND ? GROUP BY p.term",
            (owner, term[0], chr(ord(term[0]) + 1), len(term) - edits, len(term) + edits),
        )
    )


def scored(select: Select, owner: int, terms: Sequence[str]) -> tuple[Ids, Array]:
    """The owner's records that have any of the terms, by id, with the BM25 of each."""
    ((records, length),) = select("SELECT total(records), total(length) FROM posting_blocks WHERE owner = ?", (owner,))
    parts: dict[str, list[bytes]] = {term: [] for term in terms}
    for term, data in select(f"SELECT w.value, p.data {_OF_TERMS}", (json.dumps(list(parts)), owner)):
        parts[term].append(data)
    found = [np.frombuffer(b"".join(data), dtype=_POSTING) for data in parts.values() if data]
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0)
    total = max(int(records), *map(len, found))  # somebody may write between the two queries
    average = max(length / total, 1e-9)
    weights = np.repeat([idf(total, len(postings)) for postings in found], [len(postings) for postings in found])
    postings = np.concatenate(found)
    often = postings["count"].astype(np.float64)
    norm = BM25_K1 * (1 - BM25_B + BM25_B * postings["length"] / average)
    ids, scores = _ids(postings), weights * often * (BM25_K1 + 1) / (often + norm)
    # Each id once, with the sum of its scores.
    first = int(ids.min())
    if int(ids.max()) - first < _SPREAD * len(ids):
        sums: Array = np.bincount(ids - first, weights=scores).astype(np.float64)
        there: Ids = np.flatnonzero(sums).astype(np.int64)
        return there + first, sums[there]
    every, places = np.unique(ids, return_inverse=True)
    return every, np.bincount(places, weights=scores).astype(np.float64)


def _inverted(ids: Ids, lengths: Ids, words: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """The postings of each term, sorted by term."""
    flat = list(chain.from_iterable(words))
    terms = sorted(set(flat))
    places = dict(zip(terms, range(len(terms)), strict=True))
    rows = np.repeat(np.arange(len(ids)), [len(text) for text in words])
    pairs, counts = np.unique(np.array([places[word] for word in flat]) * len(ids) + rows, return_counts=True)
    rows = pairs % len(ids)
    postings = np.empty(len(pairs), dtype=_POSTING)
    postings["low"], postings["high"] = ids[rows] & 0xFFFFFFFF, ids[rows] >> 32
    postings["length"], postings["count"] = lengths[rows], np.minimum(counts, _MOST)
    ends = np.searchsorted(pairs, np.arange(len(terms) + 1) * len(ids)) * _POSTING.itemsize
    data = postings.tobytes()
    return {term: data[begin:end] for term, (begin, end) in zip(terms, pairwise(ends.tolist()), strict=True)}


def _write(connection: sqlite3.Connection, owner: int, block: tuple[int, ...], postings: Mapping[str, bytes]) -> None:
    ((number,),) = connection.execute(
        "INSERT INTO posting_blocks(owner, block, level, records, length, first, last) "
        "SELECT ?1, ifnull(max(block), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM posting_blocks WHERE owner = ?1 RETURNING block",
        (owner, *block),
    ).fetchall()
    connection.executemany(_INTO, [(owner, number, term, data) for term, data in postings.items()])


def _merged(connection: sqlite3.Connection, owner: int, level: int) -> bool:
    """Merge the blocks of this level into one of the next if there are enough; returns whether there were."""
    blocks = connection.execute(
        "SELECT block, records, length, first, last FROM posting_blocks WHERE owner = ? AND level = ?", (owner, level)
    ).fetchall()
    if len(blocks) < FAN or sum(block[1] for block in blocks) > LARGEST:
        return False
    numbers, records, lengths, firsts, lasts = zip(*blocks, strict=True)
    postings: defaultdict[str, list[bytes]] = defaultdict(list)
    for number in numbers:
        rows = connection.execute("SELECT term, data FROM postings WHERE owner = ? AND block = ?", (owner, number))
        for term, data in rows.fetchall():
            postings[term].append(data)
    joined = {term: b"".join(postings[term]) for term in sorted(postings)}
    _write(connection, owner, (level + 1, sum(records), sum(lengths), min(firsts), max(lasts)), joined)
    for table in ("postings", "posting_blocks"):
        connection.executemany(
            f"DELETE FROM {table} WHERE owner = ? AND block = ?", [(owner, number) for number in numbers]
        )
    return True


def _remove_from(connection: sqlite3.Connection, owner: int, block: int, gone: Mapping[int, Sequence[str]]) -> None:
    """Remove these records from a block, if it has them."""
    numbers = np.fromiter(gone, dtype=np.int64, count=len(gone))
    terms = json.dumps(sorted({term for words in gone.values() for term in words}))
    rows = connection.execute(
        "SELECT term, data FROM postings WHERE owner = ? AND block = ? AND term IN (SELECT value FROM json_each(?))",
        (owner, block, terms),
    ).fetchall()
    left: list[tuple[bytes, int, int, str]] = []
    lengths: dict[int, int] = {}
    for term, data in rows:
        postings = np.frombuffer(data, dtype=_POSTING)
        hit = np.isin(_ids(postings), numbers)
        if hit.any():
            lengths |= zip(_ids(postings[hit]).tolist(), postings["length"][hit].tolist(), strict=True)
            left.append((postings[~hit].tobytes(), owner, block, term))
    place = "WHERE owner = ? AND block = ?"
    connection.executemany(f"UPDATE postings SET data = ? {place} AND term = ?", [row for row in left if row[0]])
    connection.executemany(f"DELETE FROM postings {place} AND term = ?", [row[1:] for row in left if not row[0]])
    connection.execute(
        f"UPDATE posting_blocks SET records = records - ?, length = length - ? {place}",
        (len(lengths), sum(lengths.values()), owner, block),
    )
    connection.execute(f"DELETE FROM posting_blocks {place} AND records <= 0", (owner, block))


def _ids(postings: npt.NDArray[np.void]) -> Ids:
    ids: Ids = postings["low"].astype(np.int64) | (postings["high"].astype(np.int64) << 32)
    return ids
