"""JSON payloads: an overview of a value, and paths into it, a small subset of JSONPath.

Paths such as ``$.flights[0].price``, ``flights[*].id``, ``items[10:20]``, ``["a key"]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hybrid_memory.context.offload.outlines import Row, cut
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

MAX_KEYS = 24
MAX_VISITED = 5000
MAX_ERRORS = 5
MAX_IDS = 40
MAX_NAME_CHARS = 40

_ID = re.compile(r"(?i)id|.*[_-]id|uuid|sku|number|.*_number|key|code|编号|.*ID|.*号")
_NAME = re.compile(r"(?i)name|title|path|url|file|名称|姓名|标题")
_ERROR_KEY = re.compile(r"(?i).*(?:error|exception|traceback|failure|failed|stderr)s?|错误.*|异常.*")
_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "list",
}

MAX_NAMED_KEYS = 20

_STEP = re.compile(
    r"""\.?(?P<key>[^\W\d][\w-]*)|\.(?P<digits>\d[\w-]*)|(?P<every>\.\*|\[\*\])|\[(?P<index>-?\d{1,9})\]"""
    r"""|\[(?P<start>-?\d{1,9})?:(?P<stop>-?\d{1,9})?\]|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\]"""
)

_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")


def json_rows(value: Any) -> tuple[list[Row], str]:
    """The rows of the overview, and a path from which to read on."""
    rows = [Row(f"$: {_title(value)}")]
    place = "$"
    if isinstance(value, dict):
        for number, (key, item) in enumerate(value.items()):
            if number == MAX_KEYS:
                rows.append(Row(f"… {len(value) - MAX_KEYS:,} more keys", 1))
                break
            rows.append(Row(f"{child('', key).removeprefix('.')}: {cut(_brief(item), 400)}", 1))
    rows += [Row(row, 0) for row in _errors(value)]
    for path, items in _collections("$", value, 3):
        first = f"{path.replace('[*]', '[0]')}[0]"
        place = first if place == "$" else place
        rows += [Row(row, 2) for row in _identifiers(path, items)]
        rows.append(Row(cut(f"{first}: {_sample(items[0])}", 400), 3))
    return rows, place


def _title(value: Any) -> str:
    if isinstance(value, dict):
        return f"object with {len(value):,} keys"
    return _shape(value, 4)


def _brief(value: Any) -> str:
    """A scalar as it is, an object or a list by its shape; scalars in a small object are shown."""
    if (
        isinstance(value, dict)
        and len(value) <= MAX_KEYS
        and not any(isinstance(v, dict | list) for v in value.values())
    ):
        return _sample(value)
    return _shape(value, 4) if isinstance(value, dict | list) and value else _sample(value)


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict) and value and depth:
        if len(value) > 1 and _are_alike(list(value.values())[:MAX_KEYS]):
            return f"{{{', '.join(list(value)[:MAX_KEYS])}: each {_shape(next(iter(value.values())), depth - 1)}}}"
        shown = [f"{key}: {_shape(item, depth - 1)}" for key, item in list(value.items())[:MAX_KEYS]]
        more = [f"… {len(value) - MAX_KEYS:,} more"] if len(value) > MAX_KEYS else []
        return "{" + ", ".join([*shown, *more]) + "}"
    if _is_names(value):
        return _names(value)
    if isinstance(value, list) and value:
        kinds = dict.fromkeys(_TYPES[type(item)] for item in value[:50])
        inner = _shape(value[0], depth - 1) if len(kinds) == 1 and depth else " | ".join(kinds)
        return f"[{len(value):,} × {inner}]"
    if isinstance(value, dict | list) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    return _TYPES[type(value)]


def _is_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(item, str) and len(item) <= MAX_NAME_CHARS for item in value[:MAX_IDS])
    )


def _names(value: list[str]) -> str:
    more = [f"… {len(value) - MAX_IDS:,} more"] if len(value) > MAX_IDS else []
    return f"[{', '.join([*(json.dumps(item, ensure_ascii=False) for item in value[:MAX_IDS]), *more])}]"


def _are_alike(values: list[Any]) -> bool:
    """Whether these are objects with similar keys, so that the object around them is a map by name."""
    first = values[0]
    return isinstance(first, dict) and all(isinstance(one, dict) and one.keys() & first.keys() for one in values)


def _sample(value: Any, depth: int = 3) -> str:
    """The value as JSON, limited in depth and width."""
    if isinstance(value, str):
        text = json.dumps(value[:80], ensure_ascii=False)
        return text if len(value) <= 80 else f'{text[:-1]}…" ({len(value):,} characters)'  # noqa: PLR2004
    if isinstance(value, dict):
        if not depth:
            return "{…}" if value else "{}"
        shown = [f"{json.dumps(k, ensure_ascii=False)}: {_sample(v, depth - 1)}" for k, v in list(value.items())[:12]]
        return "{" + ", ".join([*shown, *(["…"] if len(value) > len(shown) else [])]) + "}"
    if isinstance(value, list):
        shown = [_sample(item, depth - 1) for item in value[:2]] if depth else []
        return (
            "["
            + ", ".join([*shown, *([f"… {len(value) - len(shown):,} more"] if len(value) > len(shown) else [])])
            + "]"
        )
    return json.dumps(value)


def _collections(path: str, value: Any, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """The lists of objects in the value, except those inside the items of another."""
    if isinstance(value, list) and value:
        if isinstance(value[0], dict):
            yield path, value
        elif isinstance(value[0], list) and depth:
            yield from _collections(
                f"{path}[*]", [item for one in value if isinstance(one, list) for item in one], depth - 1
            )
    elif isinstance(value, dict) and depth:
        for key, item in list(value.items())[:MAX_KEYS]:
            yield from _collections(child(path, key), item, depth - 1)


def _identifiers(path: str, items: list[Any]) -> Iterator[str]:
    """The values that distinguish items."""
    keys = [key for key, item in items[0].items() if isinstance(item, str | int) and not isinstance(item, bool)]
    for key in [*filter(_ID.fullmatch, keys), *filter(_NAME.fullmatch, keys)][:2]:
        named = [str(item[key])[:60] for item in items[:MAX_IDS] if isinstance(item, dict) and key in item]
        more = f", … {len(items) - MAX_IDS:,} more items" if len(items) > MAX_IDS else ""
        yield f"{child(f'{path}[*]', key)}: {', '.join(dict.fromkeys(named))}{more}"


def _errors(value: Any) -> list[str]:
    """Path and value of everything named as an error, breadth first."""
    found: list[str] = []
    queue, visited = [("$", value)], 0
    while queue and visited < MAX_VISITED and len(found) < MAX_ERRORS:
        later = []
        for path, item in queue:
            pairs = (
                ((child(path, key), key, part) for key, part in item.items())
                if isinstance(item, dict)
                else ((f"{path}[{number}]", "", part) for number, part in enumerate(item))
            )
            for inner, key, part in pairs:
                visited += 1
                if part and part is not True and key and _ERROR_KEY.fullmatch(key):
                    found.append(f"{inner}: {cut(_sample(part))}")
                elif isinstance(part, dict | list):
                    later.append((inner, part))
                if visited >= MAX_VISITED:
                    break
        queue = later
    return found[:MAX_ERRORS]


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
    """The value at a path; a list of all matches if it has a slice or a star.

    After a slice or star, items without the key or index are skipped.

    Raises:
        InvalidInputError: the path is malformed, or leads nowhere; the message says where, and what is there.
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
    """What is there instead, for an error message."""
    if not values:
        return "nothing was selected before it"
    value = values[0]
    if isinstance(value, dict):
        more = f" and {len(value) - MAX_NAMED_KEYS:,} more" if len(value) > MAX_NAMED_KEYS else ""
        return f"it is an object with the keys {', '.join(map(shown, list(value)[:MAX_NAMED_KEYS]))}{more}"
    if isinstance(value, list):
        return f"it is a list of {len(value):,} items, counted from 0"
    return f"it is {shown(value)}, which has no parts"
