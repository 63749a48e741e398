"""Checks on the numbers and durations of callers."""

from __future__ import annotations

from hybrid_memory.errors import InvalidInputError


def whole(label: str, value: object, least: int, most: int | None = None) -> int:
    """The value, if it is a whole number from ``least`` to ``most``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least and (most is None or value <= most):
        return value
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise InvalidInputError(f"{label} must be a whole number {limits}, got {value!r}")
