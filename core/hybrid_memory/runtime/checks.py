"""Checks on the numbers and durations of callers."""

from __future__ import annotations

from datetime import timedelta

from hybrid_memory.errors import InvalidInputError


def whole(label: str, value: object, least: int, most: int | None = None) -> int:
    """The value, if it is a whole number from ``least`` to ``most``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most):
        return value
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise InvalidInputError(f"{label} must be a whole number {limits}, got {value!r}")


def seconds(label: str, duration: object) -> float:
    """The length of a duration that is above 0."""
    if isinstance(duration, timedelta) and duration > timedelta(0):
        return duration.total_seconds()
    raise InvalidInputError(f"{label} must be a timedelta above 0, got {duration!r}")
