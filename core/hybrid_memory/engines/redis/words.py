"""The words of the records: which of them answer a query, how well, and how else they may be spelt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hybrid_memory.engines.redis.conditions import condition
from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.engines.redis.engine import QueryEngine, ranked
from hybrid_memory.engines.redis.index_reading import SPELT, WORDS
from hybrid_memory.engines.redis.index_scripts import WORD_STEP
from hybrid_memory.engines.redis.keys import Keys, owner_tag
from hybrid_memory.engines.redis.records import decode, encode, listed
from hybrid_memory.index.bm25 import bm25, idf
from hybrid_memory.index.port import Matches
from hybrid_memory.index.record import Where
from hybrid_memory.scope import Scope
from hybrid_memory.text.spelling import nearly, slips

RANKED_RECORDS = 1_000
"""Matches that a text search ranks: where there are more, the most frequent terms are left out."""

RANKED_TERMS = 12
"""And where terms are left out, at most so many remain: each is counted over the whole store."""

_TOTALS = 2


class Words:
    """What a text search asks of the server; it finds the records, and the numbers are made here, as in other engines.

    Args:
        connection: to the server.
        engine: its search index.
    """

    def __init__(self, connection: RedisConnection, engine: QueryEngine) -> None:
        self._connection = connection
        self._keys = Keys(connection.prefix)
        self._engine = engine

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; of one term alone in very many records, the server ranks first."""
        words = [encode(term) for term in dict.fromkeys(terms)]
        weights, average = self._weighed(owner_tag(where.scope), words)
        if not weights or k < 1:
            return ranked([], 0)
        tag = owner_tag(where.scope)
        ids = self._engine.search(
            f"{condition(where)} @words:({'|'.join(weights)})",
            *("VERBATIM", "SCORER", "BM25STD", "LIMIT", 0, max(k, RANKED_RECORDS)),
        )
        texts = self._connection.script(WORDS, self._roots(tag), [listed(ids)]).decode().split("\n") if ids else []
        scores = []
        for number, text in zip(ids, texts, strict=True):
            counts = Counter(text.split())
            found = [(weight, counts[word]) for word, weight in weights.items() if counts[word]]
            if found:  # else it was deleted meanwhile
                scores.append((bm25(found, (counts.total() + 1) / average), number))
        return ranked(scores, k)

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """Terms of the owner's records that differ by a slip or two."""
        most = slips(term)
        if not most:
            return []
        told = self._connection.script(SPELT, self._roots(owner_tag(owner)), [len(term) - most, len(term) + most])
        return nearly(term, map(decode, told.decode().split()), k)

    def _weighed(self, tag: str, words: Sequence[str]) -> tuple[dict[str, float], float]:
        """What each word weighs over the whole index, of those that `_rarest` chooses; and the average length."""
        if not words:
            return {}, 1.0
        scores, (records, length), owners = self._connection.calls(
            [
                ("ZMSCORE", f"{self._keys.index(tag)}:words", *words),
                ("HMGET", self._keys.totals, "records", "words"),
                ("HLEN", self._keys.totals),
            ]
        )
        here = {word: int(float(score)) % WORD_STEP for word, score in zip(words, scores, strict=True) if score}
        counts = {word: here[word] for word in _rarest(here)}
        if owners > 1 + _TOTALS:
            everywhere = self._engine.counts([f"@words:({word})" for word in counts])
            counts = dict(zip(counts, everywhere, strict=True))
        total = max(int(records or 0), *counts.values(), 0)  # counted at one time, told at another
        weights = {word: idf(total, count) for word, count in counts.items()}
        return weights, max(int(length or 0) / max(total, 1), 1e-9)

    def _roots(self, tag: str) -> tuple[str, str]:
        return self._keys.index(tag), self._keys.record(tag)


def _rarest(counts: Mapping[str, int]) -> list[str]:
    """The words, from the rarest on, while their records are few enough to rank."""
    chosen: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        total += count
        if chosen and total > RANKED_RECORDS:
            return chosen[:RANKED_TERMS]
        chosen.append(word)
    return chosen
