"""Chooses which candidates become hits, in which order, and with which question before them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import fsum

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.statements import cut_value
from hybrid_memory.facts.values import normalised, within
from hybrid_memory.index.derive import SEGMENT_PAUSE
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.message import Origin
from hybrid_memory.recall.gather import Candidates, Home
from hybrid_memory.recall.measure import Measured, offer
from hybrid_memory.runtime.caches import kept_by_hash
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import kept
from hybrid_memory.text.asking import speech_act
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import voice
from hybrid_memory.text.tokens import estimate_tokens

SCORE_DIGITS = 6  # scores that differ less are equal, as engines sum in different orders
HEAD = 5  # among this many hits newer ones come first; later hits are not raised over better ones
DIVERSE_POOL = 50  # candidates considered when results are diversified

ALIKE = 0.25
COMPARABLE = 0.75
SHARED = 0.4
STATEMENT_CHARS = 150
TURNS_APART = 30  # see `by_day`; the last for statements of one occasion, as in an import without times
ASKING = 0.5  # a turn asks if at least this share of it is questions
SHORT = 16  # an answer of at most this many tokens says little without its question, even if it has a word of the query

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Final scores of shape (n,), which of them are the reranker's, and its name; or why it gave none."""

    scores: Array
    by_model: npt.NDArray[np.bool_]
    name: str = ""
    failure: str = ""


async def reranked(
    run: Runner, services: Services, query: str, own: Array, *, measured: Measured, homes: Sequence[Home]
) -> Reranked:
    """The scores of the caller's model for the best; others get their own score times its lowest, to stay behind."""
    nothing = Reranked(own, np.zeros(len(own), dtype=np.bool_))
    if services.reranker is None:
        return nothing
    ids = measured.candidates.places.ids
    best = np.lexsort((-ids, -own))[: services.config.recall.rerank_candidates]
    texts = {}
    for record in await _of_owners(run, services, homes, measured, ids[best]):
        # The words, with the speaker if that is a name: questions ask for people.
        plain = record.kind is not RecordKind.TURN or record.speaker in {"", "user", "assistant"}
        begins = plain or record.text.startswith(f"{record.speaker}:")
        texts[record.id] = record.text if begins else f"{record.speaker}: {record.text}"
    rows = [row for row in best.tolist() if int(ids[row]) in texts]
    try:
        given = await run.call(services.reranker.score, query, [texts[int(ids[row])] for row in rows])
    except ModelError as error:
        _log.warning("%s; hits keep their order", error)
        return Reranked(own, nothing.by_model, failure=f"not reranked, {error}")
    scores = np.full(len(own), np.nan)
    scores[rows] = given
    by_model = np.isfinite(scores)
    return Reranked(np.where(by_model, scores, own * np.nanmin(scores, initial=1.0)), by_model, services.reranker.name)


async def _of_owners(
    run: Runner, services: Services, homes: Sequence[Home], measured: Measured, ids: Ids
) -> list[Record]:
    """The records with these ids, in this order, if they are of the owners searched; those not read before are read.

    An index of a log that was set back may have ids of another owner.
    """
    numbers, read, owners = ids.tolist(), measured.candidates.read, {home.view.owner for home in homes}
    if missing := {*numbers} - read.keys():
        for record in await run.call(services.index.get, sorted(missing)):
            read[record.id] = record
    return [read[number] for number in numbers if number in read and read[number].scope.owner in owners]


async def best(
    run: Runner,
    services: Services,
    homes: Sequence[Home],
    measured: Measured,
    ranked: tuple[Array, Array],
    *,
    k: int,
    plain: bool,
) -> tuple[list[Record], dict[int, Record]]:
    """The k best by the first score, then the second; newer first among equals, each turn's content once.

    A candidate turn stands for the facts extracted from it; a better fitting fact is also returned, by the turn's id,
    unless scores are to be ``plain``: then the turn has its own place.
    """
    (scores, own), ids = ranked, measured.candidates.places.ids
    order = np.lexsort((-ids, -np.round(own, SCORE_DIGITS), -np.round(scores, SCORE_DIGITS)))
    diversity = services.config.recall.diversity
    if diversity:
        pool = order[: max(DIVERSE_POOL, k)]
        vectors, owner = measured.vectors[pool], measured.candidates.owner[pool]
        # Those of different owners cannot be compared.
        likeness = np.where(owner[:, None] == owner, (vectors @ vectors.T).astype(np.float64), 0.0)
        order = pool[diverse(scores[pool], likeness, diversity)]
    chosen = dict[int, Record]()
    for start in range(0, len(order), k):
        for record in await _of_owners(run, services, homes, measured, ids[order[start : start + k]]):
            apart = plain and record.kind is RecordKind.FACT and record.turn in measured.row_of
            if not apart and record.turn not in chosen and len(chosen) < k:
                chosen[record.turn] = record
        if len(chosen) >= k:
            break
    with_fact = [turn for turn, record in chosen.items() if record.kind is RecordKind.FACT and turn in measured.row_of]
    facts = dict[int, Record]()
    for turn in await _of_owners(run, services, homes, measured, np.array(with_fact, dtype=np.int64)):
        if turn.scope.owner == chosen[turn.id].scope.owner:
            chosen[turn.id], facts[turn.id] = turn, chosen[turn.id]
    return [*chosen.values()], facts


def diverse(scores: Array, similarity: npt.NDArray[np.floating], diversity: float) -> npt.NDArray[np.int64]:
    """Row numbers, best first, by maximal marginal relevance (Carbonell and Goldstein 1998).

    Repeatedly the row with the highest ``(1 - diversity) * score - diversity * max(similarity to a chosen row)``.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), dtype=bool)
    while len(chosen) < len(scores):
        gain = np.where(left, (1 - diversity) * scores - diversity * nearest, -np.inf)
        row = int(gain.argmax())
        chosen.append(row)
        left[row] = False
        nearest = np.maximum(nearest, similarity[row])
    return np.array(chosen, dtype=np.int64)


def by_day(
    homes: Sequence[Home], measured: Measured, records: list[Record], relevance: Array, *, newest: bool
) -> tuple[list[Record], dict[int, int]]:
    """The records, of two statements about the same thing the newer (or older) first; and whose place each has, by id.

    Two are about the same thing if the user's own words give one attribute two values ("I live in Lyon.", "I moved to
    Oslo."), which may have no word in common. Or, among the first `HEAD`, if they are from different occasions, the one
    to be raised has at least `SHARED` of the query's words that the other has, by rarity, and their vectors are
    similar: ``(likeness - average) / (1 - average)`` is at least `ALIKE`. Its relevance must be at least `COMPARABLE`
    times the other's, and it has what the query quotes if the other has. What asks, only acknowledges or is longer than
    `STATEMENT_CHARS`, and so about several things, is not raised. See docs/decisions/0017.

    ``relevance`` is that of each record, or of a better fitting fact extracted from it.
    """
    if len(records) < 2 or not homes[0].status.vectors or homes[0].view.config.recall.diversity:  # noqa: PLR2004
        return records, {}
    # The values of attributes with one value that the user's own words in a short turn state, by attribute.
    values, head = list[dict[str, str]](), records[:HEAD]
    for record in records:
        own = record.origin is Origin.USER and record.kind is RecordKind.TURN and len(record.text) <= STATEMENT_CHARS
        values.append(_values(record.text) if own else {})
    rows = np.array([measured.row_of[record.id] for record in head])
    vectors = measured.vectors[rows]
    # The mean inner product of two different records, from that over all pairs.
    average = 0.0
    for home in homes:
        count, mean = home.status.vectors, home.status.mean
        average = max(average, (count * float(mean @ mean) - 1) / (count - 1) if count > 1 else 0.0)
    likeness = (vectors @ vectors.T).astype(np.float64) - average
    asked = [offer(record.text).terms & measured.words.keys() for record in head]
    idle = measured.features["asks"][rows] + measured.features["empty"][rows]
    exact = measured.columns["exact"][rows]

    def replaces(later: int, earlier: int) -> bool:
        one, other = records[later], records[earlier]
        since = (one.at - other.at).total_seconds(), one.turn - other.turn
        if (since > (0, 0)) is not newest:
            return False
        mine, theirs, weight = values[later], values[earlier], measured.words.__getitem__
        if any(
            not within(mine[name], theirs[name]) and not within(theirs[name], mine[name])
            for name in mine.keys() & theirs.keys()
        ):
            return True
        return (
            max(later, earlier) < len(head)
            and bool(asked[earlier])
            and fsum(map(weight, asked[earlier] & asked[later])) >= SHARED * fsum(map(weight, asked[earlier]))
            and likeness[later, earlier] >= ALIKE * (1 - average)
            and relevance[later] >= COMPARABLE * relevance[earlier]
            and exact[later] >= exact[earlier]
            and idle[later] < ASKING
            and len(one.text) <= STATEMENT_CHARS
            and (abs(since[0]) > SEGMENT_PAUSE.total_seconds() or abs(since[1]) > TURNS_APART)
            and not (one.kind is other.kind is RecordKind.FACT and one.speaker != other.speaker)
        )

    order: list[int] = []
    instead: dict[int, int] = {}
    for row, record in enumerate(records):
        place = 0  # the first at which something stands that it replaces
        while place < len(order) and not replaces(row, order[place]):
            place += 1
        if place < len(order):
            other = records[order[place]].id
            instead[record.id] = instead.get(other, other)
        order.insert(place, row)
    return [records[row] for row in order], instead


@kept_by_hash(8192)
def _values(text: str) -> dict[str, str]:
    cut = filter(None, map(cut_value, sentences(text)))
    return {name: normalised(value) for name, value in cut if attribute(name).single}


async def asked_before(
    run: Runner, homes: Sequence[Home], words: Iterable[int], candidates: Candidates, records: Sequence[Record]
) -> dict[int, Record]:
    """The question that each of these turns answers, by the turn's id; only for turns that need it.

    These are short, or share none of the words of the query, given by hash. Only questions that a search could have
    found are returned. ``candidates`` are all of them, including the turns.
    """
    questions, remembered = dict[int, Record](), list[tuple[float, float, int]]()
    for home in homes:
        answers = {}
        for turn in records:
            if turn.kind is RecordKind.TURN and turn.ordinal and turn.scope.owner == home.view.owner:
                tells = sum(speech_act(turn.text)) < ASKING
                if tells and (offer(turn.text).terms.isdisjoint(words) or estimate_tokens(turn.text) <= SHORT):
                    answers[turn.id] = turn
        before = await _before(run, home, candidates, [*answers.values()]) if answers else {}
        for number, turn in before.items():
            asks = speech_act(turn.text)[1] >= ASKING and _speaker(turn) != _speaker(answers[number])
            if asks and home.where.allows(turn):
                questions[number] = turn
                last = max(turn.at, turn.last_used or turn.at).timestamp()
                remembered.append((last, turn.importance, turn.uses))
    if not questions:
        return {}
    fresh, importance, uses = np.array(remembered).T
    return dict(compress(questions.items(), kept(homes[0].view, fresh, importance, uses)))


async def _before(run: Runner, home: Home, candidates: Candidates, turns: Sequence[Record]) -> dict[int, Record]:
    """The previous turns, by the ids of these; candidates among them were read before."""
    places, before, others = candidates.places, dict[int, Record](), list[Record]()
    for turn in turns:
        for number in places.ids[(places.segments == turn.segment) & (places.ordinals == turn.ordinal - 1)].tolist():
            record = candidates.read.get(number)
            if record is not None and record.kind is RecordKind.TURN:
                before[turn.id] = record
        if turn.id not in before:
            others.append(turn)
    if others:
        before |= await run.call(home.view.index.previous, home.view.owner, others, home.status)
    return before


def _speaker(turn: Record) -> str:
    return voice(turn.text)[0] or turn.speaker
