"""The candidates of a recall: found by meaning, words, names or time, with their neighbours."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids, Numbers
from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.facts.facts import MARKS, knowledge
from hybrid_memory.index.port import Explored, Matches, RecordColumns, Search, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.origin import Origin
from hybrid_memory.log.port import LogState
from hybrid_memory.log.visible import MAX_POSITION
from hybrid_memory.recall import ranking
from hybrid_memory.recall.plan import TEMPORAL, Plan, folded
from hybrid_memory.recall.reading import demand
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.retention import retained
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import HIDING, View
from hybrid_memory.text.asking import ends
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.known_words import doubtful
from hybrid_memory.text.tokenize import terms

KINDS = HIDING | frozenset(MARKS)
"""Kinds of events whose last one affects the results."""

NEIGHBOURS = 2
SPELT_WORDS = 8
"""The most query words checked for spelling, as each may need a search in the owner's terms."""

MAX_WORDS = 1024
"""The most query words searched for; of more, those at both ends."""

LOOKED_BACK = (20, 200)
"""Among how many of the newest turns to look for the previous session; two attempts."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, columns of shape (n,).

    Attributes:
        owner: the row of the owner among those searched.
        similarity: inner product with the query, NaN without a vector; average: over all records of the owner.
        same: inner product of the query with itself; count: of the owner's vectors.
        current: False for facts that no longer hold, and for what a newer candidate contradicts.
        newer: of the latter, by id, the ids of the newer candidates.
        corrected: query words that the owner never used, and the words searched for instead.
        counts: how many of the owners' records have each term of the query.
        read: records read on the way, by id.
    """

    places: RecordColumns
    owner: Numbers
    similarity: Array
    average: Array
    same: Array
    count: Numbers
    bm25: Array
    current: npt.NDArray[np.bool_]
    exact: Array
    newer: Mapping[int, Collection[int]] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    read: Mapping[int, Record] = field(default_factory=dict)

    def rows(self, keep: Ids | npt.NDArray[np.bool_]) -> Found:
        """A selection of the candidates."""
        return replace(self, places=self.places.rows(keep), **{name: getattr(self, name)[keep] for name in _COLUMNS})

    @classmethod
    def joined(cls, several: Sequence[Found]) -> Found:
        """The candidates of several owners, concatenated."""
        if len(several) == 1:
            return several[0]
        columns = {name: np.concatenate([getattr(found, name) for found in several]) for name in _COLUMNS}
        return cls(
            places=RecordColumns.joined([found.places for found in several]),
            newer={number: newer for found in several for number, newer in found.newer.items()},
            corrected={wrong: right for found in several for wrong, right in found.corrected.items()},
            counts=sum((Counter(found.counts) for found in several), Counter()),
            read={number: record for found in several for number, record in found.read.items()},
            **columns,
        )


_COLUMNS = ("owner", "similarity", "average", "same", "count", "bm25", "current", "exact")
"""Fields of `Found` with a value for each candidate."""


QUESTION_CHARS = 400
"""Of a longer question only the first and the last half of this are embedded. See docs/decisions/0044."""


async def query_vector(
    run: Runner, services: Services, query: str, known: Status | None = None
) -> tuple[Floats | None, str]:
    """The query's unit vector, or why there is none; ``known`` is the state of the index, if requested before."""
    embedder = services.embedder
    if embedder is None:
        return None, "words alone, no embedder"
    try:
        vector = await embedding(run, embedder.embed_query, ends(query, QUESTION_CHARS))
    except ModelError as error:
        _log.warning("%s; recalling by words alone", error)
        return None, f"words alone, {error}"
    if services.embedder is not embedder:  # a rebuild has changed it meanwhile
        return await query_vector(run, services, query)
    made = embedder.name, len(vector)
    if known is None or known.embedder not in (None, made):
        stored = await run.call(services.index.embedder)
        if stored not in (None, made):
            raise EmbedderMismatchError(stored, made)
    return vector, ""


@dataclass(frozen=True, slots=True)
class Home:
    """A memory to search: its view, the states of its index and log, and the search condition."""

    view: View
    where: Where
    status: Status
    state: LogState
    number: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What to search for; without a vector, by words alone."""

    query: str
    vector: Floats | None
    plan: Plan


async def candidates(run: Runner, home: Home, asked: Asked) -> Found:
    """The candidates that the plan's paths find, with their neighbours."""
    view, plan, owner = home.view, asked.plan, home.where.scope.owner
    words, corrected = await _words(run, view, owner, asked)
    vector, average, count = centred(home.status, asked.vector)
    same = 0.0 if vector is None or asked.vector is None else float(vector @ asked.vector)
    by_words, others = _paths(home.where, replace(asked, vector=vector), words)
    explored = await run.call(
        view.index.explore,
        [*by_words, *others], home.where,
        radius=NEIGHBOURS, vector=vector, wanted=demand(asked.query).terms[:MAX_WORDS],
    )  # fmt: skip
    places, size = explored.places, len(explored.places.ids)
    read = await _named(run, view, plan, explored)
    stale = (await knowledge(run, view, home.state)).outdated(frozenset(places.ids.tolist()))
    found = Found(
        places=places,
        owner=np.full(size, home.number),
        similarity=explored.similarity.astype(np.float64),
        average=np.full(size, average),
        same=np.full(size, same),
        count=np.full(size, count),
        bm25=_scores(places, explored.matches[: len(by_words)]),
        current=~np.isin(places.ids, list(stale)) if stale else np.ones(size, dtype=bool),
        newer={number: newer for number, newer in stale.items() if newer},
        exact=_exact(places, plan, read),
        corrected=corrected,
        counts=explored.counts,
        read=read,
    )
    kept = retained(view, places)
    return found if kept.all() else found.rows(kept)


def _paths(where: Where, asked: Asked, words: Sequence[str]) -> tuple[list[Search], list[Search]]:
    """The searches by the words of the query, and the other searches."""
    plan, spans = asked.plan, _spans(where, asked.plan.times)
    named = list(dict.fromkeys(term for entity in plan.entities if entity.verbatim for term in terms(entity.text)))
    searches = [(where, plan.vector, plan.text)] + [(span, plan.temporal, plan.temporal) for span in spans]
    by_words = [Search(words, span, limit) for span, _, limit in searches if words and limit]
    others = [Search(asked.vector, span, limit) for span, limit, _ in searches if asked.vector is not None and limit]
    # Where the query is nothing but the name, the text path asks the same.
    if plan.exact and named and set(named) != set(words):
        others.append(Search(named, where, plan.exact))
    if plan.temporal:
        others += [Search(None, span, plan.temporal) for span in spans or [where]]
    return by_words, others


def centred(status: Status, vector: Floats | None) -> tuple[Floats | None, float, int]:
    """The query vector for comparison, its inner product with an average record of the owner, and their number."""
    if vector is None or not len(status.mean):
        return None, 0.0, 0
    middle = status.mean.astype(np.float64)
    compared = ranking.centred(vector.astype(np.float64), middle, status.vectors)
    return compared.astype(np.float32), float(compared @ middle), status.vectors


async def _words(run: Runner, services: Services, owner: Scope, asked: Asked) -> tuple[list[str], dict[str, str]]:
    """The terms to search for, and which of the query's terms were treated as misspelt."""
    words = terms(asked.query)
    if len(words) > MAX_WORDS:
        words = words[: MAX_WORDS // 2] + words[-MAX_WORDS // 2 :]
    # The longest are the rarest, and the most easily mistyped.
    doubted = sorted(doubtful(ends(asked.query)), key=len, reverse=True)[:SPELT_WORDS]
    corrected = await run.call(services.index.corrections, doubted, owner) if doubted else {}
    synonyms = [term for others in asked.plan.synonyms.values() for other in others for term in terms(other)]
    return [corrected.get(word, word) for word in words] + synonyms, corrected


def _spans(where: Where, times: Sequence[TimeSpan]) -> list[Where]:
    return [
        replace(
            where,
            since=span.since if where.since is None else max(where.since, span.since),
            until=span.until if where.until is None else min(where.until, span.until),
        )
        for span in times
    ]


async def last_talk(run: Runner, home: Home, session: str | None) -> tuple[TimeSpan, ...]:
    """The time range of the newest turns of the last session before this one, or of the only session."""
    index, where = home.view.index, home.where
    where = replace(where, kinds=where.kinds or frozenset({RecordKind.TURN}))
    for number in LOOKED_BACK:
        newest = await run.call(index.get, (await run.call(index.latest, where, number)).tolist())
        others = [record for record in newest if session is None or record.scope.session != session]
        if others or len(newest) < number:
            break
    if not newest:
        return ()
    latest = await run.call(index.latest, replace(where, scope=(others or newest)[0].scope), TEMPORAL)
    talk = await run.call(index.get, latest.tolist())
    times = [record.at for record in talk]
    return (TimeSpan(0, 0, "the session before", min(times), max(times) + timedelta(microseconds=1)),)


def _scores(places: RecordColumns, several: Sequence[Matches]) -> Array:
    """The BM25 of each place; records deleted by another process since the search are left out."""
    bm25 = np.zeros(len(places.ids))
    for matches in several:
        row = np.searchsorted(places.ids, matches.ids)
        kept = np.isin(matches.ids, places.ids)
        bm25[row[kept]] = matches.scores[kept]
    return bm25


async def _named(run: Runner, services: Services, plan: Plan, explored: Explored) -> dict[int, Record]:
    """The records found, if the plan has names that they may contain literally."""
    if not plan.exact:
        return {}
    found = np.unique(np.concatenate([explored.places.ids[:0], *(matches.ids for matches in explored.matches)]))
    return {record.id: record for record in await run.call(services.index.get, found.tolist())}


def _exact(places: RecordColumns, plan: Plan, read: Mapping[int, Record]) -> Array:
    """The share of the plan's entities that each record contains literally; neighbours are not checked."""
    share = np.zeros(len(places.ids))
    names = [folded(entity.text) for entity in plan.entities if entity.verbatim]
    for row, number in enumerate(places.ids.tolist()):
        if (record := read.get(number)) is not None:
            text = folded(f"{record.speaker}: {record.text}")
            share[row] = sum(name in text for name in names) / len(names)
    return share


def narrowed(services: View, where: Where) -> Where:
    """The search condition in this view of the memory."""
    before = None if services.horizon is None else services.horizon.before
    until = where.until if before is None else before if where.until is None else min(before, where.until)
    now = services.clock()
    fresh: dict[str, datetime] = {name: now - age for name, age in services.config.retention.ttl.items()}
    origins, hidden = where.origins, (*services.hidden, *where.hidden)
    if allowed := frozenset(map(Origin, services.config.recall.origins)):
        origins = where.origins & allowed if where.origins else allowed
        hidden = hidden if origins else ((0, MAX_POSITION),)  # nothing that was asked for may be recalled
    return replace(where, hidden=hidden, until=until, fresh=fresh, origins=origins)
