"""Validation of arguments, reported with the library's own errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from operator import index
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.urls import shown_url, without_passwords

MAX_SHOWN_CHARS = 80
MAX_SHOWN_PROBLEMS = 5

MAX_COUNT = 2**63 - 1  # the largest signed 64-bit integer, with which engines count; more than any store holds
MAX_DEPTH = 200  # how deep JSON values may be nested: JSON libraries go no deeper than 255
MAX_VALUES = 1_000_000  # the most values inside a JSON value; values that occur several times count each time

EARLIEST, LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
"""The range of instants that leaves space for time zones and date arithmetic."""
LONGEST_SPAN = timedelta(days=365_000)


class CheckedModel(BaseModel):
    """A frozen pydantic model that raises `invalid_error` instead of pydantic's own error."""

    model_config = ConfigDict(frozen=True)

    invalid_error: ClassVar[type[InvalidInputError]] = InvalidInputError

    if not TYPE_CHECKING:  # type checkers keep the field names; callers get our error

        def __init__(self, /, **data: Any) -> None:
            for name, value in data.items():
                if hasattr(type(value), "__next__"):  # pydantic would read it to its end, and it may have none
                    raise self.invalid_error(f"{name}: give a list, not an iterator (got {shown(value)})")
            try:
                super().__init__(**data)
            except ValidationError as error:
                problems: dict[str, None] = {}  # in order, each once: the branches of a union often say the same
                for problem in error.errors(include_url=False):
                    where = _short(".".join(map(str, problem["loc"]))) or error.title
                    what = problem["msg"].removeprefix("Value error, ")
                    problems[f"{where}: {what} (got {shown(problem['input'])})"] = None
                more = len(problems) - MAX_SHOWN_PROBLEMS
                parts = [*list(problems)[:MAX_SHOWN_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
                raise self.invalid_error("; ".join(parts)) from error

        # As in pydantic's own __init__: a model inside another is then checked without this one, which would hide
        # from the outer model where in it the problem is.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def of(cls, fields: Mapping[Any, Any]) -> Self:
        """The model with these fields; raises `invalid_error` also for keys that are not strings."""
        for name in fields:
            if not isinstance(name, str):
                raise cls.invalid_error(f"the name of a field must be text, got {shown(name)}")
        return cls(**fields)


class Settings(CheckedModel):
    """A model of settings. Unknown names, like wrong values, raise `InvalidConfigError`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)  # a setting may be a URL with a password

    invalid_error: ClassVar = InvalidConfigError

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, shown_url(value) if isinstance(value, str) else value


_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|seconds?|min|minutes?|h|hours?|d|days?)")
_UNITS = ("milliseconds", "seconds", "minutes", "hours", "days")


def _length(value: Any) -> Any:
    """A text such as ``30 days`` as a timedelta; anything else unchanged."""
    found = _LENGTH.fullmatch(str.strip(value)) if isinstance(value, str) else None
    if found is None:
        return value
    number, unit = found.groups()
    unit = "milliseconds" if unit == "ms" else next(known for known in _UNITS if known.startswith(unit))
    try:
        return timedelta(**{unit: float(number)})
    except OverflowError:
        return value


Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_length)]
"""A timedelta; also given as seconds, as text such as ``30 days`` or ``50 ms``, or as ISO 8601."""


def storable(value: Any) -> Any:
    """The value if it is JSON in valid UTF-8, which every store and model keeps unchanged; otherwise ValueError."""
    try:
        if isinstance(value, str):
            text = value
        else:
            check_nesting(value)
            text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"lone surrogate at character {error.start}: not valid text in any encoding") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"only JSON values can be stored: {error}") from None
    return value


def check_nesting(value: Any) -> None:
    """Raise ValueError if a JSON value is nested too deeply, or contains itself."""
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, dict | list | tuple | Mapping)
        ]
        count += len(level)
        if not level:
            return
        if count > MAX_VALUES:
            raise ValueError(f"it has more than {MAX_VALUES:,} values")
    raise ValueError(f"it is nested deeper than {MAX_DEPTH}")


def shown(value: Any) -> str:
    """The value in the form that error messages show, cut if it is long."""
    try:
        kept = without_passwords(value)
        return _short(repr(kept[:MAX_SHOWN_CHARS] if type(kept) is str else kept))
    except Exception:  # noqa: BLE001 - Python writes no integer of more than 4300 digits; others refuse for their own reasons
        return f"a {type(value).__name__}"


def bounded(value: datetime) -> datetime:
    """The instant, moved away from the ends of the calendar so that any time zone fits; a naive one unchanged."""
    if value.utcoffset() is None:
        return value
    try:
        instant = value.astimezone(UTC)
    except OverflowError:
        return EARLIEST if value.year < LATEST.year else LATEST
    return EARLIEST if instant < EARLIEST else LATEST if instant > LATEST else value


def instant(value: Any) -> datetime | None:
    """The time of a datetime or an ISO 8601 text, in UTC if it has no time zone; None if it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


_MILLISECONDS = 1e11  # larger numbers are milliseconds since 1970: as seconds they would be after the year 5000

_TIMES = ("at", "timestamp", "created_at", "createdAt", "create_time", "date", "time")
"""What programs call the time of a message."""


def moment(value: Any) -> datetime | None:
    """The time in ISO 8601 text, or in seconds or milliseconds since 1970; None if it is neither, or out of range."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        try:
            value = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    at = instant(value)
    return at if at is not None and EARLIEST <= at <= LATEST else None


def stated_time(fields: Mapping[str, Any]) -> datetime | None:
    """The time of a message or conversation of another program, whatever the field is called."""
    day, hour = fields.get("date"), fields.get("time")
    whole = f"{day}T{hour}" if isinstance(day, str) and isinstance(hour, str) else None
    return next((at for value in (*map(fields.get, _TIMES[:-2]), whole, day, hour) if (at := moment(value))), None)


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}..."


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Raise `InvalidInputError` unless both have a time zone and are in order."""
    for name, value in (("since", since), ("until", until)):
        if value is not None and value.utcoffset() is None:
            raise InvalidInputError(f"{name} needs a time zone, got {value!r}: use datetime(..., tzinfo=UTC)")
    if since is not None and until is not None and since > until:
        raise InvalidInputError(f"since ({since}) is after until ({until})")


def whole(label: str, value: Any, least: int, most: int | None = None) -> int:
    """The value; raises `InvalidInputError` unless it is a whole number from ``least`` to ``most``."""
    number = index(value) if hasattr(type(value), "__index__") and not isinstance(value, bool) else None
    if number is not None and number >= least and (most is None or number <= most):
        return number
    limits = f"of {least} or more" if most is None else f"from {least} to {most}"
    raise InvalidInputError(f"{label} must be a whole number {limits}, got {shown(value)}")


def positive_seconds(label: str, duration: object) -> float:
    """The seconds of a timedelta; raises `InvalidInputError` unless it is positive."""
    if isinstance(duration, timedelta) and duration > timedelta(0):
        return duration.total_seconds()
    raise InvalidInputError(f"{label} must be a timedelta above 0, got {shown(duration)}")


def checked_text(name: str, text: Any) -> str:
    """The text; raises `InvalidInputError` if it is not a text that can be stored."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be text, got {shown(text)}")
    try:
        storable(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} cannot be stored: {error}") from None
    return text
