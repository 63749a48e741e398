"""LangGraph's filters on the values of items."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_memory.errors import InvalidInputError

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = {"$eq", "$ne", *_ORDERS}


def check_filter(wanted: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` where a filter has an operator that is none."""
    for value in wanted.values():
        if isinstance(value, Mapping):
            if unknown := [name for name in value if name.startswith("$") and name not in _OPERATORS]:
                raise InvalidInputError(f"no operator {unknown[0]!r}: use {', '.join(sorted(_OPERATORS))}")
            check_filter({name: part for name, part in value.items() if not name.startswith("$")})


def holds(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an item's value has every field that is wanted; a field that is missing counts as None."""
    return all(_fits(value.get(name), part) for name, part in wanted.items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, limit) for name, limit in wanted.items())
        return isinstance(value, Mapping) and holds(value, wanted)
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, name: str, limit: Any) -> bool:
    """Numbers, and texts that are numbers, by size, other texts by letter; what has no order does not compare."""
    if name not in _ORDERS:
        return bool((value == limit) is (name == "$eq"))
    try:
        return _ORDERS[name](float(value), float(limit))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(limit, str) and _ORDERS[name](value, limit)
    except OverflowError:  # an integer beyond what a float can hold
        return isinstance(value, int | float) and isinstance(limit, int | float) and _ORDERS[name](value, limit)
