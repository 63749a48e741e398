"""LangGraph's namespaces, made of any ids, and its filters on the values of items."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_memory.errors import InvalidInputError

_AWKWARD = re.compile(r"[%.*\x00]")
"""What LangGraph refuses in labels or gives another meaning, and what we write it with."""

_WRITTEN = re.compile(r"%([0-9A-F]{2})")
_EMPTY = "%empty"
_NUMBER = "%int:"
_RESERVED = "langgraph"


def namespace(*ids: str | int) -> tuple[str, ...]:
    """A namespace of these ids: e-mail addresses, numbers, file names, anything; `namespace_ids` gives them back.

    LangGraph refuses labels with dots, empty ones, numbers, and ``langgraph`` as the first one. Other text stays as it
    is; different ids never make the same label.

    Raises:
        InvalidInputError: an id is neither text nor an integer.
    """
    labels = tuple(map(_label, ids))
    if labels and labels[0] == _RESERVED:
        labels = (f"%{ord(_RESERVED[0]):02X}{_RESERVED[1:]}", *labels[1:])
    return labels


def namespace_ids(labels: tuple[str, ...]) -> tuple[str | int, ...]:
    """The ids that `namespace` made these labels of."""
    return tuple(map(_id, labels))


def matches(labels: tuple[str, ...], path: tuple[str, ...], *, at_end: bool) -> bool:
    """Whether a namespace begins, or ends, with a path, in which ``*`` is any label."""
    part = labels[max(len(labels) - len(path), 0) :] if at_end else labels[: len(path)]
    return len(part) == len(path) and all(one in ("*", other) for one, other in zip(path, part, strict=True))


def _label(one: str | int) -> str:
    if isinstance(one, bool) or not isinstance(one, str | int):
        raise InvalidInputError(f"a namespace is made of text and integers, got {one!r:.80}")
    if isinstance(one, int):
        return f"{_NUMBER}{one}"
    return _AWKWARD.sub(lambda found: f"%{ord(found[0]):02X}", one) or _EMPTY


def _id(label: str) -> str | int:
    if label.startswith(_NUMBER):
        return int(label.removeprefix(_NUMBER))
    return "" if label == _EMPTY else _WRITTEN.sub(lambda found: chr(int(found[1], 16)), label)


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
