"""Question and answer in consecutive turns: an answer shares the relevance of its question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Numbers
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.recall import ranking
from hybrid_memory.recall.candidates import Found, Home
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.retention import kept
from hybrid_memory.store.services import Services
from hybrid_memory.text.speakers import voice
from hybrid_memory.text.speech import Speech, speech
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens

ASKING = 0.5
"""A turn asks if at least this share of it is questions."""

SHORT = 16
"""An answer of at most this many tokens says little without its question, even if it has a word of the query."""


def answering(relevance: Array, said: Speech, segments: Numbers, ordinals: Numbers) -> Array:
    """The relevance of the previous turn, as far as that asks and this one says something; shape (n,).

    0 if the previous turn is not a candidate.
    """
    tells = (1 - said.asks) * (1 - said.empty)
    return np.asarray(ranking.beside(relevance * said.asks, segments, ordinals, -1) * tells)


async def asked_before(
    run: Runner, homes: Sequence[Home], query: str, found: Found, records: Sequence[Record]
) -> dict[int, Record]:
    """The question that each of these turns answers, by the turn's id; only for turns that need it.

    These are short, or share no word with the query. Only questions that a search could have found are returned.
    ``found`` are all candidates, including the turns.
    """
    services: Services = homes[0].view
    wanted, home_of = set(terms(query)), {home.view.owner: home for home in homes}
    turns = [one for one in records if one.kind is RecordKind.TURN and one.scope.owner in home_of]
    turns = [turn for turn in turns if estimate_tokens(turn.text) <= SHORT or wanted.isdisjoint(terms(turn.text))]
    tells = speech([turn.text for turn in turns])
    says = {turn.id: turn for turn, idle in zip(turns, tells.asks + tells.empty, strict=True) if idle < ASKING}
    before = await _before(run, services, found, list(says.values())) if says else {}
    before = {number: one for number, one in before.items() if home_of[says[number].scope.owner].where.allows(one)}
    asks = speech([one.text for one in before.values()]).asks
    remembered = _remembered(services, list(before.values()))
    return {
        number: one
        for (number, one), share, stays in zip(before.items(), asks, remembered, strict=True)
        if share >= ASKING and stays and _speaker(one) != _speaker(says[number])
    }


async def _before(run: Runner, services: Services, found: Found, turns: Sequence[Record]) -> dict[int, Record]:
    """The previous turns, by the ids of these; candidates among them were read before."""
    places = found.places
    at = zip(places.segments.tolist(), places.ordinals.tolist(), strict=True)
    ids = defaultdict[tuple[int, int], list[int]](list)
    for place, number in zip(at, places.ids.tolist(), strict=True):
        ids[place].append(number)
    before = {turn.id: ids.get((turn.segment, turn.ordinal - 1), []) for turn in turns if turn.ordinal}
    wanted = [number for several in before.values() for number in several if number not in found.read]
    read = {**found.read, **{one.id: one for one in (await run.call(services.index.get, wanted) if wanted else ())}}
    said = {
        turn: read[number]
        for turn, several in before.items()
        for number in several
        if number in read and read[number].kind is RecordKind.TURN
    }
    for owner in {turn.scope.owner for turn in turns if turn.ordinal and turn.id not in said}:
        others = [turn for turn in turns if turn.scope.owner == owner and turn.ordinal and turn.id not in said]
        said |= await run.call(services.index.previous, owner, others)
    return said


def _remembered(services: Services, records: Sequence[Record]) -> npt.NDArray[np.bool_]:
    fresh = np.array([max(record.at, record.last_used or record.at).timestamp() for record in records])
    uses = np.array([record.uses for record in records], dtype=np.int64)
    return kept(services, fresh, np.array([record.importance for record in records]), uses)


def _speaker(record: Record) -> str:
    return voice(record.text)[0] or record.speaker
