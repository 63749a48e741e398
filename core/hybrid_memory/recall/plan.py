"""From the words of a query to the plan of a recall."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from hybrid_memory.recall import intent as intents
from hybrid_memory.recall.entities import entities, folded
from hybrid_memory.recall.query import Intent, Plan
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.tokenize import LETTER

EXACT = 24
TEMPORAL = 20
"""How many records the exact and the temporal path bring in at most."""


def plan(
    query: str,
    *,
    now: datetime,
    candidates: int,
    wanted: Intent = Intent.AUTO,
    synonyms: Sequence[Sequence[str]] = (),
) -> Plan:
    """Which paths run, and with which limits.

    Vector and text run for every intent: on labelled sets neither did better with fewer candidates. A question that
    weighs things takes half as many again by meaning. What is named verbatim brings in the exact path; a time, or a
    question that goes back to what was before, the temporal one.

    Args:
        query: as it was asked.
        now: aware; times of the query count from it, in its time zone. What has not begun then is left out.
        candidates: of the vector and the text path.
        wanted: the caller's intent; ``auto`` reads it from the words.
        synonyms: groups of words that mean the same.
    """
    kind, cue = intents.intent(query) if wanted is Intent.AUTO else (wanted, "")
    named = entities(query)
    times = tuple(span for span in find_times(query, now) if span.since <= now)
    return Plan(
        intent=kind,
        cue=cue,
        entities=named,
        times=times,
        vector=candidates * 3 // 2 if kind is Intent.REASONING else candidates,
        text=candidates,
        exact=EXACT if any(entity.verbatim for entity in named) else 0,
        temporal=TEMPORAL if times or kind is Intent.CONTEXTUAL else 0,
        synonyms=_synonyms(query, synonyms),
    )


def _synonyms(query: str, groups: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The members of groups that the query has, each with the others of its group."""
    said = folded(query)
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        word = next((word for word in group if _has(said, folded(word))), None)
        if word is not None:
            others = (other for other in group if not _has(said, folded(other)))
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return {word: others for word, others in found.items() if others}


def _has(said: str, word: str) -> bool:
    """Whether the word is said; as a whole word, where its script has spaces between words."""
    before = rf"(?<!{LETTER})" if re.match(LETTER, word) else ""
    after = rf"(?!{LETTER})" if re.match(LETTER, word[-1:]) else ""
    return re.search(f"{before}{re.escape(word)}{after}", said) is not None
