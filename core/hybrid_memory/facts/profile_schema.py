"""The fields of a profile: their types, and the facts they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.facts.attributes import ATTRIBUTES
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.validation import shown

_TRUE = ("true", "yes", "是", "是的", "对", "有", "会")
_FALSE = ("false", "no", "否", "不", "不是", "没有", "不会")

_TYPES: tuple[tuple[type, str], ...] = (
    (str, "text"),
    (bool, "yes or no"),
    (int, "whole number"),
    (float, "number"),
    (date, "date (YYYY-MM-DD)"),
)
_MANY = (list, tuple, set, frozenset)
_HINT = (
    "a field holds str, int, float, bool, date, an Enum or a Literal, or a list, tuple[..., ...] or set of one of these"
)


@dataclass(frozen=True, slots=True)
class ProfileField:
    """A field of a profile.

    Attributes:
        attributes: of the facts it takes; a trailing ``*`` matches any ending.
        many: whether it is a list, a tuple or a set; kind: its type in words, which then begin with "list".
        options: the value for each lower-case text, if the type names its values.
        chinese: its Chinese name, or empty.
        own: whether it is not one of the built-in fields, or takes other facts than that.
    """

    name: str
    attributes: frozenset[str]
    many: bool
    kind: str
    description: str
    options: Mapping[str, Any]
    chinese: str
    own: bool

    def takes(self, attribute: str) -> bool:
        """Whether facts with this attribute go into it."""
        return any(_means(name, attribute) for name in self.attributes)

    def besides(self, attribute: str) -> list[str]:
        """The common attributes that it takes in addition to this one."""
        return [
            name for name in self.attributes if not _means(name, attribute) and (name in ATTRIBUTES or name[-1:] == "*")
        ]


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
    return tuple(_field(schema, name, info) for name, info in schema.model_fields.items())


def field_guide(schema: type[UserProfile]) -> list[tuple[str, str, str]]:
    """Name, type in words and description of each field, for a language model."""
    return [(field.name, field.kind, field.description) for field in profile_fields(schema)]


def _field(schema: type[UserProfile], name: str, info: FieldInfo) -> ProfileField:
    members = _members(info.annotation)
    many = len(members) == 1 and get_origin(members[0]) in _MANY
    if many:
        parts = get_args(members[0])
        members = _members(parts[0]) if get_origin(members[0]) is not tuple or parts[1:] == (...,) else []
    kinds = list(dict.fromkeys(_kind(member) for member in members))
    if not kinds or "" in kinds:
        raise InvalidConfigError(f"{schema.__name__}.{name} is of type {info.annotation!r}: {_HINT}")
    kind = " or ".join(kinds)
    attributes = _attributes(schema, name, info)
    known = [ATTRIBUTES[attribute] for attribute in attributes if attribute in ATTRIBUTES]
    base = UserProfile.model_fields.get(name)
    return ProfileField(
        name=name,
        attributes=attributes,
        many=many,
        kind=f"list of {kind}" if many else kind,
        description=info.description or name.replace("_", " "),
        options={text: option for member in members for text, option in _options(member).items()},
        chinese=known[0].chinese if len(known) == 1 else "",
        own=base is None or attributes != _attributes(UserProfile, name, base),
    )


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


def _kind(member: Any) -> str:
    """A type in words; empty if facts cannot fill it."""
    if get_origin(member) is Literal or (isinstance(member, type) and issubclass(member, Enum)):
        values = get_args(member) or [option.value for option in member]
        return f"one of: {', '.join(map(str, values))}"
    if not isinstance(member, type) or get_origin(member) is not None:
        return ""
    return next((words for kind, words in _TYPES if issubclass(member, kind)), "")


def _options(member: Any) -> dict[str, Any]:
    if get_origin(member) is Literal:
        return {str(option).casefold(): option for option in get_args(member)}
    if issubclass(member, Enum):
        names = {option.name.replace("_", " ").casefold(): option for option in member}
        return names | {str(option.value).casefold(): option for option in member}
    return {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)} if member is bool else {}
