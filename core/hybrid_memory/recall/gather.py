"""Gathers the candidates of a recall: by meaning, words, names or time, with their neighbours."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids, Numbers
from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.index.port import RecordColumns, Search, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.message import Origin
from hybrid_memory.log.views import MAX_POSITION
from hybrid_memory.recall import signals
from hybrid_memory.recall.plan import TEMPORAL, Plan, folded
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, retained
from hybrid_memory.text.asking import ends
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.tokenize import doubtful, terms

NEIGHBOURS = 2
SPELT_WORDS = 8  # the most query words checked for spelling, as each may need a search in the owner's terms
MAX_WORDS = 1024  # the most query words searched for; of more, those at both ends
LOOKED_BACK = 200  # among how many of the newest turns to look for the previous session

QUESTION_CHARS = 400
"""Of a longer question only the first and the last half of this are embedded. See docs/decisions/0044."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Home:
    """A memory to search: its view, the state of its index, and the search condition."""

    view: View
    where: Where
    status: Status
    number: int = 0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates, columns of shape (n,), and what is known of their owners, columns of shape (owners,).

    Attributes:
        owner: the row of the owner among those searched.
        similarity: inner product with the query, NaN without a vector.
        average: the same over all records of the owner; same: inner product of the query with itself; count: of the
            owner's vectors.
        corrected: query words that the owner never used, and the words searched for instead.
        counts: how many of the owners' records have each term of the query.
        read: records that were read so far, by id.
    """

    places: RecordColumns
    owner: Numbers
    similarity: Array
    bm25: Array
    exact: Array
    average: Array
    same: Array
    count: Numbers
    corrected: dict[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    read: dict[int, Record] = field(default_factory=dict)

    def rows(self, keep: Ids | npt.NDArray[np.bool_]) -> Candidates:
        """A selection of the candidates."""
        return replace(
            self, places=self.places.rows(keep), owner=self.owner[keep], similarity=self.similarity[keep],
            bm25=self.bm25[keep], exact=self.exact[keep],
        )  # fmt: skip

    @classmethod
    def joined(cls, several: Sequence[Candidates]) -> Candidates:
        """The candidates of several owners, in the order of these."""
        if len(several) == 1:
            return several[0]
        names = ("owner", "similarity", "bm25", "exact", "average", "same", "count")
        return cls(
            places=RecordColumns.joined([part.places for part in several]),
            corrected={wrong: right for part in several for wrong, right in part.corrected.items()},
            counts=sum((Counter(part.counts) for part in several), Counter()),
            read={number: record for part in several for number, record in part.read.items()},
            **{name: np.concatenate([getattr(part, name) for part in several]) for name in names},
        )


def narrowed(view: View, where: Where) -> Where:
    """The search condition in this view of the memory."""
    before, ttl = None if view.horizon is None else view.horizon.before, view.config.retention.ttl
    allowed = frozenset(map(Origin, view.config.recall.origins))
    if not (before or ttl or allowed or view.hidden):
        return where
    until, now = min(filter(None, (where.until, before)), default=None), view.clock()
    fresh: dict[str, datetime] = {name: now - age for name, age in ttl.items()}
    origins, hidden = where.origins, (*view.hidden, *where.hidden)
    if allowed:
        origins = where.origins & allowed if where.origins else allowed
        hidden = hidden if origins else ((0, MAX_POSITION),)  # nothing that was asked for may be recalled
    return replace(where, hidden=hidden, until=until, fresh=fresh, origins=origins)


async def query_vector(
    run: Runner, services: Services, query: str, status: Status | None = None
) -> tuple[Floats | None, str]:
    """The query's unit vector, or why there is none.

    Raises `EmbedderMismatchError` if the vectors of an index in this state are of another embedder.
    """
    embedder = services.embedder
    if embedder is None:
        return None, "words alone, no embedder"
    try:
        vector = await embedding(run, embedder.embed_query, ends(query, QUESTION_CHARS))
    except ModelError as error:
        _log.warning("%s; recalling by words alone", error)
        return None, f"words alone, {error}"
    if services.embedder is not embedder:  # a rebuild
        return await query_vector(run, services, query, status)
    made = embedder.name, len(vector)
    if status is not None and status.embedder not in (None, made):
        stored = await run.call(services.index.embedder)  # a rebuild may have changed it meanwhile
        if stored not in (None, made):
            raise EmbedderMismatchError(stored, made)
    return vector, ""


async def gather(run: Runner, home: Home, query: str, meaning: Floats | None, plan: Plan) -> Candidates:
    """The candidates on the plan's paths, with their neighbours; without the query's vector, by words alone."""
    view, own = home.view, terms(query)
    vector, average, same, count = None, 0.0, 0.0, 0
    middle = home.status.mean.astype(np.float64)
    if meaning is not None and len(middle):
        centred = signals.centred(meaning.astype(np.float64), middle, home.status.vectors)
        vector, average, count = centred.astype(np.float32), float(centred @ middle), home.status.vectors
        same = float(vector @ meaning)
    by_words, others, corrected = await _searches(run, home, query, vector, own, plan=plan)
    explored = await run.call(
        view.index.explore,
        [*by_words, *others], home.where,
        radius=NEIGHBOURS, vector=vector, words=list(dict.fromkeys(own))[:MAX_WORDS],
        status=home.status,
    )  # fmt: skip
    places, size = explored.places, len(explored.places.ids)
    bm25 = np.zeros(size)
    for matches in explored.matches[: len(by_words)] if size else ():
        rows = np.minimum(np.searchsorted(places.ids, matches.ids), size - 1)
        kept = places.ids[rows] == matches.ids  # another process may have deleted some since the search
        bm25[rows[kept]] = matches.scores[kept]
    read, exact = dict[int, Record](), np.zeros(size)
    if plan.exact:
        ids = np.unique(np.concatenate([places.ids[:0], *(matches.ids for matches in explored.matches)]))
        read = {record.id: record for record in await run.call(view.index.get, ids.tolist())}
        # The share of the plan's entities that each record contains literally; neighbours are not checked.
        names = [folded(entity.text) for entity in plan.entities if entity.verbatim]
        for row in np.flatnonzero(np.isin(places.ids, list(read))).tolist():
            record = read[int(places.ids[row])]
            text = folded(f"{record.speaker}: {record.text}")
            exact[row] = sum(name in text for name in names) / len(names)
    candidates = Candidates(
        places=places,
        owner=np.full(size, home.number),
        similarity=explored.similarity.astype(np.float64),
        bm25=bm25,
        exact=exact,
        average=np.array([average]),
        same=np.array([same]),
        count=np.array([count]),
        corrected=corrected,
        counts=explored.counts,
        read=read,
    )
    remembered = retained(view, places)
    return candidates if remembered.all() else candidates.rows(remembered)


async def _searches(
    run: Runner, home: Home, query: str, vector: Floats | None, words: list[str], *, plan: Plan
) -> tuple[list[Search], list[Search], dict[str, str]]:
    """The searches by words, the others, and the words that were taken for misspelled."""
    if len(words) > MAX_WORDS:
        words = words[: MAX_WORDS // 2] + words[-MAX_WORDS // 2 :]
    # The longest are the rarest, and the most easily mistyped.
    doubted = sorted(doubtful(ends(query)), key=len, reverse=True)[:SPELT_WORDS]
    where, corrected = home.where, dict[str, str]()
    if doubted:
        corrected = await run.call(home.view.index.corrections, doubted, where.scope.owner, home.status)
        words = [corrected.get(word, word) for word in words]
    words = [*words, *chain.from_iterable(map(terms, chain(*plan.synonyms.values())))]
    paths = [(where, plan.vector, plan.text)]
    for span in plan.times:
        since, until = max(filter(None, (where.since, span.since))), min(filter(None, (where.until, span.until)))
        paths.append((replace(where, since=since, until=until), plan.temporal, plan.temporal))
    by_words, others = list[Search](), list[Search]()
    for place, by_meaning, by_text in paths:
        if words and by_text:
            by_words.append(Search(words, place, by_text))
        if vector is not None and by_meaning:
            others.append(Search(vector, place, by_meaning))
    if plan.exact:
        named = list(dict.fromkeys(term for entity in plan.entities if entity.verbatim for term in terms(entity.text)))
        # Where the query is nothing but the name, the text path asks the same.
        if named and set(named) != set(words):
            others.append(Search(named, where, plan.exact))
    if plan.temporal:
        others += [Search(None, place, plan.temporal) for place, *_ in paths[1:] or paths]
    return by_words, others, corrected


async def last_talk(run: Runner, home: Home, session: str | None) -> tuple[TimeSpan, ...]:
    """The time range of the newest turns of the last session before this one, or of the only session."""
    index, where = home.view.index, home.where
    where = replace(where, kinds=where.kinds or frozenset({RecordKind.TURN}))
    newest = await run.call(index.get, (await run.call(index.latest, where, LOOKED_BACK)).tolist())
    others = [record for record in newest if session is None or record.scope.session != session]
    if not newest:
        return ()
    latest = await run.call(index.latest, replace(where, scope=(others or newest)[0].scope), TEMPORAL)
    times = [record.at for record in await run.call(index.get, latest.tolist())]
    return (TimeSpan(0, 0, "the session before", min(times), max(times) + timedelta(microseconds=1)),)
