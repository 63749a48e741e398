"""From facts to a profile: the best supported value of a scalar, lists without near-duplicates, each with its sources.

* A scalar takes the value with the highest confidence; of equals the one stated by more turns, then the more recent
  one; if the field rejects it, the next.
* A list merges equivalent values, worded like the best supported fact; important ones first, then the newest.
* Empty, ended, replaced or corrected values are only in the history: facts without a value change nothing.
* In a list of several attributes, a value names its attribute, "mother Anna", unless that is the list's main one:
  likes, preferences and interests, and dislikes in a list of their own.
* Something disliked or avoided never appears bare among likes: a field that does not accept such text omits it.
* What a field of a subclass can hold is omitted from built-in fields.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.attributes import ATTRIBUTES, FAVOURITES, RULE, worded
from hybrid_memory.facts.fact import USER, Fact
from hybrid_memory.facts.instructions import within_project
from hybrid_memory.facts.profile import HAN, ProfileEntry, UserProfile, is_chinese
from hybrid_memory.facts.profile_schema import ProfileField, profile_fields
from hybrid_memory.facts.values import NOT_SAID, Likeness, united

MAX_FACTS = 1000
"""The most facts that a field considers: current, important, well supported and new ones first."""

FEW = 32
"""If a field rejects a list, up to this many values are dropped one by one, then half of them at once."""

P = TypeVar("P", bound=UserProfile)

_AGAINST = frozenset(("dislikes", "avoids"))
_ORDERS = frozenset(("instruction", "communication_style"))
_PLAIN = frozenset(("likes", "prefers", "interest", *_ORDERS))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A fact as a field reads it: its value in the field's type, and what distinguishes it from the others."""

    fact: Fact
    value: Any
    kind: str

    @property
    def words(self) -> str:
        """The text to compare; for other types, the text that was parsed."""
        return self.fact.value if isinstance(self.value, str) else repr(self.value)


def own_facts(facts: Iterable[Fact], names: Iterable[str] = ()) -> list[Fact]:
    """The facts about the user, under any of these names, not about people around them ("user's wife")."""
    own = {USER, *(name.strip().casefold() for name in names)}
    return [fact for fact in facts if fact.subject.strip().casefold() in own]


def looked_at(facts: Iterable[Fact], schema: type[UserProfile]) -> list[Fact]:
    """The facts that a field of the profile considers, in order."""
    by_attribute: dict[str, list[Fact]] = defaultdict(list)
    given = list(facts)
    for fact in given:
        by_attribute[fact.attribute].append(fact)
    kept = {
        id(fact)
        for field in profile_fields(schema)
        for fact in _most([one for attribute, held in by_attribute.items() if field.takes(attribute) for one in held])
    }
    return [fact for fact in given if id(fact) in kept]


def profile_of(facts: Iterable[Fact], schema: type[P], *, alike: Likeness | None = None) -> P:
    """The profile that follows from one person's facts, of every state, in any order.

    Values that a field rejects are omitted. ``alike`` is the cosine of two values, for lists; without it, only wordings
    that differ in case, plural and punctuation are merged.
    """
    by_attribute: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.value.strip().casefold() not in NOT_SAID:
            by_attribute[fact.attribute].append(fact)
    fields = profile_fields(schema)
    chinese = is_chinese(
        fact.value
        for attribute, held in by_attribute.items()
        if any(field.takes(attribute) for field in fields)
        for fact in held
        if fact.state.standing
    )
    values: dict[str, Any] = {}
    standing: dict[str, tuple[ProfileEntry, ...]] = {}
    history: dict[str, tuple[ProfileEntry, ...]] = {}
    for field in fields:
        before = [] if field.own else [other for other in fields if other.own]
        taken = _most([fact for attribute, held in by_attribute.items() if field.takes(attribute) for fact in held])
        read = [
            reading
            for fact in taken
            if not any(other.takes(fact.attribute) and _read(fact, other, schema, chinese) for other in before)
            and (reading := _read(fact, field, schema, chinese)) is not None
        ]
        read.sort(key=lambda reading: _support(reading.fact), reverse=True)
        entries = [_entry(group) for group in _groups(read, alike)]
        value, kept = _accepted(entries, field, schema, values)
        if kept:
            values[field.name], standing[field.name] = value, kept
        if read:
            oldest = sorted(read, key=lambda reading: (reading.fact.valid_from, reading.fact.id))
            history[field.name] = tuple(_entry([reading]) for reading in oldest)
    labels = {field.name: field.chinese for field in fields if field.chinese}
    return schema.of(values).resting_on(standing, history, labels)


def _most(facts: Sequence[Fact]) -> Sequence[Fact]:
    """The facts that a field considers: all of them or, if too many, the most important and newest ones."""
    if len(facts) <= MAX_FACTS:
        return facts
    standing = [fact for fact in facts if fact.state.standing]
    facts = standing if len(standing) >= MAX_FACTS else facts
    return heapq.nlargest(MAX_FACTS, facts, key=lambda fact: (fact.state.standing, fact.importance, *_support(fact)))


def _groups(read: Sequence[_Reading], alike: Likeness | None) -> list[list[_Reading]]:
    standing = [reading for reading in read if reading.fact.state.standing]
    texts = all(isinstance(reading.value, str) for reading in standing)
    return united(standing, words=lambda each: each.words, kind=lambda each: each.kind, alike=alike if texts else None)


def _support(fact: Fact) -> tuple[Any, ...]:
    """A sort key, best supported last; facts of several spaces may share an id."""
    turns = len(fact.sources), fact.valid_from, max(fact.positions, default=0)
    return fact.confidence, *turns, fact.id, fact.author, fact.attribute, fact.value


def _read(fact: Fact, field: ProfileField, schema: type[UserProfile], chinese: bool) -> _Reading | None:
    plain = within_project(fact)
    if fact.verbatim:
        value = _validated(f"“{plain}”", field, schema)
        return None if value is None else _Reading(fact, value, fact.attribute)
    if _needs_words(fact, field):
        words = worded(fact.attribute, plain, chinese=HAN.search(plain) is not None or (chinese and " " not in plain))
        value = _validated(words, field, schema)
        if value is not None:
            return _Reading(fact, value, "" if words == plain else fact.attribute)
        if fact.attribute in _AGAINST:
            return None
    value = _validated(field.options.get(plain.casefold(), plain), field, schema)
    return None if value is None else _Reading(fact, value, "")


def _needs_words(fact: Fact, field: ProfileField) -> bool:
    """Whether the value alone does not show what it is, given what the field takes."""
    others = field.besides(fact.attribute)
    if fact.attribute in _AGAINST:
        return not _AGAINST.issuperset(others)
    if fact.attribute.startswith(RULE) and _ORDERS.issuperset(others):
        return False
    known = fact.attribute in ATTRIBUTES or fact.attribute.startswith((RULE, *FAVOURITES))
    return known and bool(others) and field.many and fact.attribute not in _PLAIN


def _validated(value: Any, field: ProfileField, schema: type[UserProfile]) -> Any:
    try:
        held = getattr(schema.of({field.name: [value] if field.many else value}), field.name)
    except InvalidInputError:
        return None
    if field.many:
        return next(iter(held), None)
    return None if held == "" else held


def _entry(group: Sequence[_Reading]) -> ProfileEntry:
    facts = [reading.fact for reading in group]
    turns = {turn: position for fact in facts for position, turn in zip(fact.positions, fact.sources, strict=True)}
    return ProfileEntry(
        value=group[0].value,
        facts=tuple(sorted({fact.id for fact in facts})),
        sources=tuple(sorted(turns, key=lambda turn: (turns[turn], turn))),
        state=facts[0].state,
        valid_from=min(fact.valid_from for fact in facts),
        valid_to=facts[0].valid_to,
        confidence=max(fact.confidence for fact in facts),
        importance=max(fact.importance for fact in facts),
    )


def _accepted(
    entries: Sequence[ProfileEntry], field: ProfileField, schema: type[UserProfile], values: dict[str, Any]
) -> tuple[Any, tuple[ProfileEntry, ...]]:
    """The value of the field, given the fields before it: as many of the first entries as it accepts, or the first."""
    if field.many:
        ranked = sorted(entries, key=lambda entry: (entry.importance, entry.valid_from, entry.facts), reverse=True)
        choices = (tuple(ranked[:number]) for number in _numbers(len(ranked)))
    else:
        choices = ((entry,) for entry in entries)
    for choice in choices:
        value = [entry.value for entry in choice] if field.many else choice[0].value
        try:
            schema.of({**values, field.name: value})
        except InvalidInputError:
            continue
        return value, choice
    return None, ()


def _numbers(count: int) -> Iterator[int]:
    """How many values to try for a list, starting with all."""
    while count > FEW:
        yield count
        count //= 2
    yield from range(count, 0, -1)
