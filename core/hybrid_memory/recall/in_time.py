"""What the time in a query does: how far the query goes by it, and the signal and the weight that follow."""

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
    """How far a query goes by time.

    Vague times, and clear ones from which nothing is, speak for what lies near them. Clear ones decide: what lies in
    them comes first, then what was said soon after. Told ones are those of somebody the query names, whose days are
    told up to a day later; they speak for both. Oldest and newest order by time what fits the query nearly as well as
    the best, last talk the session before this one.
    """

    NONE = ""
    VAGUE = "vague"
    CLEAR = "clear"
    TOLD = "told"
    OLDEST = "oldest"
    NEWEST = "newest"
    LAST_TALK = "last talk"


DECIDING = frozenset({Timing.CLEAR, Timing.OLDEST, Timing.NEWEST, Timing.LAST_TALK})
"""Those whose signal stands over all others."""

BESIDE = 0.5
"""The signal right beside a clear time: so far below 1 that `DECISIVE` puts all that lies in it first."""

DECISIVE = 2.0
"""Times all other weights together."""

FITS = 0.8
"""Of the best relevance, to be one of those whose first or last is asked for."""

MAX_ORDERED_CHARS = 160
"""Of a query that is about a first or last time; in a longer one it is mostly said by the way."""

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
    """How far the query goes by time, whatever was said when.

    Args:
        query: in words.
        times: that it names.
        named: whether it names anybody.
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
    """Whether a query asks for nothing but what was talked about last."""
    return len(query) <= MAX_ORDERED_CHARS and _LAST_TALK.search(query) is not None


def meant(timing: Timing, temporal: Array) -> npt.NDArray[np.bool_]:
    """Which candidates are of the time that was asked for, by their temporal signal.

    Something is always the first or the last of what fits: that asks for no time.
    """
    if timing in {Timing.NONE, Timing.OLDEST, Timing.NEWEST}:
        return np.zeros(len(temporal), dtype=np.bool_)
    return temporal > 0 if timing is Timing.LAST_TALK else temporal == 1


def vague(span: TimeSpan) -> bool:
    """Whether nobody could say where the time begins and ends, or it is rather what something is about."""
    return _VAGUE.search(span.text) is not None


def within(at: Array, times: Sequence[TimeSpan]) -> bool:
    """Whether any of these instants, in seconds since 1970, lies in one of the times that is not vague."""
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
    """The weight of the temporal signal, where it is wanted at all and the other weights together are ``others``."""
    if not wanted or timing is Timing.NONE:
        return 0.0
    return max(wanted, DECISIVE * others) if timing in DECIDING else wanted


def _clear(times: Sequence[TimeSpan]) -> list[TimeSpan]:
    return [span for span in times if not vague(span)]


def _seconds(times: Sequence[TimeSpan]) -> list[tuple[float, float]]:
    return [(span.since.timestamp(), span.until.timestamp()) for span in times]


def _deciding(at: Array, spans: Sequence[tuple[float, float]]) -> Array:
    """1 within a span, beside it half of the vague signal: ``0.5 * 0.5 ** (distance / max(length, 1 day))``."""
    inside = np.zeros(len(at), dtype=np.bool_)
    for since, until in spans:
        inside |= (at >= since) & (at < until)
    return np.where(inside, 1.0, BESIDE * temporal_signal(at, spans))


def _ordered(at: Array, members: Array, *, oldest: bool) -> Array:
    """1 for the first of the members in time, towards `BESIDE` by half for each one after it; 0 for all others."""
    signal = np.zeros(len(at))
    rows = np.flatnonzero(members)
    order = rows[np.argsort(at[rows] if oldest else -at[rows], kind="stable")]
    signal[order] = BESIDE + (1 - BESIDE) * np.exp2(-np.arange(len(order), dtype=np.float64))
    return signal
