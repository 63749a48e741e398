"""Measures the candidates of a query: features of their places and matches, and of the words of the best; signals.

There are cue words for English and Chinese; in other languages, digits, marks and names count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import compress, pairwise
from math import fsum
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids
from hybrid_memory.config import Weights
from hybrid_memory.facts.fact import USER
from hybrid_memory.index.bm25 import idf
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.message import Origin
from hybrid_memory.recall import signals
from hybrid_memory.recall.gather import Candidates, Home
from hybrid_memory.recall.plan import DECIDING, SEARCH_TERMS, Plan, Timing
from hybrid_memory.recall.signals import learned
from hybrid_memory.runtime.caches import kept_by_hash
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text import lazy
from hybrid_memory.text.asking import Speech, asking_share, ends, speech
from hybrid_memory.text.dates import months_in
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.tokenize import terms

READ = 60
"""Number of candidates whose words are read, unless more hits are requested."""

LESS = 0.25  # the share of the learned weights of statement, speaker and kind for a keyword search
MARGIN = 7 * signals.DAY  # for how long after a time its events are still reported


@dataclass(frozen=True, slots=True)
class Measured:
    """Candidates that may become hits, at least one.

    Attributes:
        candidates: their places and matches.
        records: their records, in the same order; row_of: the row of each, by id.
        columns: the signals, of shape (n,) in [0, 1], in the order of `Weights`; features: what they were made from.
        weights: as applied for this query.
        vectors: of the records, of shape (n, dim), zeros without one.
        echoes: which records only repeat the query.
        words: the weight of each term of the query by its rarity, by the term's hash.
        asking: whether the query asks for something.
    """

    candidates: Candidates
    records: Sequence[Record]
    row_of: Mapping[int, int]
    columns: dict[str, Array]
    features: dict[str, Array]
    weights: Weights
    vectors: Floats
    echoes: npt.NDArray[np.bool_]
    words: Mapping[int, float]
    asking: bool


async def measure(
    run: Runner,
    services: Services,
    homes: Sequence[Home],
    query: str,
    candidates: Candidates,
    *,
    weights: Weights | None,
    plan: Plan,
    k: int,
) -> Measured | None:
    """The best candidates, at least k if there are as many, with their signals; None if they were deleted meanwhile.

    Words are read only for candidates that are best without them, so that the cost does not grow with their number.
    """
    given = weights or services.config.recall.weights
    usual, asked, asking = given or learned().weights, demand(query), asking_share(query) > 0
    if given is None and not asking and len(asked.terms) <= SEARCH_TERMS:
        # What recognizes the answer to a question counts less for a keyword query.
        usual = replace(usual, statement=LESS * usual.statement, speaker=LESS * usual.speaker, kind=LESS * usual.kind)
    applied = _applied(usual, candidates, plan)
    features = _of_places(candidates, plan, applied)
    rough = signals.weighted_mean(_columns(services, candidates, features, plan), applied)
    ids = candidates.places.ids
    best = np.sort(np.lexsort((-ids, -rough))[: max(READ, k)])
    best, records, vectors = await _read(run, services, homes, candidates, best)
    if not records:
        return None
    texts, plain = [record.text for record in records], query.strip()
    itself = np.zeros(len(ids), dtype=np.bool_)
    itself[best] = [plain in text and text.strip() == plain for text in texts]
    repeated = int(np.count_nonzero(itself))
    if repeated and asking:
        candidates = _beside_itself(candidates, itself)
        features = _of_places(candidates, plan, applied)
    candidates, echoes = candidates.rows(best), itself[best]
    features = dict(zip(features, np.array([*features.values()])[:, best], strict=True))
    total = max(int(candidates.count[np.unique(candidates.owner)].sum()), len(records), *candidates.counts.values())
    words, unsaid = dict[int, float](), 0.0
    for term in asked.terms:
        count = max(candidates.counts.get(term, 0) - repeated, 0)
        words[hash(term)] = rarity = idf(max(total, count), count)
        unsaid += 0.0 if count else rarity
    features["never said"] = np.full(len(records), unsaid / (sum(words.values()) or 1.0))
    embedder = "" if services.embedder is None else services.embedder.name
    speaks, places = speech(texts, vectors, embedder), candidates.places
    features |= _of_words(query, asked, records, speaks, words)
    features["repeats"] = features["asks"] * features["covered"]
    # The relevance of the turn before, as far as that asks and this one says something; 0 if it is no candidate.
    (previous,) = signals.beside(places.segments, places.ordinals, -1)
    tells = (1 - speaks.asks) * (1 - speaks.empty)
    features["answers"] = np.append(features["relevance"] * speaks.asks, 0.0)[previous] * tells
    columns = _columns(services, candidates, features, plan)
    if plan.timing is Timing.CLEAR:
        columns["temporal"] = np.maximum(columns["temporal"], _names_month(records, plan.times))
    if not given:  # adjustments that are the same for all candidates have no effect
        even = np.ptp(np.array([*columns.values()]), axis=1) < signals.ROUNDING
        applied = replace(applied, **dict.fromkeys({*compress(columns, even)} - {"vector", "text"}, 0.0))
    row_of = dict(zip(places.ids.tolist(), range(len(records)), strict=True))
    return Measured(candidates, records, row_of, columns, features, applied, vectors, echoes, words, asking)


def _names_month(records: Sequence[Record], times: Sequence[TimeSpan]) -> Array:
    """1 for what names a whole month that the query names, and was said within a year of it: "In August we fly"."""
    whole = [(span.since, months_in(span.text)) for span in times if span.until - span.since >= MONTH]
    matches = [
        any(abs(record.at - since) <= YEAR and months & months_in(record.text) for since, months in whole)
        for record in records
    ]
    return np.array(matches, dtype=np.float64)


def _applied(weights: Weights, candidates: Candidates, plan: Plan) -> Weights:
    """The weights as this query applies them: without vectors, text takes the weight of both."""
    if not np.isfinite(candidates.similarity).any():
        weights = replace(weights, vector=0.0, text=weights.vector + weights.text)
    brevity = signals.brevity(candidates.places.lengths)
    applied = dict(zip(signals.NAMES, signals.values(weights), strict=True)) | {
        "neighbours": weights.neighbours * brevity,
        "segment": weights.segment * brevity,
        "importance": weights.importance * brevity,
        "exact": weights.exact if plan.exact else 0.0,
        "temporal": 0.0,
    }
    applied["temporal"] = signals.time_weight(plan.timing, weights.temporal, sum(applied.values()))
    # Where nothing is left to judge by, all scores are 0 with any weights.
    return Weights(**applied) if any(applied.values()) else weights


def _of_places(candidates: Candidates, plan: Plan, weights: Weights) -> dict[str, Array]:
    """Features that need no words, columns of shape (n,)."""
    places, share = candidates.places, weights.vector + weights.text
    vector, text = (weights.vector / share, weights.text / share) if share else (0.0, 0.0)
    owner, average = candidates.owner, candidates.average[candidates.owner]
    by_meaning = signals.vector_signal(candidates.similarity, average)
    by_words = signals.text_signal(candidates.bm25)
    relevance = vector * by_meaning + text * by_words
    beside = signals.beside(places.segments, places.ordinals, -1, 1, -2, 2)
    spans = [(span.since.timestamp(), span.until.timestamp()) for span in plan.times]
    return {
        "relevance": relevance,
        "vector": by_meaning,
        "text": by_words,
        "similarity": signals.absolute_similarity(
            candidates.similarity, average, candidates.same[owner], candidates.count[owner]
        ),
        "around": signals.neighbour_signal(relevance, beside, average=0.5 * vector),
        "words after": np.append(by_words, 0.0)[beside[1]],
        "segment": signals.segment_signal(relevance, places.segments),
        "importance": places.importance.astype(np.float64),
        "brevity": np.full(len(places.ids), signals.brevity(places.lengths)),
        "in time": signals.temporal_signal(places.at, spans),
        "told after": signals.told_after(places.at, spans, MARGIN),
    }


def _columns(services: Services, candidates: Candidates, features: Mapping[str, Array], plan: Plan) -> dict[str, Array]:
    """The signals: fixed ones, those learned from the features, and that of a deciding time."""
    places = candidates.places
    now, half_life = services.clock().timestamp(), services.config.recall.half_life.total_seconds()
    columns = dict.fromkeys(signals.NAMES, np.zeros(len(places.ids)))
    columns |= {
        "vector": features["vector"],
        "text": features["text"],
        "recency": signals.recency_signal(now - places.at, half_life),
        "use": signals.use_signal(places.uses, now - places.last_used, half_life),
        "exact": candidates.exact,
    }
    columns |= learned().signals(features)
    if plan.timing in DECIDING:
        columns["temporal"] = signals.time_signal(plan.timing, places.at, features["relevance"], plan.times)
    return columns


def _beside_itself(candidates: Candidates, itself: npt.NDArray[np.bool_]) -> Candidates:
    """Candidates measured relative to the best except the query itself, which agents remember before they ask."""

    def lowered(matches: Array) -> Array:
        others = matches[~itself & np.isfinite(matches)]
        return np.where(itself, np.minimum(matches, others.max()), matches) if len(others) else matches

    similarity, average, count = candidates.similarity, candidates.average.copy(), candidates.count.copy()
    for row in np.flatnonzero(itself & np.isfinite(similarity)).tolist():
        owner = candidates.owner[row]
        if count[owner] > 1:
            average[owner] = (average[owner] * count[owner] - similarity[row]) / (count[owner] - 1)
            count[owner] -= 1
    bm25 = lowered(candidates.bm25)
    return replace(candidates, similarity=lowered(similarity), bm25=bm25, average=average, count=count)


async def _read(
    run: Runner, services: Services, homes: Sequence[Home], candidates: Candidates, rows: Ids
) -> tuple[Ids, list[Record], Floats]:
    """Those of these rows whose records another process has not deleted meanwhile, their records, and the vectors.

    Zeros stand for a vector that is missing.
    """
    read, vectors = dict[int, Record](), np.zeros((len(rows), 0), dtype=np.float32)
    for home in homes:
        mine = candidates.owner[rows] == home.number
        if mine.any():
            fetched = await run.call(services.index.fetch, candidates.places.ids[rows[mine]], home.where.scope.owner)
            for record in fetched.records:
                read[record.id] = record
            if fetched.present.any() and home.status.vectors:  # else they are of an embedder that is not there
                if not vectors.shape[1]:
                    vectors = np.zeros((len(rows), fetched.vectors.shape[1]), dtype=np.float32)
                vectors[mine] = fetched.vectors
    candidates.read.update(read)
    ids = candidates.places.ids[rows]
    if len(read) < len(rows):
        there = np.isin(ids, list(read))
        ids, rows, vectors = ids[there], rows[there], vectors[there]
    return rows, [*map(read.__getitem__, ids.tolist())], vectors


def _of_words(
    query: str, asked: Demand, records: Sequence[Record], speaks: Speech, weights: Mapping[int, float]
) -> dict[str, Array]:
    """Features of the words of the best candidates, columns of shape (n,); ``weights`` are of the query's terms."""
    speakers = set(map(attrgetter("speaker"), records))
    people = named(query, speakers)
    # The share of the query's terms that each record has, weighted by rarity, and the share of adjacent pairs.
    every, among = fsum(weights.values()) or 1.0, frozenset(weights)
    names = {speaker: offer(speaker).terms & among for speaker in speakers}
    turn, rows = RecordKind.TURN, []
    for record in records:
        offered, speaker, about = offer(record.text), record.speaker, 0.5
        common = offered.terms & among
        if record.kind is turn:
            common |= names[speaker]
        covered = fsum(map(weights.__getitem__, common)) / every if common else 0.0
        # 1 for people the query names, or facts about a user who asks about themselves; 0.5 if it names nobody.
        if people:
            about = float(speaker in people)
        elif asked.of_self and record.kind is RecordKind.FACT and speaker == USER:
            about = 1.0
        shared = len(offered.pairs & asked.pairs)
        rows.append((about, record.origin is Origin.ASSISTANT, offered.times, offered.numbers, covered, shared))
    about_named, helper, times, numbers, coverage, pairs = np.array(rows, dtype=np.float64).T
    return {
        "empty": speaks.empty,
        "asks": speaks.asks,
        "named": about_named,
        "assistant": helper,
        "times": times,
        "numbers": numbers,
        "time for a time": times * asked.time,
        "number for a number": numbers * asked.number,
        "assistant of yours": helper * asked.yours,
        "covered": coverage,
        "phrase": pairs / max(len(asked.pairs), 1),
    }


MONTH, YEAR = timedelta(days=28), timedelta(days=366)

READ_CHARS = 600  # how much of a turn is searched for cues: its topic is usually at the beginning
TERM_CHARS = 4_000  # how much of a turn is compared with the query's terms
MOST = 4  # the most cues of a kind that count


def _pattern(english: str, chinese: str) -> re.Pattern[str]:
    return lazy(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)


_WORD = lazy(r"[a-z0-9']+")
_TIMES = frozenset(
    """yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years morning
    evening night noon monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december recently just soon since o'clock""".split()
)
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand dozen
    couple several once twice""".split()
)
_CHINESE = lazy(
    r"([昨今明前后]天|上周|下周|上个?月|下个?月|去年|明年|周[一二三四五六日末]|星期|[月号日点]|早上|晚上|下午|中午|刚|最近)"
    r"|[一二两三四五六七八九十百千]"
)
"""Words that state a time (in a group), and words that state a number."""

YEAR_DIGITS = 4

_SELF = _pattern("i", "我(?=[住在是对喜会用叫爱想有做不])")
_YOURS = _pattern("you|your|yours", "你|您")
_WHEN = _pattern(
    r"when|what (?:date|day|time|year|month)|which (?:day|month|year)|how long ago",
    r"什么时候|何时|哪[天年]|哪一天|几[点号月]|时间",
)
_HOW_MANY = _pattern(r"how (?:many|much|old|long|far|often|tall|big)|number of", r"多少|几[个岁次人本]|第几|多[大久远]")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a text offers; shares and counts scaled to [0, 1].

    Attributes:
        terms, pairs: hashes of its terms in the text index, and of adjacent pairs of them.
        times, numbers: words that state one.
    """

    terms: frozenset[int]
    pairs: frozenset[int]
    times: float
    numbers: float


@kept_by_hash(8192)
def offer(text: str) -> Offer:
    """What a turn offers; cached, as the best candidates of one query are often those of the next."""
    stems, start = terms(text[:TERM_CHARS]), text[:READ_CHARS].lower()
    words = _WORD.findall(start)
    digits = [word for word in words if "0" <= word[0] <= "9"]
    chinese = [] if start.isascii() else _CHINESE.findall(start)
    times = sum(map(_TIMES.__contains__, words)) + sum(map(bool, chinese))
    times += sum(len(word) == YEAR_DIGITS and word.isdecimal() for word in digits)
    numbers = sum(map(_NUMBERS.__contains__, words)) + len(digits) + sum(not time for time in chinese)
    hashes, pairs = frozenset(map(hash, stems)), frozenset(map(hash, pairwise(stems)))
    return Offer(hashes, pairs, min(times, MOST) / MOST, min(numbers, MOST) / MOST)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a query asks for.

    Attributes:
        terms: in order, each once; pairs: hashes of adjacent ones.
        time, number: whether it asks for one.
        of_self: whether users ask about themselves ("I", not "my sister"); yours: whether it addresses the assistant.
    """

    terms: tuple[str, ...]
    pairs: frozenset[int]
    time: bool
    number: bool
    of_self: bool
    yours: bool


def demand(query: str) -> Demand:
    """What a query asks for."""
    words, read = terms(query), ends(query)
    return Demand(
        terms=tuple(dict.fromkeys(words)),
        pairs=frozenset(map(hash, pairwise(words))),
        time=_WHEN.search(read) is not None,
        number=_HOW_MANY.search(read) is not None,
        of_self=_SELF.search(read) is not None,
        yours=_YOURS.search(read) is not None,
    )


def named(query: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that the query names, at least by the first part of their name."""
    lowered = ends(query).lower()
    named_there = set()
    for speaker in speakers:
        first = speaker.lower().split()[0] if speaker.strip() else ""
        if not first or first in {"user", "assistant", "ai"} or first not in lowered:
            continue
        if not first.isascii() or re.search(rf"(?<!\w){re.escape(first)}(?![a-z0-9])", lowered):
            named_there.add(speaker)
    return frozenset(named_there)
