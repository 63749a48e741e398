"""Reading on in a payload that the prompt only holds a digest of: page by page, by JSON path, or by pattern.

A place in a payload is written as ``"10-60"`` (lines, from 1, both ends included), ``"c1-2000"`` (characters,
likewise), a JSON path, or a path with one of these behind a space: ``"$.flights 1-40"``. An end may be left out:
``"10-"``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from hybrid_memory.context.offload.json_paths import parse_json, select
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.validation import shown

_PLACE = re.compile(r"(?:(?P<path>.*\S)\s+)?(?:(?P<chars>c)?(?P<first>\d{1,18})-(?P<last>\d{1,18})?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a payload, unchanged.

    Attributes:
        text: the piece itself.
        where: its place.
        first, last: its lines, from 1; 0 where there is nothing.
        total_lines, total_chars: of the whole; after a path, of what the path leads to.
        next: the place of the rest of what was asked for; None if there is no rest.
    """

    text: str
    where: str
    first: int
    last: int
    total_lines: int
    total_chars: int
    next: str | None


def payload_of(message: Message) -> str:
    """The text of the message's content that places point into, without its tool calls.

    A string as it is, or text blocks joined by newlines; other blocks, such as media, are left out.
    """
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block["text"] for block in message.content if isinstance(block.get("text"), str))


def page(text: str, where: str | tuple[int, int] | None = None, *, max_chars: int) -> Page:
    """The piece of the text at this place, cut after at most ``max_chars``, at the end of a line where there is one.

    None asks for the whole text, from its first page on. The pages that follow each other through `Page.next` give
    exactly what was asked for. What a path leads to is written as indented JSON, a string as its bare text.

    Raises:
        InvalidInputError: the place is malformed or beyond the text, or the text is no JSON and the place is a path.
    """
    if max_chars < 1:
        raise InvalidInputError(f"max_chars is {max_chars}: it must be at least 1")
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
    span = (0, len(text)) if place is None else _span(text, place, where)
    return _cut(text, f"{path} " if path else "", span, max_chars)


def count_lines(text: str) -> int:
    """How many lines a text has, where only a newline ends a line."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _at_path(text: str, path: str, where: str) -> str:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InvalidInputError(
            f"the place {shown(where)} is no range like '1-50' or 'c1-2000', and no JSON path either, for this "
            f"payload is no JSON ({error}); it has lines 1-{count_lines(text)} and characters c1-{len(text)}"
        ) from None
    found = select(value, path)
    if isinstance(found, str):
        return found
    try:
        return json.dumps(found, ensure_ascii=False, indent=2)
    except RecursionError:
        raise InvalidInputError(f"the value at {shown(path)} is nested too deeply: ask for a part of it") from None


def _span(text: str, place: re.Match[str], where: str) -> tuple[int, int]:
    """The characters from and to which a range goes."""
    unit, total = ("characters", len(text)) if place["chars"] else ("lines", count_lines(text))
    first, last = int(place["first"]), min(int(place["last"] or total), total)
    if not 1 <= first <= total or last < first:
        raise InvalidInputError(
            f"the place {shown(where)} has no {unit}: ask for a range within {place['chars'] or ''}1-{total}"
        )
    if place["chars"]:
        return first - 1, last
    start = _line_start(text, first)
    return start, len(text) if last == total else _line_start(text, last + 1, first, start)


def _line_start(text: str, line: int, known: int = 1, start: int = 0) -> int:
    """Where a line starts, searched from the known start of an earlier one."""
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
    """The place of this span, by lines if it has only whole ones, and its last line."""
    last = first + text.count("\n", start, max(end - 1, start))
    whole = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1 : end] == "\n")
    return (f"{first}-{last}" if whole and end > start else f"c{start + 1}-{end}"), last
