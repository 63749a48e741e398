"""From facts to a profile: the best supported value of a scalar, lists without duplicates, each with its sources.

* A scalar takes the value with the highest confidence, to a tenth; of equals the one stated by more turns, then the
  more recent one; if the field rejects it, the next.
* A list merges equivalent values, worded like the best supported fact; important ones first, then the newest.
* Empty, ended, replaced or corrected values are only in the history: facts without a value change nothing.
* In a list of several attributes, a value names its attribute, "mother Anna", unless that is the list's main one:
  likes, preferences and interests, and dislikes in a list of their own.
* Something disliked or avoided never appears bare among likes: a field that does not accept such text omits it.
* What a field of a subclass can hold is omitted from built-in fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.facts.attributes import ATTRIBUTES, FAVOURITES, ORDERS, RULE, worded
from hybrid_memory.facts.fact import USER, Fact
from hybrid_memory.facts.profile import HAN, ProfileEntry, UserProfile, is_chinese
from hybrid_memory.facts.values import NOT_SAID, near_key
from hybrid_memory.validation import shown

_TRUE = ("true", "yes", "是", "是的", "对", "有", "会")
_FALSE = ("false", "no", "否", "不", "不是", "没有", "不会")

_TYPES = {str: "text", bool: "yes or no", int: "whole number", float: "number", date: "date (YYYY-MM-DD)"}
_HINT = "a field holds str, int, float, bool, date, an Enum or a Literal, or a list of one of these"


@dataclass(frozen=True, slots=True)
class ProfileField:
    """A field of a profile.

    Attributes:
        attributes: of the facts it takes; a trailing ``*`` matches any ending.
        many: whether it is a list; kind: its type in words, which then begin with "list".
        options: the value for each lower-case text, if the type names its values.
        own: whether it is not one of the built-in fields, or takes other facts than that.
    """

    name: str
    attributes: frozenset[str]
    many: bool
    kind: str
    description: str
    options: Mapping[str, Any]
    own: bool

    def takes(self, attribute: str) -> bool:
        """Whether facts with this attribute go into it."""
        return any(_means(name, attribute) for name in self.attributes)


def _means(name: str, attribute: str) -> bool:
    return attribute.startswith(name[:-1]) if name.endswith("*") else attribute == name


def check_profile_type(schema: type[UserProfile]) -> None:
    """Raise `InvalidConfigError` unless profiles of this type can be filled with facts.

    Every field needs a default, a type that facts can fill, and a name that profiles do not use otherwise.
    """
    given: object = schema  # callers are not all type checked
    if not (isinstance(given, type) and issubclass(given, UserProfile)):
        raise InvalidConfigError(f"a profile is a subclass of hybrid_memory.UserProfile, got {shown(schema)}")
    for name, info in schema.model_fields.items():
        where = f"{schema.__name__}.{name}"
        if info.is_required():
            raise InvalidConfigError(f"{where} needs a default, such as None, since a profile starts empty")
        if name not in UserProfile.model_fields and hasattr(UserProfile, name):
            raise InvalidConfigError(f"{where}: the name {name!r} is reserved: choose another")
    profile_fields(schema)
    try:
        schema()
    except InvalidInputError as error:
        raise InvalidConfigError(f"{schema.__name__} refuses an empty profile: {error}") from error


@lru_cache(maxsize=64)
def profile_fields(schema: type[UserProfile]) -> tuple[ProfileField, ...]:
    """The fields in order; raises InvalidConfigError for one that facts cannot fill."""
    fields = []
    for name, info in schema.model_fields.items():
        members = _members(info.annotation)
        many = len(members) == 1 and get_origin(members[0]) is list
        if many:
            members = _members(get_args(members[0])[0])
        types = list(map(_kind, members))
        kinds = dict.fromkeys(kind for kind, _ in types)
        if not kinds or "" in kinds:
            raise InvalidConfigError(f"{schema.__name__}.{name} is of type {info.annotation!r}: {_HINT}")
        attributes, base = _attributes(schema, name, info), UserProfile.model_fields.get(name)
        field = ProfileField(
            name=name,
            attributes=attributes,
            many=many,
            kind=f"{'list of ' * many}{' or '.join(kinds)}",
            description=info.description or name.replace("_", " "),
            options={text: option for _, options in types for text, option in options.items()},
            own=base is None or attributes != _attributes(UserProfile, name, base),
        )
        fields.append(field)
    return tuple(fields)


def _attributes(schema: type[UserProfile], name: str, info: FieldInfo) -> frozenset[str]:
    """Its own name and the attributes it lists, otherwise those that have it as an alias."""
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    named = extra.get("attributes")
    if named is None:
        return frozenset([name, *(known.name for known in ATTRIBUTES.values() if name in known.aliases)])
    if isinstance(named, list):
        attributes = [each for each in named if isinstance(each, str)]
        if len(attributes) == len(named):
            return frozenset([name, *attributes])
    raise InvalidConfigError(f"{schema.__name__}.{name}: attributes must be a list of names, got {named!r}")


def _members(annotation: Any) -> list[Any]:
    """The possible types of a value, without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return [member for part in get_args(annotation) if part is not NoneType for member in _members(part)]
    return [annotation]


def _kind(member: Any) -> tuple[str, dict[str, Any]]:
    """A type in words, empty if facts cannot fill it; and the value for each lower-case text, if these are named."""
    if get_origin(member) is Literal:
        values = get_args(member)
        options = {str(option).casefold(): option for option in values}
    elif isinstance(member, type) and issubclass(member, Enum):
        values = tuple(option.value for option in member)
        options = {option.name.replace("_", " ").casefold(): option for option in member}
        options |= {str(option.value).casefold(): option for option in member}
    elif isinstance(member, type) and get_origin(member) is None:
        options = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)} if member is bool else {}
        return next((words for kind, words in _TYPES.items() if issubclass(member, kind)), ""), options
    else:
        return "", {}
    return f"one of: {', '.join(map(str, values))}", options


MAX_FACTS = 1000  # the most facts that a field considers: current, important, well supported and new ones first

P = TypeVar("P", bound=UserProfile)

_AGAINST = frozenset(("dislikes", "avoids"))
_PLAIN = frozenset(("likes", "prefers", "interest", *ORDERS))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A fact as a field reads it: its value in the field's type, and what distinguishes it from the others."""

    fact: Fact
    value: Any
    kind: str


def own_facts(facts: Iterable[Fact], names: Iterable[str] = ()) -> list[Fact]:
    """The facts about the user, under any of these names, not about people around them ("user's wife")."""
    own = {USER, *(name.strip().casefold() for name in names)}
    return [fact for fact in facts if fact.subject.strip().casefold() in own]


def profile_of(facts: Iterable[Fact], schema: type[P]) -> P:
    """The profile that follows from one person's facts, of every state, in any order.

    Values that a field rejects are omitted; those of a list that differ in case and punctuation are merged.
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
        taken = [fact for attribute, held in by_attribute.items() if field.takes(attribute) for fact in held]
        if len(taken) > MAX_FACTS:
            taken.sort(key=lambda one: (one.state.standing, one.importance, *_support(one)), reverse=True)
        read = [
            reading
            for fact in taken[:MAX_FACTS]
            if not any(other.takes(fact.attribute) and _read(fact, other, schema, chinese) for other in before)
            and (reading := _read(fact, field, schema, chinese)) is not None
        ]
        read.sort(key=lambda reading: _support(reading.fact), reverse=True)
        # Current values, the best supported first, grouped by equivalence within a kind.
        groups: dict[tuple[str, str], list[_Reading]] = defaultdict(list)
        for reading in read:
            if reading.fact.state.standing:
                # The text as it was said; for other types, what was parsed.
                words = reading.fact.value if isinstance(reading.value, str) else repr(reading.value)
                groups[reading.kind, near_key(words)].append(reading)
        entries = [_entry(group) for group in groups.values()]
        value, kept = _accepted(entries, field, schema, values)
        if kept:
            values[field.name], standing[field.name] = value, kept
        if read:
            oldest = sorted(read, key=lambda reading: (reading.fact.valid_from, reading.fact.id))
            history[field.name] = tuple(_entry([reading]) for reading in oldest)
    return schema.of(values).resting_on(standing, history)


def _support(fact: Fact) -> tuple[Any, ...]:
    """A sort key, best supported last; facts of several spaces may share an id."""
    turns = len(fact.sources), fact.valid_from, max(fact.positions, default=0)
    return round(fact.confidence, 1), *turns, fact.id, fact.author, fact.attribute, fact.value


def _read(fact: Fact, field: ProfileField, schema: type[UserProfile], chinese: bool) -> _Reading | None:
    plain = fact.value.strip()
    if fact.verbatim:
        value = _validated(f"“{plain}”", field, schema)
        return None if value is None else _Reading(fact, value, fact.attribute)
    # Does the value alone show what it is, given what the field takes?
    common = (name for name in field.attributes if name in ATTRIBUTES or name.endswith("*"))
    others = [name for name in common if not _means(name, fact.attribute)]
    if fact.attribute in _AGAINST:
        bare = _AGAINST.issuperset(others)
    elif fact.attribute.startswith(RULE) and set(ORDERS).issuperset(others):
        bare = True
    else:
        known = fact.attribute in ATTRIBUTES or fact.attribute.startswith((RULE, *FAVOURITES))
        bare = not (known and others and field.many) or fact.attribute in _PLAIN
    if not bare:
        words = worded(fact.attribute, plain, chinese=HAN.search(plain) is not None or (chinese and " " not in plain))
        value = _validated(words, field, schema)
        if value is not None:
            return _Reading(fact, value, "" if words == plain else fact.attribute)
        if fact.attribute in _AGAINST:
            return None
    value = _validated(field.options.get(plain.casefold(), plain), field, schema)
    return None if value is None else _Reading(fact, value, "")


def _validated(value: Any, field: ProfileField, schema: type[UserProfile]) -> Any:
    try:
        held = getattr(schema.of({field.name: [value] if field.many else value}), field.name)
    except InvalidInputError:
        return None
    if field.many:
        return held[0] if held else None
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
    choices: list[tuple[ProfileEntry, ...]] = [(entry,) for entry in entries]
    if field.many:
        # Rounded, as its day counts more than how sure it is.
        ranked = sorted(entries, key=lambda one: (round(one.importance, 2), one.valid_from, one.facts), reverse=True)
        choices = [tuple(ranked[:number]) for number in range(len(ranked), 0, -1)]
    for choice in choices:
        value = [entry.value for entry in choice] if field.many else choice[0].value
        try:
            schema.of({**values, field.name: value})
        except InvalidInputError:
            continue
        return value, choice
    return None, ()
