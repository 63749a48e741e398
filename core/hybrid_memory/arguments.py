"""Check the arguments of public methods against the types in the signature before anything is done.

Whole numbers have 64 bits and are not booleans; larger ones are clamped, except among values by name. Datetimes and
durations must be far enough from the ends of the calendar to convert and add them. Afterwards texts, numbers and
collections have Python's own types, even if they were subclasses.
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
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

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
    """The description of what a value must be."""


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
        self._checks: dict[str, Check] | None = None
        self._names: list[str] = []

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as passed on; too many, too few and unknown ones are left to the call itself."""
        checks = self._read() if self._checks is None else self._checks
        if args:
            # Those beyond the last parameter, which the call refuses, are not even looked at.
            args = (*map(self._checked, self._names, args), *args[len(self._names) :])
        return list(args), {
            name: self._checked(name, value) if name in checks else value for name, value in kwargs.items()
        }

    def _checked(self, name: str, value: Any) -> Any:
        assert self._checks is not None  # noqa: S101 - read before
        try:
            result = self._checks[name](value)
            return value if name == "at" and isinstance(value, datetime) else result  # stored: not moved as a limit is
        except _RefusedError as error:
            kind = InvalidScopeError if name in _OF_SCOPES else self._error
            raise kind(f"{name} must be {error}, got {shown(value)}") from None
        except Exception as error:
            raise self._error(f"{name} cannot be read: {type(error).__name__}") from error

    def _read(self) -> dict[str, Check]:
        parameters = list(signature(self._function).parameters.values())
        checks = {}
        for parameter in parameters[self._own :]:
            if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
                checks[parameter.name] = _check_of(_type_of(parameter, self._function))
                if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
                    self._names.append(parameter.name)
        self._checks = checks
        return checks


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


def _check_of(hint: Any, *, among: bool = False) -> Check:
    """The check of a type; ``among`` is for values by name, where numbers are not clamped."""
    if hint is int and among:
        return _exact_integer
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hasattr(get_origin(hint) or hint, "__required_keys__"):  # a TypedDict, also of typing_extensions
        return _json_mapping
    if get_origin(hint) is not None:
        return _check_of_parts(hint, among=among)
    return _of_class(hint)


def _of_class(hint: Any) -> Check:
    if not isinstance(hint, type):
        return _anything
    if not getattr(hint, "_is_protocol", False):
        return _instance(hint)
    return _callable if "__call__" in vars(hint) else _anything  # what others have is seen where it is asked


def _check_of_parts(hint: Any, *, among: bool) -> Check:  # noqa: PLR0911 - one for each kind
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Callable:
        return _callable
    if origin in (Union, types.UnionType):
        return _union([(_described(part), _check_of(part, among=among)) for part in parts])
    if origin is Literal:
        return _one_of(parts)
    if origin is tuple and Ellipsis not in parts:
        return _tuple(parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _json_mapping if parts[1] is Any else _mapping(_check_of(parts[1], among=True))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        check = _collection(_described(hint), _check_of(parts[0], among=among))
        return (lambda value: tuple(check(value))) if origin is tuple else check
    if origin is type:
        return _instance(type)
    return _of_class(origin)


def _anything(value: Any) -> Any:
    return value


def _callable(value: Any) -> Any:
    if not callable(value):
        raise _RefusedError("callable")
    return value


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if not isinstance(value, str):
        raise _RefusedError("text")
    return str.__str__(value)


def _integer(value: Any) -> int:
    number: int = value if type(value) is int else _whole(value)
    if number < -MAX_COUNT:
        raise _RefusedError("a whole number of 64 bits")
    return min(number, MAX_COUNT)


def _exact_integer(value: Any) -> int:
    number = _whole(value)
    if abs(number) > MAX_COUNT:
        raise _RefusedError("a whole number of 64 bits")
    return number


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise _RefusedError("a whole number")
    return int.__int__(value) if isinstance(value, int) else index(value)


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__float__"):
        raise _RefusedError("a number")
    return _exact_integer(value) if isinstance(value, int) else float(value)


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return value
    raise _RefusedError("True or False")


def _none(value: Any) -> None:
    if value is not None:
        raise _RefusedError("None")


def _instant(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise _RefusedError("a datetime")
    return bounded(value)


def _duration(value: Any) -> timedelta:
    if not isinstance(value, timedelta):
        raise _RefusedError("a timedelta")
    return max(-LONGEST_SPAN, min(value, LONGEST_SPAN))


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _RefusedError("bytes")


_PLAIN: dict[Any, Check] = {
    str: _text, int: _integer, float: _number, bool: _truth, type(None): _none, datetime: _instant,
    timedelta: _duration, bytes: _bytes, Any: _anything,
}  # fmt: skip


def _instance(kind: type) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _RefusedError(_described(kind))
        return value

    return check


def _one_of(allowed: tuple[Any, ...]) -> Check:
    wanted = _choice(allowed)

    def check(value: Any) -> Any:
        value = _text(value) if isinstance(value, str) and not isinstance(value, Enum) else value
        if isinstance(value, str) and value in allowed:
            return value
        raise _RefusedError(wanted)

    return check


def _union(parts: Sequence[tuple[str, Check]]) -> Check:
    wanted = " or ".join(dict.fromkeys(described for described, _ in parts))
    optional = any(check is _none for _, check in parts)
    checks = [check for _, check in parts if check is not _none]

    def check(value: Any) -> Any:
        if value is None and optional:
            return None
        for one in checks:
            try:
                return one(value)
            except _RefusedError as error:
                refused = error
        raise refused if len(checks) == 1 else _RefusedError(wanted)

    return check


def _mapping(check: Check) -> Check:
    def checked_mapping(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _RefusedError("values by name")
        made = {}
        for key, one in value.items():
            try:
                made[_text(key)] = check(one)
            except _RefusedError as error:
                raise _RefusedError(f"values by name, with {error} for {shown(key)}, not {shown(one)}") from None
        return made

    return checked_mapping


def _json_mapping(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _RefusedError("values by name")
    if any(not isinstance(key, str) for key in value):
        raise _RefusedError("values by name")
    try:
        check_nesting(value)
    except ValueError as error:
        raise _RefusedError(f"JSON values by name, but {error}") from None
    return value


def _collection(wanted: str, check: Check) -> Check:
    def checked_collection(value: Any) -> Any:
        if isinstance(value, str | bytes | bytearray | memoryview | Mapping) or not isinstance(value, Iterable):
            raise _RefusedError(wanted)
        if check is _anything and isinstance(value, Collection):
            return value
        made = []
        known = isinstance(value, list | tuple | set | frozenset)
        for one in value if known else islice(value, MAX_ITEMS + 1):
            try:
                made.append(check(one))
            except _RefusedError:
                raise _RefusedError(f"{wanted}, not of {shown(one)}") from None
        if not known and len(made) > MAX_ITEMS:
            raise _RefusedError(f"{wanted}, at most {MAX_ITEMS:,}")
        return made

    return checked_collection


def _tuple(parts: tuple[Any, ...]) -> Check:
    checks = [_check_of(part) for part in parts]

    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list) or len(value) != len(checks):
            raise _RefusedError(f"a tuple of {len(checks)}")
        return tuple(one(part) for one, part in zip(checks, value, strict=True))

    return check


_KINDS = {Sequence: "list", list: "list"}
_NAMES = {
    str: "text", int: "a whole number", float: "a number", bool: "True or False", type(None): "None",
    datetime: "a datetime", timedelta: "a timedelta", bytes: "bytes", Any: "anything",
}  # fmt: skip


def _described(hint: Any) -> str:  # noqa: PLR0911 - one for each kind
    """The name of a type in error messages."""
    if get_origin(hint) is Callable:
        return "callable"
    parts = get_args(hint)
    if hint in _NAMES:
        return _NAMES[hint]
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_described, parts))
    if get_origin(hint) is Literal:
        return _choice(parts)
    if isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping):
        return "values by name"
    if parts:
        return f"a {_KINDS.get(get_origin(hint), 'collection')} of {_several(parts[0])}"
    return getattr(hint, "_described", None) or f"{getattr(hint, '__name__', hint)}(...)"


def _several(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_several, get_args(hint)))
    return "texts" if hint is str else "whole numbers" if hint is int else _described(hint)


def _choice(allowed: Sequence[Any]) -> str:
    return f"one of {', '.join(map(str, allowed))}" if len(allowed) > 1 else repr(allowed[0])
