"""Any id as a label of LangGraph's namespaces, and back."""

from __future__ import annotations

import re

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
