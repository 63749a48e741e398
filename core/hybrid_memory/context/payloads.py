"""Reads a payload of which the prompt only has a digest: page by page, by JSON path, or by pattern.

A place in a payload is ``"10-60"`` (lines, from 1, inclusive), ``"c1-2000"`` (characters, likewise), a JSON path, or a
path followed by one of these: ``"$.flights 1-40"``. The end is optional: ``"10-"``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.validation import shown

_PLACE = re.compile(r"(?:(?P<path>.*\S)\s+)?(?:(?P<chars>c)?(?P<first>\d{1,18})-(?P<last>\d{1,18})?)", re.DOTALL)

_STEP = re.compile(
    r"""\.?(?P<key>[^\W\d][\w-]*)|\.(?P<digits>\d[\w-]*)|(?P<every>\.\*|\[\*\])|\[(?P<index>-?\d{1,9})\]"""
    r"""|\[(?P<start>-?\d{1,9})?:(?P<stop>-?\d{1,9})?\]|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\]"""
)
_PLAIN_KEY = re.compile(r"[^\W\d][\w-]*")

MAX_NAMED_KEYS = 20
"""How many keys an error names."""

LONG_LINE_CHARS = 500
"""Longer lines are shown in pieces, with their characters as a place from which to read on."""

PIECE_CHARS = 240
MAX_MATCHES = 50
"""The most matching lines that a search shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a payload, unchanged.

    Attributes:
        text: the piece.
        where: its place, or the pattern that was searched.
        first, last: its lines, from 1; 0 if it is empty.
        total_lines, total_chars: of the whole; after a path, of the value there.
        next: the place of the rest of what was requested; None if there is none.
        shown_matches, total_matches: of the lines that match the pattern.
    """

    text: str
    where: str
    first: int
    last: int
    total_lines: int
    total_chars: int
    next: str | None
    shown_matches: int = 0
    total_matches: int = 0


def payload_of(message: Message) -> str:
    """The text of the message's content that places refer to, without its tool calls.

    A string as it is, or text blocks joined by newlines; other blocks, such as media, are left out.
    """
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block["text"] for block in message.content if isinstance(block.get("text"), str))


def page(text: str, where: str | tuple[int, int] | None = None, *, max_chars: int) -> Page:
    """The piece of the text at this place, cut to ``max_chars``, at the end of a line if possible.

    None requests the whole text, starting with its first page. The pages chained by `Page.next` add up to exactly what
    was requested. The value at a path is written as indented JSON, a string as its bare text.

    Raises:
        InvalidInputError: the place is malformed or beyond the text, or is a path and the text is not JSON.
    """
    if isinstance(where, tuple) and len(where) == 2:  # noqa: PLR2004 - first and last
        where = f"{where[0]}-{where[1]}"
    if where is None:
        return _cut(text, "", (0, len(text)), max_chars)
    if not isinstance(where, str):
        raise InvalidInputError(f"a place is text such as '1-50', or two line numbers; got {shown(where)}")
    where = where.strip()
    if where.isdecimal():
        where = f"{where}-{where}"
    place = _PLACE.fullmatch(where)
    path = where if place is None else place["path"]
    if path is not None:
        text = _at_path(text, path, where)
    if place is None:
        return _cut(text, f"{path} " if path else "", (0, len(text)), max_chars)
    unit, total = ("characters", len(text)) if place["chars"] else ("lines", count_lines(text))
    first, last = int(place["first"]), min(int(place["last"] or total), total)
    if not 1 <= first <= total or last < first:
        raise InvalidInputError(
            f"the place {shown(where)} has no {unit}: ask for a range within {place['chars'] or ''}1-{total}"
        )
    span = first - 1, last
    if not place["chars"]:
        start = _line_start(text, first)
        span = start, len(text) if last == total else _line_start(text, last + 1, first, start)
    return _cut(text, f"{path} " if path else "", span, max_chars)


def count_lines(text: str) -> int:
    """How many lines a text has, where only a newline ends a line."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _at_path(text: str, path: str, where: str) -> str:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InvalidInputError(
            f"the place {shown(where)} is neither a range such as '1-50' or 'c1-2000' nor a JSON path, since this "
            f"payload is not JSON ({error}); it has lines 1-{count_lines(text)} and characters c1-{len(text)}"
        ) from None
    found = select(value, path)
    if isinstance(found, str):
        return found
    try:
        return json.dumps(found, ensure_ascii=False, indent=2)
    except RecursionError:
        raise InvalidInputError(f"the value at {shown(path)} is nested too deeply: ask for a part of it") from None


def _line_start(text: str, line: int, known: int = 1, start: int = 0) -> int:
    """The start of a line, searched from the known start of an earlier one."""
    for _ in range(line - known):
        start = text.index("\n", start) + 1
    return start


def _cut(text: str, path: str, span: tuple[int, int], max_chars: int) -> Page:
    start, stop = span
    end = min(stop, start + max_chars)
    if end < stop:
        end = text.rfind("\n", start, end) + 1 or end
    first = text.count("\n", 0, start) + 1 if text else 0
    lines = _lines(text, start, end, first)
    rest = _lines(text, end, stop, lines[1] + (text[end - 1 : end] == "\n"))
    return Page(
        text=text[start:end],
        where=path + lines[0],
        first=first,
        last=lines[1],
        total_lines=count_lines(text),
        total_chars=len(text),
        next=None if end >= stop else path + rest[0],
    )


def _lines(text: str, start: int, end: int, first: int) -> tuple[str, int]:
    """The place of this span, in lines if it consists of whole ones, and its last line."""
    last = first + text.count("\n", start, max(end - 1, start))
    whole = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1 : end] == "\n")
    return (f"{first}-{last}" if whole and end > start else f"c{start + 1}-{end}"), last


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
    try:
        values: list[Any] = json.loads(f"[{','.join(lines)}]")  # many times faster than line by line
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if len(values) != len(lines):
        raise ValueError("its lines are not one JSON value each")
    return values


def member(path: str, key: str) -> str:
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
    key = step["key"] or step["digits"]
    if quoted := step["quoted"]:
        key = quoted[1:-1]
        if quoted[0] == '"':
            with suppress(ValueError):
                key = str(json.loads(quoted))
    if key is None:
        start, stop = (None if step[name] is None else int(step[name]) for name in ("start", "stop"))
        return value[start:stop] if isinstance(value, list) else []
    return [value[key]] if isinstance(value, dict) and key in value else []


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


def grep(text: str, pattern: str, *, context: int = 0, max_chars: int) -> Page:
    """The lines that match a regular expression in any case, with this many lines of context, in at most ``max_chars``.

    They are written as ``12: words``, lines around them as ``11- words``, with ``--`` between separate groups; a piece
    of a long line as ``12 c9001-9240: words``, where characters count from the payload's start.

    Uses Rust's ``regex`` crate, which comes with pydantic: it takes linear time, so that no pattern can hang, and has
    no lookaround or backreferences.

    Raises:
        InvalidInputError: the pattern is empty, invalid or too big.
    """
    matches = _matcher(pattern)
    lines = text.split("\n")[: count_lines(text)]
    hits = [number for number, line in enumerate(lines) if matches(line)]
    found = set(hits[:MAX_MATCHES])
    near = sorted({n for hit in found for n in range(max(0, hit - context), min(len(lines), hit + context + 1))})
    written: list[str] = []
    room, shown_hits, offset, at = max_chars, 0, 0, 0
    for number in near:
        offset += sum(map(len, lines[at:number])) + number - at
        gap = bool(written) and number > at + 1
        at = number
        rows = list(_rows(lines[number], number + 1, offset, matches if number in found else None))
        entry = [*(["--"] if gap and context else []), *rows]
        kept = []
        for row in entry:  # as much of the next row as fits
            if room > 0:
                kept.append(row if len(row) <= room else row[: room - 1] + "…")
                room -= len(kept[-1]) + 1
        written += kept
        shown_hits += number in found and len(kept) > len(entry) - len(rows)
        if len(kept) < len(entry) or room <= 0:
            break
    shown_text, first, last = "\n".join(written)[:max_chars], near[0] + 1 if near else 0, at + 1 if near else 0
    return Page(shown_text, pattern, first, last, len(lines), len(text), None, shown_hits, len(hits))


def _matcher(pattern: str) -> Callable[[str], bool]:
    if not pattern:
        raise InvalidInputError("the pattern is empty: give words or a regular expression to look for")
    try:
        pattern.encode()
        schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
        return SchemaValidator(schema).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).rsplit("error: ", maxsplit=1)[-1].rsplit("SchemaError: ", maxsplit=1)[-1].strip()
        raise InvalidInputError(
            f"the pattern {shown(pattern)} is not a valid regular expression ({reason}): put a backslash before "
            "( ) [ ] { } * + ? . | ^ $ to search for the character itself"
        ) from None


def _rows(line: str, number: int, offset: int, matches: Callable[[str], bool] | None) -> Iterator[str]:
    """A line as shown; of a long one the matching pieces, or its start."""
    mark = "-" if matches is None else ":"
    if len(line) <= LONG_LINE_CHARS:
        yield f"{number}{mark} {line}"
        return
    starts, start = list[int](), 0
    while matches is not None and start < len(line):
        # The matching pieces, which overlap by half so that a match is whole in at least one.
        hit = matches(line[start : start + PIECE_CHARS])
        starts += [start] if hit else []
        start += PIECE_CHARS if hit else PIECE_CHARS // 2
    for start in starts or [0]:  # what matches may be longer than a piece
        piece = line[start : start + PIECE_CHARS]
        yield f"{number} c{offset + start + 1}-{offset + start + len(piece)}{mark} {piece}"
