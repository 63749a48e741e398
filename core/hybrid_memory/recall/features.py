"""Numeric features of a query's candidates: of places and matches, and of the words of the best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_memory.arrays import Array, Floats, Numbers
from hybrid_memory.facts.fact import USER
from hybrid_memory.index.bm25 import idf
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.recall import ranking
from hybrid_memory.recall.candidates import Found
from hybrid_memory.recall.exchanges import answering
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.reading import Demand, Offer, demand, named, offer
from hybrid_memory.text.speech import speech

MARGIN = 7 * ranking.DAY
"""For how long after a time its events are still reported."""


def of_places(found: Found, plan: Plan, *, vector: float, text: float) -> dict[str, Array]:
    """Features that need no words, columns of shape (n,).

    Args:
        found: the candidates.
        plan: the plan, with the times that the query names.
        vector: the weight of meaning in relevance.
        text: the weight of words; both add up to 1, or are 0.
    """
    places = found.places
    by_meaning, by_words = ranking.vector_signal(found.similarity, found.average), ranking.text_signal(found.bm25)
    relevance = vector * by_meaning + text * by_words
    spans = [(span.since.timestamp(), span.until.timestamp()) for span in plan.times]
    near = ranking.absolute_similarity(found.similarity, found.average, found.same, found.count)
    return {
        "relevance": relevance,
        "vector": by_meaning,
        "text": by_words,
        "similarity": np.nan_to_num(near, nan=0.0),
        "around": ranking.neighbour_signal(relevance, places.segments, places.ordinals, average=0.5 * vector),
        "words after": ranking.beside(by_words, places.segments, places.ordinals, 1),
        "segment": ranking.segment_signal(relevance, places.segments),
        "importance": places.importance.astype(np.float64),
        "brevity": np.full(len(places.ids), ranking.brevity(places.lengths)),
        "in time": ranking.temporal_signal(places.at, spans),
        "told after": ranking.told_after(places.at, spans, MARGIN),
    }


@dataclass(frozen=True, slots=True)
class Said:
    """The words of the best candidates.

    Attributes:
        records: the records of the candidates.
        relevance: by meaning and words; segments, ordinals: their places; all of shape (n,).
        vectors: of the records, zeros without one, of shape (n, dim); embedder: the name of the embedder.
    """

    records: Sequence[Record]
    relevance: Array
    segments: Numbers
    ordinals: Numbers
    vectors: Floats
    embedder: str


def of_words(query: str, said: Said, counts: Mapping[str, int], total: int) -> dict[str, Array]:
    """Features of the words of the best candidates, columns of shape (n,).

    Args:
        query: the query as given.
        said: the words.
        counts: how many of the owner's records have each term of the query.
        total: how many records there are.
    """
    records = said.records
    asked, offers = demand(query), [offer(record.text) for record in records]
    speaks = speech([record.text for record in records], said.vectors, said.embedder)
    people = named(query, {record.speaker for record in records})
    helper = np.array([float(record.origin is Origin.ASSISTANT) for record in records])
    columns = {
        "empty": speaks.empty,
        "asks": speaks.asks,
        "named": [_named(record, people, asked) for record in records],
        "assistant": helper,
        "times": [one.times for one in offers],
        "numbers": [one.numbers for one in offers],
    }
    arrays = {name: np.array(column, dtype=np.float64) for name, column in columns.items()}
    arrays["time for a time"] = arrays["times"] * ("time" in asked.kinds)
    arrays["number for a number"] = arrays["numbers"] * ("number" in asked.kinds)
    arrays["assistant of yours"] = helper * asked.yours
    asked_already = sum(repeats(query, record) for record in records)
    told = {term: count - asked_already for term, count in counts.items() if count > asked_already}
    arrays |= _coverage(asked, offers, [_having(record) for record in records], told, total)
    exchanged = answering(said.relevance, speaks, said.segments, said.ordinals)
    return arrays | {"repeats": arrays["asks"] * arrays["covered"], "answers": exchanged}


def repeats(query: str, record: Record) -> bool:
    """Whether a record only repeats the query."""
    return record.text.strip() == query.strip()


def _named(record: Record, people: Collection[str], asked: Demand) -> float:
    """1 for people the query names, or facts about a user who asks about themselves; 0.5 if it names nobody."""
    if people:
        return float(record.speaker in people)
    return 1.0 if asked.of_self and record.kind is RecordKind.FACT and record.speaker == USER else 0.5


def _having(record: Record) -> frozenset[int]:
    """The terms of a record, including its speaker."""
    return offer(record.text).terms | (offer(record.speaker).terms if record.kind is RecordKind.TURN else frozenset())


def _coverage(
    asked: Demand, offers: Sequence[Offer], having: Sequence[frozenset[int]], counts: Mapping[str, int], total: int
) -> dict[str, Array]:
    """The share of the query's terms that each record has, weighted by rarity, and the share of adjacent pairs."""
    weights = {hash(term): idf(max(total, counts.get(term, 0)), counts.get(term, 0)) for term in asked.terms}
    every = sum(weights.values()) or 1.0
    shares = [sum(weights[term] for term in mine.intersection(weights)) / every for mine in having]
    new = sum(weights[hash(term)] for term in asked.terms if not counts.get(term)) / every
    return {
        "covered": np.array(shares, dtype=np.float64),
        "never said": np.full(len(having), new),
        "phrase": np.array([len(one.pairs & asked.pairs) / max(len(asked.pairs), 1) for one in offers]),
    }
