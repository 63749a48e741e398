"""What a JSON value says at a glance: its shape, small values, identifiers, a sample, and errors in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hybrid_memory.context.offload.json_paths import child
from hybrid_memory.context.offload.rows import Row, cut

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


def json_rows(value: Any) -> tuple[list[Row], str]:
    """The rows, and a path to read on at."""
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
    """A plain value as it is, an object or a list by its shape, but plain values in a small object as they are."""
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
    """Whether these are objects of about the same keys, so that the object around them is a map by name."""
    first = values[0]
    return isinstance(first, dict) and all(isinstance(one, dict) and one.keys() & first.keys() for one in values)


def _sample(value: Any, depth: int = 3) -> str:
    """The value as JSON, cut in depth and width."""
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
    """The lists of objects in the value, not those inside another's items."""
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
    """The values that items are told apart by."""
    keys = [key for key, item in items[0].items() if isinstance(item, str | int) and not isinstance(item, bool)]
    for key in [*filter(_ID.fullmatch, keys), *filter(_NAME.fullmatch, keys)][:2]:
        named = [str(item[key])[:60] for item in items[:MAX_IDS] if isinstance(item, dict) and key in item]
        more = f", … {len(items) - MAX_IDS:,} more items" if len(items) > MAX_IDS else ""
        yield f"{child(f'{path}[*]', key)}: {', '.join(dict.fromkeys(named))}{more}"


def _errors(value: Any) -> list[str]:
    """Path and value of what is named an error, breadth first."""
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
