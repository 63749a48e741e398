"""The effect of time expressions in a query: how much time matters, and the resulting signal and weight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.recall.ranking import DAY, temporal_signal
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.patterns import lazy


class Timing(StrEnum):
    """How much a query depends on time.

    Vague times, and clear ones without any records, favour what is near them. Clear times decide: records within them
    come first, then those from shortly after. Told times are about a person the query names, whose days are often
    reported up to a day later; they favour both. Oldest and newest order by time what fits the query nearly as well as
    the best; last talk prefers the session before this one.
    """

    NONE = ""
    VAGUE = "vague"
    CLEAR = "clear"
    TOLD = "told"
    OLDEST = "oldest"
    NEWEST = "newest"
    LAST_TALK = "last talk"


DECIDING = frozenset({Timing.CLEAR, Timing.OLDEST, Timing.NEWEST, Timing.LAST_TALK})
"""Timings whose signal outweighs all others."""

BESIDE = 0.5
"""The signal just outside a clear time: low enough for `DECISIVE` to rank everything inside first."""

DECISIVE = 2.0
"""A multiple of all other weights together."""

FITS = 0.8
"""The share of the best relevance that a candidate for the first or last needs."""

MAX_ORDERED_CHARS = 160
"""The longest query about a first or last time; in longer ones such words are mostly incidental."""

_VAGUE = lazy(
    r"\b(?:few|several|some|couple|about|around|roughly)\b|\d0'?s\b|(?<!十)几|数[天日周月年]|[前这]两天|大概|大约|差不多|年代",
    re.IGNORECASE,
)
_OWN = lazy(r"\b(?:i|me|my|mine|we|us|our|ours)\b|我|咱", re.IGNORECASE)
_TALKED = r"(?:talk(?:ed|ing)?|sp(?:ea|o)k(?:e|ing)?|chat(?:ted|ting)?|discuss(?:ed|ing)?)"
_MEETING = "(?:talk|chat|conversation|discussion|session)"
_LAST_TALK = lazy(
    rf"what (?:(?:did|were|had|have) (?:we|you and i|i) )?(?:we )?{_TALKED}(?: about)?,? "
    r"(?:the )?(?:last(?: time)?|most recently)\W*$"
    rf"|what did (?:we|you and i) last {_TALKED}(?: about)?\W*$"
    rf"|what did (?:we|you and i) {_TALKED}(?: about)? in (?:our|the) (?:last|previous) {_MEETING}\W*$"
    rf"|what was (?:our|the) (?:last|latest|previous) {_MEETING} about\W*$"
    rf"|^(?:please )?(?:tell me about|recap|summari[sz]e) (?:our|the) (?:last|previous) {_MEETING}\W*$"
    r"|where did we (?:leave off|stop)(?: last time)?\W*$"
    r"|(?:上次|上一次|上回|最后一次|最近一次)(?:我们|咱们)?(?:都|在|是)?(?:聊|谈|说|讨论)(?:了|过|到|的)?(?:是|些)?(?:什么|啥|哪些)\w{0,3}\W*$"
    r"|(?:聊|谈|说)到哪(?:儿|里)?了?\W*$",
    re.IGNORECASE,
)
_OLDEST = lazy(r"\bfirst time\b|\bdid (?:\w+ ){1,2}first [a-z]+|第一次|头一[次回]|首次", re.IGNORECASE)
_NEWEST = lazy(
    r"\b(?:last|latest|most recent) time\b"
    r"|\bdid (?:\w+ ){1,2}"
    r"(?:last (?!week|month|quarter|year|night|spring|summer|autumn|fall|winter)[a-z]+|most recently)"
    r"|(?:最后|最近|上)一[次回]|上[次回].*(?:什么时候|何时|哪天|多久)",
    re.IGNORECASE,
)


def timing(query: str, times: Sequence[TimeSpan], *, named: bool) -> Timing:
    """How much the query depends on time, regardless of the records.

    Args:
        query: the query text.
        times: the times it names.
        named: whether it names a person.
    """
    of_another = named and not _OWN.search(query)
    if times:
        clear = not all(vague(span) for span in times)
        return (Timing.TOLD if of_another else Timing.CLEAR) if clear else Timing.VAGUE
    if asks_for_last_talk(query):
        return Timing.LAST_TALK
    if of_another or len(query) > MAX_ORDERED_CHARS:
        return Timing.NONE
    if _OLDEST.search(query):
        return Timing.OLDEST
    return Timing.NEWEST if _NEWEST.search(query) else Timing.NONE


def asks_for_last_talk(query: str) -> bool:
    """Whether a query only asks for the last topic of conversation."""
    return len(query) <= MAX_ORDERED_CHARS and _LAST_TALK.search(query) is not None


def meant(timing: Timing, temporal: Array) -> npt.NDArray[np.bool_]:
    """Which candidates are from the requested time, by their temporal signal.

    Oldest and newest do not count, as there is always a first and a last.
    """
    if timing in {Timing.NONE, Timing.OLDEST, Timing.NEWEST}:
        return np.zeros(len(temporal), dtype=np.bool_)
    return temporal > 0 if timing is Timing.LAST_TALK else temporal == 1


def vague(span: TimeSpan) -> bool:
    """Whether the time has no clear limits, or is rather a topic."""
    return _VAGUE.search(span.text) is not None


def within(at: Array, times: Sequence[TimeSpan]) -> bool:
    """Whether any of these instants, in seconds since 1970, is in one of the times that are not vague."""
    return any(((at >= since) & (at < until)).any() for since, until in _seconds(_clear(times)))


def signal(timing: Timing, at: Array, relevance: Array, times: Sequence[TimeSpan]) -> Array:
    """The temporal signal of each candidate, in [0, 1]; instants in seconds since 1970, all of shape (n,)."""
    if timing is Timing.CLEAR:
        return _deciding(at, _seconds(_clear(times)))
    if timing is Timing.LAST_TALK:
        return _ordered(at, np.isfinite(at) & (_deciding(at, _seconds(times)) == 1), oldest=False)
    if timing in {Timing.OLDEST, Timing.NEWEST}:
        fits = relevance >= FITS * relevance.max(initial=0.0)
        return _ordered(at, fits, oldest=timing is Timing.OLDEST)
    later = DAY if timing is Timing.TOLD else 0.0
    return temporal_signal(at, [(since, until + later) for since, until in _seconds(times)])


def weight(timing: Timing, wanted: float, others: float) -> float:
    """The weight of the temporal signal, if enabled, given the sum of the other weights, ``others``."""
    if not wanted or timing is Timing.NONE:
        return 0.0
    return max(wanted, DECISIVE * others) if timing in DECIDING else wanted


def _clear(times: Sequence[TimeSpan]) -> list[TimeSpan]:
    return [span for span in times if not vague(span)]


def _seconds(times: Sequence[TimeSpan]) -> list[tuple[float, float]]:
    return [(span.since.timestamp(), span.until.timestamp()) for span in times]


def _deciding(at: Array, spans: Sequence[tuple[float, float]]) -> Array:
    """1 within a span, outside half of the vague signal: ``0.5 * 0.5 ** (distance / max(length, 1 day))``."""
    inside = np.zeros(len(at), dtype=np.bool_)
    for since, until in spans:
        inside |= (at >= since) & (at < until)
    return np.where(inside, 1.0, BESIDE * temporal_signal(at, spans))


def _ordered(at: Array, members: Array, *, oldest: bool) -> Array:
    """1 for the first of the members in time, then halving towards `BESIDE` for each further one; 0 for all others."""
    signal = np.zeros(len(at))
    rows = np.flatnonzero(members)
    order = rows[np.argsort(at[rows] if oldest else -at[rows], kind="stable")]
    signal[order] = BESIDE + (1 - BESIDE) * np.exp2(-np.arange(len(order), dtype=np.float64))
    return signal
