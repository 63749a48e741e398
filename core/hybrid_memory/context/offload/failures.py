"""Failures reported in logs and tool outputs, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid_memory.text.patterns import lazy

MAX_LINE_CHARS = 200
MAX_LOOKED_AT = 600
MAX_FRAME_LINES = 200

# Literal words are found at memory speed; only the lines that hold one are looked at closely.
_MARKERS = """rror RROR xception FAIL ailed ailure atal FATAL CRITICAL SEVERE anic PANIC Interrupt imeout imed nable
    annot could found denied fault refused dumped reference such xit returncode status Traceback
    错误 失败 异常 报错 出错 超时 拒绝 崩溃""".split()
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
    r"(?i)^(?:\d+[:|\t])?\s*(?:from|import|except|raise|class|def|catch|throw|\*\*)\b|^\*\*|\b(?:0|no|zero|without)\s+(?:errors?|failures?|failed|exceptions?)\b"
    r"|\b(?:errors?|failed|failures?)\s*[=:]\s*0\b"
    r"|(?:没有|没|未发现|未见|无|零|0\s*个)(?:任何)?(?:错误|失败|异常|报错)|status code:? 2\d\d\b|^[=_*-]{3,}\D*$"
)
_VARYING = lazy(r"0x[0-9a-fA-F]+|\d+")
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class Failure:
    """A line that reports a failure: the first of ``count`` lines that differ only in numbers."""

    line: int
    text: str
    count: int


def failures(text: str) -> tuple[list[Failure], bool]:
    """The lines that report errors, in order, each once, and whether these are all; of a traceback the last line.

    If there are many candidates, only the first and the last are examined.
    """
    places = _places(text)
    starts = sorted(places)
    complete = len(starts) < MAX_LOOKED_AT
    if not complete:
        starts = [*starts[: MAX_LOOKED_AT // 2], *starts[-(MAX_LOOKED_AT // 2) :]]
    first: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    line, at = 1, 0
    for start in starts:
        said = _said(text, start, places[start])
        if said is None:
            continue
        line, at = line + text.count("\n", at, start), start
        key = _VARYING.sub("0", said)
        first.setdefault(key, (line, said))
        counts[key] = counts.get(key, 0) + 1
    return [Failure(number, said, counts[key]) for key, (number, said) in first.items()], complete


def _places(text: str) -> dict[int, int | None]:
    """Starts of lines that may report an error, with the place of the indicating word; None after a traceback."""
    places: dict[int, int | None] = {}
    for marker in _MARKERS:
        at = text.find(marker)
        for _ in range(MAX_LOOKED_AT // 2):
            if at == -1:
                break
            places.setdefault(text.rfind("\n", 0, at) + 1, at)
            end = text.find("\n", at)
            if marker == "Traceback" and text.startswith(_TRACEBACK, at):
                places |= dict.fromkeys(_after_frames(text, end))
            at = text.find(marker, end) if end != -1 else -1
        else:
            at = len(text)
            for _ in range(MAX_LOOKED_AT // 2):
                at = text.rfind(marker, 0, at)
                start = text.rfind("\n", 0, max(at, 0)) + 1
                if at == -1:
                    break
                places.setdefault(start, at)
                at = start
    return places


def _said(text: str, start: int, at: int | None) -> str | None:
    """The line, of a long one the part around the indicating word; None if it reports no error."""
    end = text.find("\n", start, start + 100_000)
    end = start + 100_000 if end == -1 else end
    if at is None:
        return text[start:end][:MAX_LINE_CHARS].strip() or None
    said = text[max(start, at - MAX_LINE_CHARS // 2) : max(end, at)][:MAX_LINE_CHARS].strip()
    return said if _TROUBLE.search(said) and not _FINE.search(said) else None


def _after_frames(text: str, end: int) -> list[int]:
    """The start of the line after a traceback's indented frames; none if they do not end soon."""
    for _ in range(MAX_FRAME_LINES):
        if end == -1 or end + 1 >= len(text):
            break
        if text[end + 1] not in " \t\n":
            return [end + 1]
        end = text.find("\n", end + 1)
    return []
