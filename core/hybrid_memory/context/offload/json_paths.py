"""JSON paths, a small part of JSONPath: ``$.flights[0].price``, ``flights[*].id``, ``items[10:20]``, ``["a key"]``."""

from __future__ import annotations

import json
import re
from typing import Any

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

MAX_NAMED_KEYS = 20

_STEP = re.compile(
    r"""\.?(?P<key>[^\W\d][\w-]*)|\.(?P<digits>\d[\w-]*)|(?P<every>\.\*|\[\*\])|\[(?P<index>-?\d{1,9})\]"""
    r"""|\[(?P<start>-?\d{1,9})?:(?P<stop>-?\d{1,9})?\]|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\]"""
)
_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")


def parse_json(text: str) -> Any:
    """The value of a JSON text, or the list of values of JSON lines.

    Raises:
        ValueError: it is neither.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or any(line.lstrip()[0] not in "{[" for line in lines):  # noqa: PLR2004
            raise
        return _parse_lines(lines)


def _parse_lines(lines: list[str]) -> list[Any]:
    try:
        values: list[Any] = json.loads(f"[{','.join(lines)}]")  # many times faster than line by line
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if len(values) != len(lines):
        raise ValueError("its lines are not one JSON value each")
    return values


def child(path: str, key: str) -> str:
    """The path of an object's member."""
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def select(value: Any, path: str) -> Any:
    """What the path leads to; a list of everything if it has a slice or a star.

    Beyond a slice or star, items that lack a key or index are passed over.

    Raises:
        InvalidInputError: the path is malformed, or leads nowhere; tells where, and what there is.
    """
    found, many = [value], False
    position = 1 if path.startswith("$") else 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise InvalidInputError(
                f"the path {shown(path)} cannot be read at character {position + 1}, {shown(path[position:])}: write "
                'steps like .key, [0], [-1], [10:20], [*] or ["a key"]'
            )
        several = step["every"] is not None or (":" in step[0] and step["quoted"] is None)
        reached = [item for one in found for item in _follow(one, step)]
        if not reached and not several:
            here = path[:position] or "$"
            raise InvalidInputError(f"{shown(here)} has no {step[0]}, at character {position + 1}: {_there(found)}")
        found, many, position = reached, many or several, step.end()
    return found if many else found[0]


def _follow(value: Any, step: re.Match[str]) -> list[Any]:
    if step["every"] is not None:
        return list(value.values()) if isinstance(value, dict) else (value if isinstance(value, list) else [])
    if step["index"] is not None:
        index = int(step["index"])
        return [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
    key = step["key"] or step["digits"] or _unquoted(step["quoted"])
    if key is None:
        start, stop = (None if step[name] is None else int(step[name]) for name in ("start", "stop"))
        return value[start:stop] if isinstance(value, list) else []
    return [value[key]] if isinstance(value, dict) and key in value else []


def _unquoted(quoted: str | None) -> str | None:
    if quoted is None or quoted[0] == "'":
        return quoted and quoted[1:-1]
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


def _there(values: list[Any]) -> str:
    """What there is instead, for an error message."""
    if not values:
        return "nothing was selected before it"
    value = values[0]
    if isinstance(value, dict):
        more = f" and {len(value) - MAX_NAMED_KEYS:,} more" if len(value) > MAX_NAMED_KEYS else ""
        return f"it is an object with the keys {', '.join(map(shown, list(value)[:MAX_NAMED_KEYS]))}{more}"
    if isinstance(value, list):
        return f"it is a list of {len(value):,} items, counted from 0"
    return f"it is {shown(value)}, which has no parts"
