"""Chooses which candidates become hits, in which order, and with which question before them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

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
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import kept
from hybrid_memory.text.asking import speech
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import voice
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens

SCORE_DIGITS = 6
"""Scores that differ less are equal, as engines sum in different orders."""

HEAD = 5
"""Among this many hits newer ones come first; later hits are not raised over better ones."""

DIVERSE_POOL = 50
"""Candidates considered when results are diversified."""

ALIKE = 0.25
COMPARABLE = 0.75
SHARED = 0.4
STATEMENT_CHARS = 150
TURNS_APART = 30
"""See `by_day`; the last for statements of one occasion, as in an import without times."""

ASKING = 0.5
"""A turn asks if at least this share of it is questions."""

SHORT = 16
"""An answer of at most this many tokens says little without its question, even if it has a word of the query."""

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
    ids = measured.ids
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
    owners = {home.view.owner for home in homes}
    if missing := [number for number in ids.tolist() if number not in measured.read]:
        measured.read.update({record.id: record for record in await run.call(services.index.get, missing)})
    records = [measured.read[number] for number in ids.tolist() if number in measured.read]
    return [record for record in records if record.scope.owner in owners]


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
    (scores, own), ids = ranked, measured.ids
    order = np.lexsort((-ids, -np.round(own, SCORE_DIGITS), -np.round(scores, SCORE_DIGITS)))
    diversity = services.config.recall.diversity
    if diversity:
        pool = order[: max(DIVERSE_POOL, k)]
        vectors, owner = measured.vectors[pool], measured.candidates.owner[pool]
        # Those of different owners cannot be compared.
        likeness = np.where(owner[:, None] == owner, (vectors @ vectors.T).astype(np.float64), 0.0)
        order = pool[diverse(scores[pool], likeness, len(pool), diversity)]
    chosen = dict[int, Record]()
    for start in range(0, len(order), k):
        for record in await _of_owners(run, services, homes, measured, ids[order[start : start + k]]):
            apart = plain and record.kind is RecordKind.FACT and record.turn in measured.row_of
            if not apart and record.turn not in chosen and len(chosen) < k:
                chosen[record.turn] = record
        if len(chosen) >= k:
            break
    facts = {
        record.turn: record
        for record in chosen.values()
        if record.kind is RecordKind.FACT and record.turn in measured.row_of
    }
    turns = await _of_owners(run, services, homes, measured, np.array(list(facts), dtype=np.int64))
    of = {turn.id: turn for turn in turns if turn.scope.owner == facts[turn.id].scope.owner}
    return [of.get(record.turn, record) for record in chosen.values()], {number: facts[number] for number in of}


def diverse(scores: Array, similarity: npt.NDArray[np.floating], k: int, diversity: float) -> npt.NDArray[np.int64]:
    """Row numbers of the k best by maximal marginal relevance (Carbonell and Goldstein 1998).

    Repeatedly the row with the highest ``(1 - diversity) * score - diversity * max(similarity to a chosen row)``.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), dtype=bool)
    while len(chosen) < min(k, len(scores)):
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
    values, head = list(map(_values, records)), records[:HEAD]
    rows = np.array([measured.row_of[record.id] for record in head])
    vectors = measured.vectors[rows]
    # The mean inner product of two different records, from that over all pairs.
    sizes = [(home.status.vectors, float(home.status.mean @ home.status.mean)) for home in homes]
    average = max((count * mean - 1) / (count - 1) if count > 1 else 0.0 for count, mean in sizes)
    likeness = (vectors @ vectors.T).astype(np.float64) - average
    asked = [offer(record.text).terms & measured.words.keys() for record in head]
    idle = measured.features["asks"][rows] + measured.features["empty"][rows]
    exact = measured.columns["exact"][rows]

    def weight(shared: frozenset[int]) -> float:
        return sum(measured.words[term] for term in shared)

    def changes(later: int, earlier: int) -> bool:
        one, other = values[later], values[earlier]
        return any(
            not (within(one[name], other[name]) or within(other[name], one[name])) for name in one & other.keys()
        )

    def replaces(later: int, earlier: int) -> bool:
        one, other = records[later], records[earlier]
        since = (one.at - other.at).total_seconds(), one.turn - other.turn
        if (since > (0, 0)) is not newest:
            return False
        if changes(later, earlier):
            return True
        occasions = abs(since[0]) > SEGMENT_PAUSE.total_seconds() or abs(since[1]) > TURNS_APART
        return (
            max(later, earlier) < len(head)
            and bool(asked[earlier])
            and weight(asked[earlier] & asked[later]) >= SHARED * weight(asked[earlier])
            and likeness[later, earlier] >= ALIKE * (1 - average)
            and relevance[later] >= COMPARABLE * relevance[earlier]
            and exact[later] >= exact[earlier]
            and idle[later] < ASKING
            and len(one.text) <= STATEMENT_CHARS
            and occasions
            and not (one.kind is other.kind is RecordKind.FACT and one.speaker != other.speaker)
        )

    order: list[int] = []
    instead: dict[int, int] = {}
    for row, record in enumerate(records):
        # The first place at which something stands that it replaces.
        place = next((place for place, other in enumerate(order) if replaces(row, other)), len(order))
        if place < len(order):
            other = records[order[place]].id
            instead[record.id] = instead.get(other, other)
        order.insert(place, row)
    return [records[row] for row in order], instead


def _values(record: Record) -> dict[str, str]:
    """The values of attributes with one value that the user's own words in a short turn state, by attribute."""
    if record.origin is not Origin.USER or record.kind is not RecordKind.TURN or len(record.text) > STATEMENT_CHARS:
        return {}
    cut = filter(None, map(cut_value, sentences(record.text)))
    return {name: normalised(value) for name, value in cut if attribute(name).single}


async def asked_before(
    run: Runner, homes: Sequence[Home], query: str, candidates: Candidates, records: Sequence[Record]
) -> dict[int, Record]:
    """The question that each of these turns answers, by the turn's id; only for turns that need it.

    These are short, or share no word with the query. Only questions that a search could have found are returned.
    ``candidates`` are all of them, including the turns.
    """
    words, home_of = set(map(hash, terms(query))), {home.view.owner: home for home in homes}
    turns = [record for record in records if record.kind is RecordKind.TURN and record.scope.owner in home_of]
    turns = [turn for turn in turns if words.isdisjoint(offer(turn.text).terms) or estimate_tokens(turn.text) <= SHORT]
    tells = speech([turn.text for turn in turns])
    answers = {turn.id: turn for turn, idle in zip(turns, tells.asks + tells.empty, strict=True) if idle < ASKING}
    before: dict[int, Record] = {}
    for home in homes:
        mine = [turn for turn in answers.values() if turn.scope.owner == home.view.owner and turn.ordinal]
        before |= await _before(run, home, candidates, mine) if mine else {}
    before = {
        number: turn for number, turn in before.items() if home_of[answers[number].scope.owner].where.allows(turn)
    }
    if not before:
        return {}
    questions = list(before.values())
    fresh = np.array([max(turn.at, turn.last_used or turn.at).timestamp() for turn in questions])
    uses = np.array([turn.uses for turn in questions], dtype=np.int64)
    remembered = kept(homes[0].view, fresh, np.array([turn.importance for turn in questions]), uses)
    asks = speech([turn.text for turn in questions]).asks
    return {
        number: turn
        for (number, turn), share, stays in zip(before.items(), asks, remembered, strict=True)
        if share >= ASKING and stays and _speaker(turn) != _speaker(answers[number])
    }


async def _before(run: Runner, home: Home, candidates: Candidates, turns: Sequence[Record]) -> dict[int, Record]:
    """The previous turns, by the ids of these; candidates among them were read before."""
    places = candidates.places
    before = {
        turn.id: record
        for turn in turns
        for number in places.ids[(places.segments == turn.segment) & (places.ordinals == turn.ordinal - 1)].tolist()
        if (record := candidates.read.get(number)) is not None and record.kind is RecordKind.TURN
    }
    others = [turn for turn in turns if turn.id not in before]
    more = await run.call(home.view.index.previous, home.view.owner, others, home.status) if others else {}
    return before | more


def _speaker(record: Record) -> str:
    return voice(record.text)[0] or record.speaker
