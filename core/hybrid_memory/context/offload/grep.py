"""Searching a payload line by line, in time linear in its length whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic_core import SchemaError, SchemaValidator, core_schema

from hybrid_memory.context.offload.payloads import count_lines
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

LONG_LINE_CHARS = 500
"""A longer line is not shown whole: pieces of it are, with their characters as a place to read on from."""

PIECE_CHARS = 240


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found.

    Attributes:
        text: matching lines as ``12: words``, the lines around them as ``11- words``, ``--`` between groups that are
            apart; a piece of a long line as ``12 c9001-9240: words``, where the characters count from the payload's
            start.
        shown: how many of the matching lines are in the text, whole or in part.
        total: how many lines match.
        total_lines: of the payload.
    """

    text: str
    shown: int
    total: int
    total_lines: int


def grep(
    text: str, pattern: str, *, context: int = 0, max_matches: int = 50, max_chars: int, ignore_case: bool = True
) -> Matches:
    """The lines that match a regular expression, with so many lines of context, in at most ``max_chars``.

    The expression is matched by Rust's ``regex`` crate, which comes with pydantic: linear time, so no pattern can hang;
    no lookaround and no backreferences.

    Raises:
        InvalidInputError: the pattern is empty, no valid expression, or too big; or a number is out of range.
    """
    for name, value, least in (("context", context, 0), ("max_matches", max_matches, 1), ("max_chars", max_chars, 1)):
        if value < least:
            raise InvalidInputError(f"{name} is {value}: it must be at least {least}")
    matches = _matcher(pattern, ignore_case=ignore_case)
    lines = text.split("\n")[: count_lines(text)]
    hits = [number for number, line in enumerate(lines) if matches(line)]
    found = set(hits[:max_matches])
    near = sorted({n for hit in found for n in range(max(0, hit - context), min(len(lines), hit + context + 1))})
    written: list[str] = []
    room, shown_hits, offset, at = max_chars, 0, 0, 0
    for number in near:
        offset += sum(map(len, lines[at:number])) + number - at
        gap = bool(written) and number > at + 1
        at = number
        rows = list(_rows(lines[number], number + 1, offset, matches if number in found else None))
        entry = [*(["--"] if gap and context else []), *rows]
        kept = _fitting(entry, room)
        room -= sum(map(len, kept)) + len(kept)
        written += kept
        shown_hits += number in found and len(kept) > len(entry) - len(rows)
        if len(kept) < len(entry) or room <= 0:
            break
    return Matches("\n".join(written)[:max_chars], shown_hits, len(hits), len(lines))


def _fitting(entry: list[str], room: int) -> list[str]:
    """The first rows that fit; of the next one as much as fits."""
    kept = []
    for row in entry:
        if room <= 0:
            break
        kept.append(row if len(row) <= room else row[: room - 1] + "…")
        room -= len(row) + 1
    return kept


def _matcher(pattern: str, *, ignore_case: bool) -> Callable[[str], bool]:
    if not pattern:
        raise InvalidInputError("the pattern is empty: give words or a regular expression to look for")
    expression = f"(?i){pattern}" if ignore_case else pattern
    try:
        pattern.encode()
        return SchemaValidator(core_schema.str_schema(pattern=expression, regex_engine="rust-regex")).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).rsplit("error: ", maxsplit=1)[-1].rsplit("SchemaError: ", maxsplit=1)[-1].strip()
        raise InvalidInputError(
            f"the pattern {shown(pattern)} is no valid regular expression ({reason}): put a backslash before "
            "( ) [ ] { } * + ? . | ^ $ to search for the character itself"
        ) from None


def _rows(line: str, number: int, offset: int, matches: Callable[[str], bool] | None) -> Iterator[str]:
    """A line as shown; of a long one the pieces that match, or its start."""
    mark = "-" if matches is None else ":"
    if len(line) <= LONG_LINE_CHARS:
        yield f"{number}{mark} {line}"
        return
    starts = list(_piece_starts(line, matches)) if matches else []
    for start in starts or [0]:  # what matches may be longer than a piece
        piece = line[start : start + PIECE_CHARS]
        yield f"{number} c{offset + start + 1}-{offset + start + len(piece)}{mark} {piece}"


def _piece_starts(line: str, matches: Callable[[str], bool]) -> Iterator[int]:
    """Where the matching pieces start, which overlap by half so that none cuts every match in two."""
    start = 0
    while start < len(line):
        hit = matches(line[start : start + PIECE_CHARS])
        if hit:
            yield start
        start += PIECE_CHARS if hit else PIECE_CHARS // 2
