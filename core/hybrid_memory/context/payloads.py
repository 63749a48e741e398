"""How a large payload is read: by page or pattern.

A place in a payload is ``"10-60"`` (lines, from 1, inclusive) or ``"c1-2000"`` (characters, likewise). The end is
optional: ``"10-"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic_core import SchemaError, SchemaValidator, core_schema

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.validation import shown

_PLACE = re.compile(r"(?P<chars>c)?(?P<first>\d{1,18})-(?P<last>\d{1,18})?")
LONG_LINE_CHARS = 500
"""Longer lines are shown in pieces, with their characters as a place from which to read on."""

PIECE_CHARS, MAX_MATCHES = 240, 50
"""The length of a piece, and the most matching lines that a search shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a payload, unchanged.

    Attributes:
        text: the piece.
        where: its place, or the pattern that was searched.
        first, last: its lines, from 1; 0 if it is empty.
        total_lines, total_chars: of the whole.
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


def page(text: str, where: str | None = None, *, max_chars: int) -> Page:
    """The piece of the text at this place, cut to ``max_chars``, at the end of a line if possible.

    None requests the whole text, starting with its first page. The pages chained by `Page.next` add up to exactly what
    was requested.

    Raises:
        InvalidInputError: the place is malformed or beyond the text.
    """
    if where is None:
        return _cut(text, (0, len(text)), max_chars)
    where = where.strip()
    if where.isdecimal():
        where = f"{where}-{where}"
    place = _PLACE.fullmatch(where)
    if place is None:
        raise InvalidInputError(
            f"the place {shown(where)} is no range such as '1-50' or 'c1-2000'; this payload has lines "
            f"1-{count_lines(text)} and characters c1-{len(text)}"
        )
    unit, total = ("characters", len(text)) if place["chars"] else ("lines", count_lines(text))
    first, last = int(place["first"]), min(int(place["last"] or total), total)
    if not 1 <= first <= total or last < first:
        raise InvalidInputError(
            f"the place {shown(where)} has no {unit}: ask for a range within {place['chars'] or ''}1-{total}"
        )
    if place["chars"]:
        return _cut(text, (first - 1, last), max_chars)
    ends = [0, *(newline.end() for newline in re.finditer("\n", text))]
    return _cut(text, (ends[first - 1], len(text) if last == total else ends[last]), max_chars)


def count_lines(text: str) -> int:
    """How many lines a text has, where only a newline ends a line."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _cut(text: str, span: tuple[int, int], max_chars: int) -> Page:
    start, stop = span
    end = min(stop, start + max_chars)
    if end < stop:
        end = text.rfind("\n", start, end) + 1 or end
    first = text.count("\n", 0, start) + 1 if text else 0
    lines = _lines(text, start, end, first)
    rest = _lines(text, end, stop, lines[1] + (text[end - 1 : end] == "\n"))
    return Page(
        text=text[start:end],
        where=lines[0],
        first=first,
        last=lines[1],
        total_lines=count_lines(text),
        total_chars=len(text),
        next=None if end >= stop else rest[0],
    )


def _lines(text: str, start: int, end: int, first: int) -> tuple[str, int]:
    """The place of this span, in lines if it consists of whole ones, and its last line."""
    last = first + text.count("\n", start, max(end - 1, start))
    whole = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1 : end] == "\n")
    return (f"{first}-{last}" if whole and end > start else f"c{start + 1}-{end}"), last


def grep(text: str, pattern: str, *, max_chars: int) -> Page:
    """The lines that match a regular expression in any case, in at most ``max_chars``.

    They are written as ``12: words``; a piece of a long line as ``12 c9001-9240: words``, where characters count from
    the payload's start.

    Uses Rust's ``regex`` crate, which comes with pydantic: it takes linear time, so that no pattern can hang, and has
    no lookaround or backreferences.

    Raises:
        InvalidInputError: the pattern is empty, invalid or too big.
    """
    if not pattern:
        raise InvalidInputError("the pattern is empty: give words or a regular expression to look for")
    try:
        pattern.encode()
        schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
        matches = SchemaValidator(schema).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).rsplit("error: ", maxsplit=1)[-1].rsplit("SchemaError: ", maxsplit=1)[-1].strip()
        raise InvalidInputError(
            f"the pattern {shown(pattern)} is not a valid regular expression ({reason}): put a backslash before "
            "( ) [ ] { } * + ? . | ^ $ to search for the character itself"
        ) from None
    lines = text.split("\n")[: count_lines(text)]
    hits = [number for number, line in enumerate(lines) if matches(line)]
    written: list[str] = []
    room, shown_hits, offset, at = max_chars, 0, 0, 0
    for number in hits[:MAX_MATCHES]:
        if room <= 0:
            break
        offset += sum(map(len, lines[at:number])) + number - at
        at = number
        shown_hits += 1
        for row in _rows(lines[number], number + 1, offset, matches):
            if room > 0:  # as much of the next row as fits
                written.append(row if len(row) <= room else row[: room - 1] + "…")
                room -= len(written[-1]) + 1
    shown_text, first, last = "\n".join(written), hits[0] + 1 if hits else 0, at + 1 if hits else 0
    return Page(shown_text, pattern, first, last, len(lines), len(text), None, shown_hits, len(hits))


def _rows(line: str, number: int, offset: int, matches: Callable[[str], bool]) -> Iterator[str]:
    """A line as shown; of a long one the matching pieces."""
    if len(line) <= LONG_LINE_CHARS:
        yield f"{number}: {line}"
        return
    starts, start = list[int](), 0
    while start < len(line):
        # The matching pieces, which overlap by half so that a match is whole in at least one.
        hit = matches(line[start : start + PIECE_CHARS])
        starts += [start] if hit else []
        start += PIECE_CHARS if hit else PIECE_CHARS // 2
    for start in starts or [0]:  # what matches may be longer than a piece
        piece = line[start : start + PIECE_CHARS]
        yield f"{number} c{offset + start + 1}-{offset + start + len(piece)}: {piece}"
