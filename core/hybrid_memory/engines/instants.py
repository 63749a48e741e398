"""Times and records in the form that engines store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000
"""A day in microseconds."""


def to_micros(at: datetime) -> int:
    """Whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(at: datetime | None) -> int | None:
    """Whole microseconds since 1970, or None."""
    return None if at is None else to_micros(at)


def instant_or_none(micros: int | None) -> datetime | None:
    """The instant in UTC, or None."""
    return None if micros is None else from_micros(micros)


_INSTANTS = ("at", "last_used", "valid_from", "valid_to")
_PLAIN = tuple(part.name for part in fields(Record) if part.name != "scope")


def plain(record: Record) -> dict[str, Any]:
    """The record's fields except its scope, as JSON types; times in microseconds."""
    values = {name: getattr(record, name) for name in _PLAIN}
    instants = {name: micros_or_none(values[name]) for name in _INSTANTS}
    return {**values, **instants, "kind": record.kind.value, "origin": record.origin.value}


def record_of(scope: Scope, values: Mapping[str, Any]) -> Record:
    """The record with the fields that `plain` returned."""
    instants = {name: instant_or_none(values[name]) for name in _INSTANTS}
    typed = {
        "kind": RecordKind(values["kind"]),
        "sources": tuple(values["sources"]),
        "origin": Origin(values["origin"]),
    }
    return Record(**{**values, **instants, **typed, "scope": scope})


def origin_labels(origins: Collection[Origin]) -> tuple[bool, list[str]]:
    """`Where.origins` as a condition on stored labels, for engines that store no label for ``imported``.

    True with the labels of which a record must have one, or False with those of which it must have none.
    """
    if Origin.IMPORTED in origins:
        return False, [origin.value for origin in Origin if origin not in origins]
    return True, sorted(origins)
