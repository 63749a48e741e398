"""Check the arguments of public methods against the types in the signature before anything is done.

Whole numbers have 64 bits and are not booleans. Datetimes and durations are moved away from the ends of the calendar,
so that they can be converted and added. Afterwards texts, numbers and collections have Python's own types, even if they
were subclasses. Pydantic's strict mode would refuse NumPy's numbers and mappings that are no dict, and would read an
endless iterator.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import wraps
from inspect import Parameter, iscoroutinefunction, signature
from itertools import islice
from operator import index
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from hybrid_memory.errors import InvalidInputError, InvalidScopeError
from hybrid_memory.validation import LONGEST_SPAN, MAX_COUNT, bounded, check_nesting, shown

P = ParamSpec("P")
T = TypeVar("T")

MAX_ITEMS = 100_000
"""The most elements read from an iterator, which may be endless."""

_OF_SCOPES = ("tenant", "user", "agent", "session")

Check: TypeAlias = Callable[[Any], Any]
"""The value as passed on; raises `_RefusedError`."""


class _RefusedError(Exception):
    """The value is not of the type; the text is what the name of the type does not say."""


class Arguments:
    """A checker for the arguments of a function, by its signature, which is read at the first check.

    Args:
        function: a function with annotations; unknown names, protocols and type variables are not checked.
        own: how many leading parameters do not come from the caller.
        error: the error to raise; by default `InvalidInputError`.
    """

    def __init__(
        self, function: Callable[..., Any], *, own: int = 1, error: type[InvalidInputError] = InvalidInputError
    ) -> None:
        self._function = function
        self._own = own
        self._error = error
        self._hints: dict[str, Any] | None = None
        self._checks: dict[str, Check] = {}
        self._positional: list[str] = []

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as passed on; too many, too few and unknown ones are left to the call itself."""
        if self._hints is None:
            self._hints = self._read()
        given = [*map(self._checked, self._positional, args), *args[len(self._positional) :]]
        return given, {
            name: self._checked(name, value) if name in self._checks else value for name, value in kwargs.items()
        }

    def _checked(self, name: str, value: Any) -> Any:
        assert self._hints is not None  # noqa: S101 - read before
        try:
            result = self._checks[name](value)
        except _RefusedError as error:
            kind = InvalidScopeError if name in _OF_SCOPES else self._error
            raise kind(f"{name} must be {_described(self._hints[name])}{error}, got {shown(value)}") from None
        except Exception as error:
            raise self._error(f"{name} cannot be read: {type(error).__name__}") from error
        return value if name == "at" and isinstance(value, datetime) else result  # stored: not moved as a limit is

    def _read(self) -> dict[str, Any]:
        hints = {}
        for parameter in list(signature(self._function).parameters.values())[self._own :]:
            if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
                hints[parameter.name] = hint = _type_of(parameter, self._function)
                self._checks[parameter.name] = _check_of(hint)
                if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
                    self._positional.append(parameter.name)
        return hints


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator that checks the arguments of a function, or of a method, recognised by ``self`` or ``cls``."""
    own = int(next(iter(signature(function).parameters), "") in ("self", "cls"))
    arguments = Arguments(function, own=own)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        given, named = arguments(args[own:], kwargs)
        return function(*args[:own], *given, **named)  # type: ignore[arg-type]

    return call if not iscoroutinefunction(function) else _awaited(call)


def _awaited(call: Callable[P, Any]) -> Callable[P, Any]:
    """A wrapper that is itself a coroutine function, since frameworks check for that."""

    @wraps(call)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> Any:
        return await call(*args, **kwargs)

    return twin


def check_fields(record: object) -> None:
    """Check the fields of a frozen dataclass, in its ``__post_init__``; raises `InvalidInputError`."""
    kind = type(record)
    arguments = _of_records.get(kind) or _of_records.setdefault(kind, Arguments(kind.__init__))
    _, named = arguments((), {name: getattr(record, name) for name in kind.__dataclass_fields__})  # type: ignore[attr-defined]
    for name, value in named.items():
        object.__setattr__(record, name, value)


_of_records: dict[type, Arguments] = {}


def _type_of(parameter: Parameter, function: Callable[..., Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"value": parameter.annotation})
    try:
        return get_type_hints(holder, globalns=getattr(function, "__globals__", {}))["value"]
    except NameError:  # imported for type checkers only
        return Any


def _check_of(hint: Any) -> Check:  # noqa: PLR0911 - one for each kind
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin in (Union, types.UnionType):
        return _first_of([_check_of(part) for part in parts])
    if origin is Literal:
        return _one_of(parts)
    if origin is tuple and Ellipsis not in parts:
        return _tuple_of([_check_of(part) for part in parts])
    if hasattr(origin, "__required_keys__"):  # a TypedDict, also of typing_extensions
        return _mapping
    if parts and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping if parts[1] is Any else _mapping_of(_check_of(parts[1]))
    if parts and isinstance(origin, type) and issubclass(origin, Iterable):
        check = _collection_of(_check_of(parts[0]))
        return (lambda value: tuple(check(value))) if origin is tuple else check
    if origin is Callable or (getattr(origin, "_is_protocol", False) and "__call__" in vars(origin)):
        return _callable
    if isinstance(origin, type) and not getattr(origin, "_is_protocol", False):
        return _instance_of(origin)
    return _anything  # what a protocol's object has is seen where it is asked


def _anything(value: Any) -> Any:
    return value


def _callable(value: Any) -> Any:
    if not callable(value):
        raise _RefusedError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _RefusedError
    return value if type(value) is str else str.__str__(value)


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


def _mapping(value: Any) -> Any:
    if not isinstance(value, Mapping) or any(not isinstance(key, str) for key in value):
        raise _RefusedError
    try:
        check_nesting(value)
    except ValueError as error:
        raise _RefusedError(f", but {error}") from None
    return value


def _instance_of(kind: type | tuple[type, ...], convert: Check = _anything) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _RefusedError
        return convert(value)

    return check


_PLAIN: dict[Any, Check] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _instance_of(bool),
    type(None): _instance_of(type(None)),
    datetime: _instance_of(datetime, bounded),
    timedelta: _instance_of(timedelta, lambda value: max(-LONGEST_SPAN, min(value, LONGEST_SPAN))),
    bytes: _instance_of((bytes, bytearray, memoryview), bytes),
    Any: _anything,
}


def _one_of(allowed: tuple[Any, ...]) -> Check:
    def check(value: Any) -> Any:
        value = _text(value) if isinstance(value, str) and not isinstance(value, Enum) else value
        if isinstance(value, str) and value in allowed:
            return value
        raise _RefusedError

    return check


def _first_of(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> Any:
        details: dict[str, None] = {}
        for each in checks:
            try:
                return each(value)
            except _RefusedError as error:
                details[str(error)] = None
        raise _RefusedError("".join(details))

    return check


def _mapping_of(check: Check) -> Check:
    def checked_mapping(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _RefusedError
        return {_text(key): check(each) for key, each in value.items()}

    return checked_mapping


def _collection_of(check: Check) -> Check:
    def checked_collection(value: Any) -> Any:
        if isinstance(value, str | bytes | bytearray | memoryview | Mapping) or not isinstance(value, Iterable):
            raise _RefusedError
        if check is _anything and isinstance(value, Collection):
            return value
        finite = isinstance(value, list | tuple | set | frozenset)
        made = [check(each) for each in (value if finite else islice(value, MAX_ITEMS + 1))]
        if not finite and len(made) > MAX_ITEMS:
            raise _RefusedError(f", at most {MAX_ITEMS:,}")
        return made

    return checked_collection


def _tuple_of(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list) or len(value) != len(checks):
            raise _RefusedError
        return tuple(each(part) for each, part in zip(checks, value, strict=True))

    return check


_NAMES = {
    str: "text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None",
    datetime: "a datetime", timedelta: "a timedelta", bytes: "bytes", Any: "anything",
}  # fmt: skip
_PLURALS = {str: "texts", int: "whole numbers"}


def _described(hint: Any) -> str:  # noqa: PLR0911 - one for each kind
    """The name of a type in error messages."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _NAMES:
        return _NAMES[hint]
    if origin is Callable:
        return "callable"
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_described(part) for part in parts if part is not type(None)))
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}" if len(parts) > 1 else repr(parts[0])
    if origin is tuple and Ellipsis not in parts:
        return f"a tuple of {len(parts)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "values by name" if parts[1] is Any else f"values by name, each {_described(parts[1])}"
    if parts:
        kind = "list" if origin in (Sequence, list) else "collection"
        kinds = get_args(parts[0]) if get_origin(parts[0]) in (Union, types.UnionType) else parts[:1]
        return f"a {kind} of {' or '.join(_PLURALS.get(each) or _described(each) for each in kinds)}"
    return getattr(hint, "_described", None) or f"{getattr(hint, '__name__', hint)}(...)"
