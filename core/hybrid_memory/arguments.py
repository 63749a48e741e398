"""Check the arguments of public methods against the types in the signature before anything is done.

Whole numbers have 64 bits and are not booleans. Datetimes and durations are moved away from the ends of the calendar,
so that they can be converted and added. Afterwards texts, numbers and collections have Python's own types, even if they
were subclasses. Pydantic's strict mode would refuse NumPy's numbers, lists in place of tuples and mappings that are no
dict; to tell it otherwise takes a translation of every type, as long as this.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property, wraps
from inspect import Parameter, iscoroutinefunction, signature
from itertools import islice, takewhile
from operator import index
from typing import Any, Literal, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hybrid_memory.errors import InvalidInputError, InvalidScopeError
from hybrid_memory.validation import LONGEST_SPAN, MAX_COUNT, bounded, check_nesting, shown

P = ParamSpec("P")
T = TypeVar("T")

MAX_ITEMS = 100_000  # the most elements read from an iterator, which may be endless
_PATH = re.compile(r"\b(?:\w+\.)+")  # the module in the name of a type


class _RefusedError(Exception):
    """The value is not of the type; the text is what the type itself does not say."""


class Arguments:
    """A checker for the arguments of a function, by its signature, which is read at the first check.

    Unknown names, protocols and type variables are not checked. ``own`` is how many leading parameters, called
    ``self``, ``cls`` or ``run``, do not come from the caller.
    """

    def __init__(self, function: Callable[..., Any], error: type[InvalidInputError] = InvalidInputError) -> None:
        self._function = function
        self._error = error
        self.own = len(list(takewhile(("self", "cls", "run").__contains__, signature(function).parameters)))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as passed on; too many, too few and unknown ones are left to the call itself."""
        hints, positional = self._declared
        given = [*map(self._checked, positional, args), *args[len(positional) :]]
        return given, {name: self._checked(name, value) if name in hints else value for name, value in kwargs.items()}

    @cached_property
    def _declared(self) -> tuple[dict[str, Any], list[str]]:
        """The types of the caller's arguments by name, and the names of those that may be given by position."""
        hints, positional = {}, []
        for parameter in list(signature(self._function).parameters.values())[self.own :]:
            if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
                holder = types.SimpleNamespace(__annotations__={"value": parameter.annotation})
                try:
                    hint = get_type_hints(holder, globalns=getattr(self._function, "__globals__", {}))["value"]
                except NameError:  # imported for type checkers only
                    hint = Any
                hints[parameter.name] = hint
                if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
                    positional.append(parameter.name)
        return hints, positional

    def _checked(self, name: str, value: Any) -> Any:
        hint = self._declared[0][name]
        try:
            result = _passed(hint, value)
        except _RefusedError as error:
            kind = InvalidScopeError if name in ("tenant", "user", "agent", "session") else self._error
            plain = isinstance(hint, type) and not get_args(hint)
            allowed = [hint.__name__ if plain else _PATH.sub("", str(hint))]
            # A class may advise on how to get an object of it.
            advice = [one._described for one in (hint, *get_args(hint)) if hasattr(one, "_described")]  # noqa: SLF001
            raise kind(f"{name} must be {[*advice, *allowed][0]}{error}, got {shown(value)}") from None
        except Exception as error:
            raise self._error(f"{name} cannot be read: {type(error).__name__}") from error
        return value if name == "at" and isinstance(value, datetime) else result  # stored: not moved as a limit is


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator that checks the arguments of a function or method."""
    arguments = Arguments(function)
    own = arguments.own

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given, named = arguments(args[own:], kwargs)
        return function(*args[:own], *given, **named)  # type: ignore[arg-type]

    @wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> Any:  # frameworks check for a coroutine function
        return await call(*args, **kwargs)  # type: ignore[misc]

    return cast("Callable[P, T]", twin) if iscoroutinefunction(function) else call


_OF_FIELDS: dict[Any, Arguments] = {}


def check_fields(record: Any) -> None:
    """Check the fields of a frozen dataclass, in its ``__post_init__``; raises `InvalidInputError`."""
    kind: Any = type(record)
    arguments = _OF_FIELDS.get(kind) or _OF_FIELDS.setdefault(kind, Arguments(kind.__init__))
    for name, value in arguments((), {one.name: getattr(record, one.name) for one in fields(record)})[1].items():
        object.__setattr__(record, name, value)


def _instance(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise _RefusedError
    return value


def _text(value: Any) -> str:
    return value if type(value) is str else str.__str__(_instance(value, str))


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise _RefusedError
    number = int.__int__(value) if isinstance(value, int) else index(value)
    if abs(number) > MAX_COUNT:
        raise _RefusedError(" of 64 bits")
    return number


def _number(value: Any) -> float:
    if isinstance(value, bool) or not hasattr(type(value), "__float__"):
        raise _RefusedError
    return _integer(value) if isinstance(value, int) else float(value)


_BYTES = (bytes, bytearray, memoryview)
_PLAIN: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    int: _integer,
    float: _number,
    datetime: lambda value: bounded(_instance(value, datetime)),
    timedelta: lambda value: max(-LONGEST_SPAN, min(_instance(value, timedelta), LONGEST_SPAN)),
    bytes: lambda value: bytes(_instance(value, _BYTES)),
    Any: lambda value: value,
}


def _passed(hint: Any, value: Any) -> Any:  # noqa: C901, PLR0911 - one for each kind
    """The value as passed on; raises `_RefusedError` if it is not of this type."""
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, types.UnionType):
        details: dict[str, None] = {}
        for part in parts:
            try:
                return _passed(part, value)
            except _RefusedError as error:
                details[str(error)] = None
        raise _RefusedError("".join(details))
    if origin is Literal:
        text = value if isinstance(value, Enum) else _text(value)
        if isinstance(text, str) and text in parts:
            return text
        raise _RefusedError
    if origin is tuple and Ellipsis not in parts:
        if not isinstance(value, tuple | list) or len(value) != len(parts):
            raise _RefusedError
        return tuple(map(_passed, parts, value))
    if hasattr(origin, "__required_keys__"):  # a TypedDict, also of typing_extensions
        return _mapping(value, Any)
    if parts and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(value, parts[1])
    if parts and isinstance(origin, type) and issubclass(origin, Iterable):
        made = _collection(value, parts[0])
        return tuple(made) if origin is tuple else made
    protocol = getattr(origin, "_is_protocol", False)
    if origin is Callable or (protocol and "__call__" in vars(origin)):
        return _instance(value, Callable)
    # What a protocol's object has is seen where it is asked.
    return _instance(value, origin) if isinstance(origin, type) and not protocol else value


def _mapping(value: Any, hint: Any) -> Any:
    """A mapping of texts to values of this type; one to any values stays as it is."""
    if not isinstance(value, Mapping) or any(not isinstance(key, str) for key in value):
        raise _RefusedError
    if hint is not Any:
        return {_text(key): _passed(hint, each) for key, each in value.items()}
    try:
        check_nesting(value)
    except ValueError as error:
        raise _RefusedError(f", but {error}") from None
    return value


def _collection(value: Any, hint: Any) -> Any:
    if isinstance(value, (str, Mapping, *_BYTES)) or not isinstance(value, Iterable):
        raise _RefusedError
    if hint is Any and isinstance(value, Collection):
        return value
    finite = isinstance(value, list | tuple | set | frozenset)
    made = [_passed(hint, each) for each in (value if finite else islice(value, MAX_ITEMS + 1))]
    if not finite and len(made) > MAX_ITEMS:
        raise _RefusedError(f", at most {MAX_ITEMS:,}")
    return made
