"""The text index of a store file, block by block, compared with counting every word anew."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from hybrid_memory.engines.sqlite import postings
from hybrid_memory.engines.sqlite.schema import SCHEMA
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import best

WORDS = ["cat" + letter * times for letter in "abcdefghij" for times in range(1, 5)]
ALL = 10_000


class Texts:
    """Postings in memory, beside the records of which they are."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.execute("CREATE TABLE records(id INTEGER PRIMARY KEY, owner INTEGER)")
        for statement in SCHEMA.split(";"):
            if "posting" in statement or "TABLE words" in statement:
                self.connection.execute(statement)
        self.held: dict[int, dict[int, str]] = {}

    def select(self, sql: str, values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def add(self, owner: int, texts: dict[int, str]) -> None:
        self.connection.executemany("INSERT INTO records VALUES (?, ?)", [(number, owner) for number in texts])
        postings.add(self.connection, owner, list(texts.items()))
        self.held.setdefault(owner, {}).update(texts)

    def remove(self, ids: list[int]) -> None:
        postings.remove(self.connection, ids)
        self.connection.executemany("DELETE FROM records WHERE id = ?", [(number,) for number in ids])
        for texts in self.held.values():
            for number in ids:
                texts.pop(number, None)

    def check(self, owner: int, terms: list[str]) -> None:
        counts = {number: Counter(text.split()) for number, text in self.held.get(owner, {}).items()}
        frequencies = {term: sum(term in count for count in counts.values()) for term in terms}
        length = sum(count.total() + 1 for count in counts.values())
        expected = ranked(counts.items(), frequencies, len(counts), length, ALL)
        found = best(*postings.scored(self.select, owner, terms), ALL)
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)
        there = {term: count for term, count in frequencies.items() if count}
        assert postings.counts(self.select, owner, terms) == there
        every = Counter(term for count in counts.values() for term in count)
        assert postings.near(self.select, owner, "cats") == {t: n for t, n in every.items() if len(t) < len("catsss")}

    def blocks(self, owner: int) -> list[tuple[int, int]]:
        return self.select("SELECT level, records FROM posting_blocks WHERE owner = ? ORDER BY level", (owner,))

    def steps(self, owner: int, terms: list[str]) -> int:
        """How many instructions SQLite needs for a search."""
        done = [0]

        def count() -> None:
            done[0] += 1

        self.connection.set_progress_handler(count, 1)
        postings.scored(self.select, owner, terms)
        postings.counts(self.select, owner, terms)
        self.connection.set_progress_handler(None, 1)
        return done[0]


@pytest.fixture
def texts() -> Iterator[Texts]:
    made = Texts()
    yield made
    made.connection.close()


def text(chance: Random, most: int = 12) -> str:
    return " ".join(chance.choices(WORDS, weights=range(1, len(WORDS) + 1), k=chance.randrange(most)))


@pytest.mark.parametrize("seed", range(3))
def test_adding_merging_and_removing_agree_with_counting_anew(
    texts: Texts, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with ids that come late or again, beyond 32 bits, and texts without a term."""
    monkeypatch.setattr(postings, "FAN", 3)
    monkeypatch.setattr(postings, "LARGEST", 60)
    chance = Random(seed)  # noqa: S311 - words
    for _ in range(60):
        owner = chance.randrange(1, 4)
        taken = [number for held in texts.held.values() for number in held]
        fresh = {chance.randrange(1, 1 << chance.choice((9, 34))) for _ in range(chance.randrange(1, 12))}
        texts.add(owner, {number: text(chance) for number in fresh - set(taken)})
        if taken:
            texts.remove(chance.sample(taken, min(len(taken), chance.randrange(6))))
        texts.check(owner, chance.sample(WORDS, 5))
    for owner, held in texts.held.items():
        texts.remove(list(held))
        texts.check(owner, WORDS)
    for table in ("words", "postings", "posting_blocks"):
        assert texts.select(f"SELECT count(*) FROM {table}", ()) == [(0,)], table  # noqa: S608 - our own
