"""From a rule's match to its claims: subject, values, and time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import Claim, Stance
from hybrid_memory.facts.rules.rule import OWNER, Language, Rule, When
from hybrid_memory.facts.rules.turns import Turn
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.dates.calendar import TimeSpan

MAX_VALUE_CHARS = 120

_LEADS_TO_TIME = re.compile(
    r"(?:[\s,]+(?:on|at|by|in|for|from|until|before|since|around|this|coming))*[\s,]*$", re.IGNORECASE
)

LONG_AGO = timedelta(days=60)
_YEAR = re.compile(r"\d{4}|年|\b(?:last|ago)\b")


@dataclass(slots=True)
class Passage:
    """Text to which rules are applied, and which parts of it are already values.

    Attributes:
        text: a clause, or a sentence; sentence: the sentence it belongs to.
        told: what the turn said before.
        read: what was read from the whole sentence.
        taken: the places of values, as (start, end) in the text.
    """

    text: str
    sentence: str
    told: str
    read: Sequence[Claim] = ()
    taken: list[tuple[int, int]] = field(default_factory=list)

    def free(self, start: int, end: int) -> bool:
        """Whether no value was read at this place."""
        words = self.text[start:end]
        return all(end <= first or last <= start for first, last in self.taken) and not any(
            words in claim.value or claim.value in words for claim in self.read
        )


def claims_of(language: Language, rule: Rule, found: re.Match[str], turn: Turn, passage: Passage) -> Iterator[Claim]:
    """The claims of one match."""
    if rule.guard is not None and not rule.guard(found):
        return
    about = rule.attribute if isinstance(rule.attribute, str) else rule.attribute(found)
    who = found.groupdict().get("who")
    subject = OWNER if who is None else language.person(who, passage.told + passage.text[: found.start()])
    time = _time(rule.when, found, passage, turn.at)
    if not about or not subject or (rule.when is When.APPOINTED and time is None):
        return
    known = attribute(about, single=rule.single)
    claim = Claim(
        subject.replace(OWNER, turn.owner),
        about,
        "",
        known.category,
        turn.position,
        single=known.single,
        confidence=rule.confidence,
        importance=known.importance,
        by=rule.name,
    )
    group = _group(found)
    taken = []
    for words, stance in _said(language, rule, found, time, contrasting=known.single):
        for value in rule.values(words):
            first = passage.text.find(value, found.start(group)) if value else -1
            place = found.span(group) if first < 0 else (first, first + len(value))
            if len(value) <= MAX_VALUE_CHARS and (value or stance is not Stance.HOLDS) and passage.free(*place):
                taken.append(place)
                yield _dated(replace(claim, value=value, stance=stance), rule.when, time)
    passage.taken.extend(taken)


def _group(found: re.Match[str]) -> str | int:
    """The pattern's group with the value."""
    return next((name for name in ("value", "other") if found.groupdict().get(name) is not None), 0)


def _said(
    language: Language, rule: Rule, found: re.Match[str], time: TimeSpan | None, *, contrasting: bool
) -> Iterator[tuple[str, Stance]]:
    """The words of each value, and the stance on it."""
    groups, group = found.groupdict(), _group(found)
    words = found[group] if time is None else _without(found[group], found.start(group), time)
    if contrasting and rule.stance is Stance.HOLDS and language.contrast is not None:
        contrast = language.contrast.search(words)
        if contrast is not None:
            words = contrast["value"]
            yield contrast["wrong"], Stance.WRONG
    yield words, rule.stance
    for role, stance in (("old", Stance.ENDED), ("wrong", Stance.WRONG)):
        if (other := groups.get(role)) is not None:
            yield other, stance


def _time(when: When, found: re.Match[str], passage: Passage, now: datetime) -> TimeSpan | None:
    """The relevant time: the one in the group ``time``, or else the first after the start of the match.

    Only a due time may be anywhere in the sentence, and only past times are beginnings or ends.
    """
    if when is When.IGNORED:
        return None
    spans: Sequence[TimeSpan]
    start = found.start()
    if found.groupdict().get("time"):
        # Read alone: "it was moved to Friday" is about the coming one.
        start = found.start("time")
        spans = [
            replace(span, start=span.start + start, end=span.end + start) for span in find_times(found["time"], now)
        ]
    else:
        spans = _times(passage.text, now)
    if when in {When.SINCE, When.UNTIL}:
        spans = [span for span in spans if span.since <= now]
    elif not spans:
        spans = [replace(span, start=-1, end=-1) for span in _times(passage.sentence, now)]
    chosen = next((span for span in spans if span.start >= start), spans[0] if spans else None)
    return _ahead(chosen, now) if chosen is not None and when not in {When.SINCE, When.UNTIL} else chosen


@lru_cache(maxsize=256)
def _times(text: str, now: datetime) -> tuple[TimeSpan, ...]:
    """The times in a passage, cached for many rules."""
    return tuple(find_times(text, now))


def _ahead(span: TimeSpan, now: datetime) -> TimeSpan:
    """The due time: a date without a year that is long past means next year's."""
    if now - span.since < LONG_AGO or _YEAR.search(span.text):
        return span
    try:
        since, until = (at.replace(year=at.year + 1) for at in (span.since, span.until))
    except ValueError:  # the 29th of February
        return span
    return replace(span, since=since, until=until)


def _dated(claim: Claim, when: When, time: TimeSpan | None) -> Claim:
    """The claim with its time; a beginning ends what held before."""
    if time is None:
        return claim
    at = time.since.astimezone(UTC)
    if when is When.UNTIL or (when is When.SINCE and claim.stance is Stance.ENDED):
        return replace(claim, until=at)
    return replace(claim, since=at) if when is When.SINCE else replace(claim, due=at)


def _without(words: str, start: int, time: TimeSpan) -> str:
    """The words, which begin at ``start`` of the passage, without the time in them and its preposition."""
    first, last = time.start - start, time.end - start
    if last <= 0 or first >= len(words):
        return words
    before = _LEADS_TO_TIME.sub("", words[: max(first, 0)])
    return f"{before}{words[last:]}" if before.strip() else words[last:]
