"""The digest that replaces a large payload in the prompt: of JSON keys and ids, of others failures and both ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hybrid_memory.context.payloads import count_lines, member, parse_json
from hybrid_memory.runtime.tracing import traced_step
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.tokens import TokenCounter

PAGE_LINES = 50
PAGE_CHARS = 4000
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
SAMPLE_RANK = 3
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
                *(_Row(f"{number}: {match[1]}{_cut(match[2], 100)}", 1 + bool(match[1])) for number, match in found),
            ]
        kind = "source code" if definitions else "log" if failures else "text"
        rows = [*(definitions or failures), *_ends(text)]
    else:
        kind, rows = "json lines" if isinstance(value, list) and text.lstrip()[0] == "{" else "json", _json_rows(value)
        place = next((row.text.partition(":")[0] for row in rows if row.rank == SAMPLE_RANK), "$")
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

    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(written(order[:middle])) <= max_tokens else (low, middle - 1)
    best = written(order[:low])
    if low == len(order):
        return best
    whole = texts[order[low]]
    length = len(whole) // 2
    while length >= MIN_CUT_CHARS:
        texts[order[low]] = f"{whole[:length]}…"
        if count(cut := written(order[: low + 1])) <= max_tokens:
            return cut
        length //= 2
    return best


def _ends(text: str) -> list[_Row]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line[:300].strip()]
    last = lines[END_LINES:][-END_LINES:]
    # In turn from both ends, where not all fit.
    return [
        *(_Row(f"{number}: {_cut(line)}", 1 + row) for row, (number, line) in enumerate(lines[:END_LINES])),
        *(_Row(f"{number}: {_cut(line)}", len(last) - row) for row, (number, line) in enumerate(last)),
    ]


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
        yield _Row(f"{first[key][0]}: {_cut(first[key][1])}{often}")


def _json_rows(value: Any) -> list[_Row]:
    """The keys of a value with their scalars or shapes, its errors, and the ids and first item of its lists."""
    if not isinstance(value, dict):
        rows = [_Row(f"$: {_shape(value)}")]
    else:
        rows = [_Row(f"$: object with {len(value):,} keys")]
        rows += [_Row(f"{key}: {_cut(_shape(item), 400)}", 1) for key, item in list(value.items())[:MAX_KEYS]]
        if len(value) > MAX_KEYS:
            rows.append(_Row(f"… {len(value) - MAX_KEYS:,} more keys", 1))
    rows += [_Row(f"{path}: {_cut(_sample(part))}") for path, part in islice(_errors(value), MAX_ERRORS)]
    for path, items in _lists("$", value, 3):
        for key in [key for key in items[0] if _ID.fullmatch(key)][:2]:
            named = dict.fromkeys(
                _sample(item[key]) for item in items[:MAX_IDS] if isinstance(item, dict) and key in item
            )
            more = f", … {len(items) - MAX_IDS:,} more items" if len(items) > MAX_IDS else ""
            rows.append(_Row(f"{member(f'{path}[*]', key)}: {', '.join(named)}{more}", 2))
        rows.append(_Row(_cut(f"{path.replace('[*]', '[0]')}[0]: {_sample(items[0])}", 400), SAMPLE_RANK))
    return rows


def _errors(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts with a key that speaks of an error, with their paths, of the first values."""
    pending = [("$", value)]
    for path, part in islice(pending, MAX_VISITED):
        for key, item in list(part.items() if isinstance(part, dict) else enumerate(part))[:MAX_VISITED]:
            inner = member(path, key) if isinstance(key, str) else f"{path}[{key}]"
            if item and item is not True and isinstance(key, str) and _ERROR_KEY.fullmatch(key):
                yield inner, item
            elif isinstance(item, dict | list):
                pending.append((inner, item))


def _lists(path: str, value: Any, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """The lists of objects in the value, except those inside the items of another; lists of lists are taken as one."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield path, value
    elif isinstance(value, list) and value and isinstance(value[0], list) and depth:
        yield from _lists(f"{path}[*]", [item for one in value if isinstance(one, list) for item in one], depth - 1)
    elif isinstance(value, dict) and depth:
        for key, item in list(value.items())[:MAX_KEYS]:
            yield from _lists(member(path, key), item, depth - 1)


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


def _cut(text: str, width: int = ROW_CHARS) -> str:
    text = " ".join(text[: 4 * width].split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
