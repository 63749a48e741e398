"""Instants as engines store them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(at: datetime | None) -> int | None:
    """The same of what may be left out."""
    return None if at is None else to_micros(at)


def instant_or_none(micros: int | None) -> datetime | None:
    """The instant, of what may be left out."""
    return None if micros is None else from_micros(micros)
