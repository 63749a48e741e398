"""What is kept of a large payload in the prompt, its digest, and how the rest is read: by page or pattern.

A place in a payload is ``"10-60"`` (lines, from 1, inclusive) or ``"c1-2000"`` (characters, likewise). The end is
optional: ``"10-"``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema, from_json

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.runtime.tracing import traced_step
from hybrid_memory.text import lazy
from hybrid_memory.text.tokens import TokenCounter
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


def parse_json(text: str) -> Any:
    """The value of a JSON text, or the list of values of JSON lines; raises ValueError if it is neither."""
    try:
        return from_json(text)
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or any(line.lstrip()[0] not in "{[" for line in lines):  # noqa: PLR2004
            raise
    values: list[Any] = from_json(f"[{','.join(lines)}]")  # many times faster than line by line
    if len(values) != len(lines):
        raise ValueError("its lines are not one JSON value each")
    return values


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


PAGE_LINES, PAGE_CHARS = 50, 4000
MIN_CUT_CHARS = 20
ROW_CHARS = 160
END_LINES = 6
"""The lines shown of either end of a text."""

MAX_LOOKED_AT = 5000
"""The lines at either end of a text that are searched for failures."""

MAX_FAILURES = 12
MAX_KEYS = 24
MAX_ERRORS = 5
MAX_VISITED = 5000
MAX_IDS = 40
MAX_NAME_CHARS = 40

_ID = re.compile(r"(?i)id|.*[_-]id|uuid|sku|number|.*_number|key|code|name|title|path|url|.*ID|.*号|名称|姓名|标题")
_ERROR_KEY = re.compile(r"(?i).*(?:error|exception|traceback|failure|failed|stderr)s?|错误.*|异常.*")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_DEFINITION = lazy(
    r"(?:[ ]*\d+[:|\t][ ]?)?([ \t]*)((?:(?:export|default|public|private|protected|static|final|abstract|async|pub)[ ]"
    r")*(?:def|class|function|func|fn|interface|struct|enum|trait|impl)[ ]\w+.*[({:<].*)"
)

# One word of the first pattern is needed, which is found faster.
_MARKER = lazy(
    r"(?i)error|exception|fail|fatal|critical|severe|panic|interrupt|timed? ?out|unable|cannot|could not|denied|fault"
    r"|refused|dumped|reference|such|exit|returncode|status|not found|错误|失败|异常|报错|出错|超时|拒绝|崩溃"
)
_TROUBLE = lazy(
    r"""
    (?: ^ | [\s>|\]"'(] ) [\w.]* (?: Error | Exception | Interrupt | Timeout ) (?: \s*: | \s*$ )
    | ^ .{0,60}? \b (?: ERROR | FATAL | CRITICAL | SEVERE | PANIC | FAILED | FAIL ) \b
    | (?i: \b (?: error | fatal | panic | failure | exception ) (?: \[ \w+ \] )? \s* : )
    | ^ (?: \S+: \s* ){0,3} (?i: cannot | unable\ to | failed\ to | could\ not )\ (?!\S+:)
    | (?i: : .* (?: no\ such\ file | permission\ denied | command\ not\ found | connection\ refused ) )
    | (?i: segmentation\ fault | core\ dumped | undefined\ reference | \b timed\ out \b )
    | (?i: \b [1-9]\d* \ (?: failed | failures? | errors? ) \b )
    | (?i: \b (?: exit (?:ed)? (?:\ with)? (?:\ (?: code | status) )? | returncode | status\ code )
        [\s:=>]* -? [1-9]\d* \b )
    | (?: 错误 | 失败 | 异常 | 报错 | 出错 | 超时 | 拒绝 | 崩溃 ) \s* (?: [:：!！\]】(（,，] | 。?\s*$ )
    | [\[【] \s* (?: 错误 | 失败 | 异常 )
    """,
    re.VERBOSE,
)
_FINE = lazy(
    # Neither counts of nothing and banners, nor source code and emphasis that only speak of errors.
    r"(?i)^(?:\d+[:|\t])?\s*(?:from|import|except|raise|class|def|catch|throw|\*\*)\b|^\*\*"
    r"|\b(?:0|no|zero|without)\s+(?:errors?|failures?|failed|exceptions?)\b|\b(?:errors?|failed|failures?)\s*[=:]\s*0\b"
    r"|(?:没有|没|未发现|未见|无|零|0\s*个)(?:任何)?(?:错误|失败|异常|报错)|status code:? 2\d\d\b|^[=_*-]{3,}\D*$"
)
_VARYING = lazy(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a digest; if not all rows fit, those of the lowest rank are kept, earlier ones first."""

    text: str
    rank: int = 0


@traced_step(
    "digest",
    lambda span, given: span.attributes.update(
        handle=given["result_id"], chars=len(given["text"]), max_tokens=given["max_tokens"]
    ),
)
def digest(text: str, *, result_id: str, max_tokens: int, count: TokenCounter, reader: str = "fetch") -> str:
    """The digest of a payload: kind, size, main contents, and how to read more.

    The first line has kind, size and ``result_id``, the last one a call of the reader. The rows between them fill
    ``max_tokens`` as counted by ``count``; if not even the first line fits, it comes alone.
    """
    lines = count_lines(text)
    place = f"1-{min(PAGE_LINES, lines)}" if lines > 1 else f"c1-{min(PAGE_CHARS, len(text))}"
    try:
        value = parse_json(text) if text.lstrip()[:1] in ("{", "[") else None
    except ValueError:
        value = None
    if value is None:
        failures, definitions = list(_failures(text)), list[_Row]()
        # Several lines that define something: the text is source code, and not a log.
        lines_of = enumerate(islice(text.split("\n"), 2 * MAX_LOOKED_AT), 1)
        found = [(number, match) for number, line in lines_of if (match := _DEFINITION.match(line[:200]))]
        if len(found) > 1:
            definitions = [
                _Row(f"{len(found):,} definitions:"),
                *(_Row(f"{number}: {match[1]}{_head(match[2], 100)}", 1 + bool(match[1])) for number, match in found),
            ]
        kind = "source code" if definitions else "log" if failures else "text"
        filled = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line[:300].strip()]
        first, last = filled[:END_LINES], filled[END_LINES:][-END_LINES:]
        rows = [  # in turn from both ends, where not all fit
            *(definitions or failures),
            *(_Row(f"{number}: {_head(line)}", 1 + row) for row, (number, line) in enumerate(first)),
            *(_Row(f"{number}: {_head(line)}", len(last) - row) for row, (number, line) in enumerate(last)),
        ]
    else:
        kind, rows = "json lines" if isinstance(value, list) and text.lstrip()[0] == "{" else "json", _json_rows(value)
    size = f"{len(text):,} character{'s' * (len(text) != 1)}, {lines:,} line{'s' * (lines != 1)}"
    head = f"[{kind}, {size}; result_id={result_id}]"
    quoted = ", ".join(json.dumps(part, ensure_ascii=False) for part in (result_id, place))
    foot = f"read on: {reader}({quoted})"
    if not text or count(f"{head}\n{foot}") > max_tokens:
        return head
    return _filled(rows, head, foot, max_tokens, count)


def _filled(rows: Sequence[_Row], head: str, foot: str, max_tokens: int, count: TokenCounter) -> str:
    """Head and foot with as many rows between them as fit, the most important first."""
    texts = [row.text for row in rows]
    order = sorted(range(len(rows)), key=lambda at: rows[at].rank)

    def written(kept: Sequence[int]) -> str:
        return "\n".join([head, *(texts[at] for at in sorted(kept)), foot])

    most = bisect_right(range(1, len(order) + 1), max_tokens, key=lambda rows: count(written(order[:rows])))
    best = written(order[:most])
    if most == len(order):
        return best
    whole = texts[order[most]]
    length = len(whole) // 2
    while length >= MIN_CUT_CHARS:
        texts[order[most]] = f"{whole[:length]}…"
        if count(cut := written(order[: most + 1])) <= max_tokens:
            return cut
        length //= 2
    return best


def _failures(text: str) -> Iterator[_Row]:
    """The lines that report errors, each once of those that differ only in numbers; of a traceback the last line."""
    lines = list(enumerate(text.split("\n"), 1))
    if len(lines) > 2 * MAX_LOOKED_AT:
        lines = [*lines[:MAX_LOOKED_AT], *lines[-MAX_LOOKED_AT:]]
    first: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    in_traceback = False
    for number, line in lines:
        raised = in_traceback and line[:1] not in ("", " ", "\t")
        in_traceback = line.startswith("Traceback (most recent call last)") or (in_traceback and not raised)
        marker = _MARKER.search(line, 0, 20_000)
        if not marker and not raised:
            continue
        start = max(0, marker.start() - ROW_CHARS // 2) if marker and len(line) > ROW_CHARS else 0
        said = line[start : start + ROW_CHARS].strip()
        if raised or (_TROUBLE.search(said) and not _FINE.search(said)):
            key = _VARYING.sub("0", said)
            first.setdefault(key, (number, said))
            counts[key] = counts.get(key, 0) + 1
    keys = list(first)
    more = len(keys) - MAX_FAILURES
    if keys:
        number = sum(counts.values())
        kinds = f", {more:,} more kinds" if more > 0 else ""
        yield _Row(f"errors ({number:,} line{'s' * (number > 1)}{kinds}):")
    for key in keys if more <= 0 else [*keys[: MAX_FAILURES // 2], *keys[-MAX_FAILURES // 2 :]]:
        often = f" (×{counts[key]:,})" if counts[key] > 1 else ""
        yield _Row(f"{first[key][0]}: {_head(first[key][1])}{often}")


def _json_rows(value: Any) -> list[_Row]:
    """The keys of a value with their scalars or shapes, its errors, and the ids and first item of its lists."""
    if not isinstance(value, dict):
        rows = [_Row(f"$: {_shape(value)}")]
    else:
        rows = [_Row(f"$: object with {len(value):,} keys")]
        rows += [_Row(f"{key}: {_head(_shape(item), 400)}", 1) for key, item in list(value.items())[:MAX_KEYS]]
        if len(value) > MAX_KEYS:
            rows.append(_Row(f"… {len(value) - MAX_KEYS:,} more keys", 1))
    pending, errors = [("$", value)], list[tuple[str, Any]]()
    for path, part in islice(pending, MAX_VISITED):  # the first values
        for key, item in list(part.items() if isinstance(part, dict) else enumerate(part))[:MAX_VISITED]:
            inner = f"{path}.{key}" if isinstance(key, str) else f"{path}[{key}]"
            if item and item is not True and isinstance(key, str) and _ERROR_KEY.fullmatch(key):
                errors.append((inner, item))
            elif isinstance(item, dict | list):
                pending.append((inner, item))
    rows += [_Row(f"{path}: {_head(_sample(part))}") for path, part in errors[:MAX_ERRORS]]
    for path, items in _lists("$", value, 3):
        for key in [key for key in items[0] if _ID.fullmatch(key)][:2]:
            named = dict.fromkeys(
                _sample(item[key]) for item in items[:MAX_IDS] if isinstance(item, dict) and key in item
            )
            more = f", … {len(items) - MAX_IDS:,} more items" if len(items) > MAX_IDS else ""
            rows.append(_Row(f"{path}[*].{key}: {', '.join(named)}{more}", 2))
        rows.append(_Row(_head(f"{path.replace('[*]', '[0]')}[0]: {_sample(items[0])}", 400), 3))
    return rows


def _lists(path: str, value: Any, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """The lists of objects in the value, except those inside the items of another; lists of lists are taken as one."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield path, value
    elif isinstance(value, list) and value and isinstance(value[0], list) and depth:
        yield from _lists(f"{path}[*]", [item for one in value if isinstance(one, list) for item in one], depth - 1)
    elif isinstance(value, dict) and depth:
        for key, item in list(value.items())[:MAX_KEYS]:
            yield from _lists(f"{path}.{key}", item, depth - 1)


def _shape(value: Any, depth: int = 4) -> str:
    """A scalar as it is, an object by its keys, and a list by its length and first item."""
    if isinstance(value, dict) and value and depth:
        if not any(isinstance(item, dict | list) for item in value.values()) and depth == 4:  # noqa: PLR2004 - the top
            return _sample(value)
        shown = [f"{key}: {_shape(item, depth - 1)}" for key, item in list(value.items())[:MAX_KEYS]]
        return "{" + ", ".join([*shown, *(["…"] if len(value) > MAX_KEYS else [])]) + "}"
    if isinstance(value, list) and value and depth:
        if all(isinstance(item, str) and len(item) <= MAX_NAME_CHARS for item in value[:MAX_IDS]):
            more = [f"… {len(value) - MAX_IDS:,} more"] if len(value) > MAX_IDS else []
            return f"[{', '.join([*map(_sample, value[:MAX_IDS]), *more])}]"
        return f"[{len(value):,} × {_shape(value[0], depth - 1)}]"
    return _TYPES.get(type(value), "{…}" if value else "[]") if depth < 4 else _sample(value)  # noqa: PLR2004


def _sample(value: Any, depth: int = 3) -> str:
    """The value as JSON, limited in depth and width."""
    if isinstance(value, str):
        text = json.dumps(value[:80], ensure_ascii=False)
        return text if len(value) <= 80 else f'{text[:-1]}…" ({len(value):,} characters)'  # noqa: PLR2004
    if isinstance(value, dict):
        shown = [f"{json.dumps(k, ensure_ascii=False)}: {_sample(v, depth - 1)}" for k, v in list(value.items())[:12]]
        return "{" + ", ".join([*shown, *(["…"] if len(value) > len(shown) else [])] if depth else ["…"]) + "}"
    if isinstance(value, list):
        shown = [_sample(item, depth - 1) for item in value[:2]] if depth else []
        more = [f"… {len(value) - len(shown):,} more"] if len(value) > len(shown) else []
        return f"[{', '.join([*shown, *more])}]"
    return json.dumps(value)


def _head(text: str, width: int = ROW_CHARS) -> str:
    text = " ".join(text[: 4 * width].split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
