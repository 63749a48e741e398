"""The short, typed digest that replaces a large payload in the prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hybrid_memory.context.offload.json_values import json_rows, parse_json
from hybrid_memory.context.offload.outlines import Outline, outline
from hybrid_memory.context.offload.payloads import count_lines
from hybrid_memory.runtime.tracing import Given, Span, traced_step
from hybrid_memory.text.tokens import TokenCounter

PAGE_LINES = 50
PAGE_CHARS = 4000
MIN_CUT_CHARS = 20


def _digests(span: Span, given: Given) -> None:
    span.attributes |= {"handle": given["result_id"], "chars": len(given["text"]), "max_tokens": given["max_tokens"]}


@traced_step("digest", _digests)
def digest(text: str, *, result_id: str, max_tokens: int, count: TokenCounter, reader: str = "fetch") -> str:
    """The digest of a payload: kind, size, main contents, and how to read more.

    The first line has kind, size and ``result_id``, the last one a call of the reader. The rows between them fill
    ``max_tokens`` as counted by ``count``; if not even the first line fits, it comes alone.
    """
    found = _json_outline(text) or outline(text)
    lines = count_lines(text)
    size = f"{len(text):,} character{'s' * (len(text) != 1)}, {lines:,} line{'s' * (lines != 1)}"
    head = f"[{found.kind}, {size}; result_id={result_id}]"
    place = found.place or (f"1-{min(PAGE_LINES, lines)}" if lines > 1 else f"c1-{min(PAGE_CHARS, len(text))}")
    quoted = ", ".join(json.dumps(part, ensure_ascii=False) for part in (result_id, place))
    foot = f"read on: {reader}({quoted})"
    if not text or count(f"{head}\n{foot}") > max_tokens:
        return head
    return _filled(found, head, foot, max_tokens, count)


def _filled(found: Outline, head: str, foot: str, max_tokens: int, count: TokenCounter) -> str:
    """Head and foot with as many rows of the outline between them as fit, the most important first."""
    rows = [row.text for row in found.rows]
    order = sorted(range(len(rows)), key=lambda at: found.rows[at].rank)

    def written(kept: Sequence[int]) -> str:
        return "\n".join([head, *(rows[at] for at in sorted(kept)), foot])

    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(written(order[:middle])) <= max_tokens else (low, middle - 1)
    best = written(order[:low])
    if low == len(order):
        return best
    whole = rows[order[low]]
    length = len(whole) // 2
    while length >= MIN_CUT_CHARS:
        rows[order[low]] = f"{whole[:length]}…"
        if count(cut := written(order[: low + 1])) <= max_tokens:
            return cut
        length //= 2
    return best


def _json_outline(text: str) -> Outline | None:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    rows, place = json_rows(value)
    several = isinstance(value, list) and text.lstrip()[0] == "{"
    return Outline("json lines" if several else "json", rows, place)
