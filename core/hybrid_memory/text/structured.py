"""JSON objects in the output of a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, NamedTuple

MAX_SPANS = 64  # how many candidates in a text are tried, so that a megabyte of braces costs no more than reading it
MAX_REPAIR_CHARACTERS = 20_000
MAX_REPAIR_DEPTH = 32
"""Repair takes quadratic time in the worst case: a second for 4,000 characters, hours for a megabyte."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_START = re.compile(r"""\{(?=\s*(?:["'“}]|\w+\s*:))""")
_STRING = r'"(?:[^"\\]|\\.)*+(?P<quote>"?)'
_BRACE = re.compile(rf"{_STRING}|[{{}}]", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\],:]|[^\s\"{{}}\[\],:]+", re.DOTALL)


def parse_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in the text, or None.

    Tried in this order: the whole text; fenced blocks; the text after the model's thoughts; everything. In each, a
    valid object takes precedence over one with trailing commas or cut off at the end, and this over one that needs more
    repair. An object that was cut off keeps its complete values, or the incomplete one if there is no other. An empty
    object is returned only if it was written as such and there is no other. NaN and infinity become None.
    """
    if (whole := _valid(text)) is not None:
        return whole
    answer = text.rpartition("</think>")[2]
    found = None
    for part in dict.fromkeys([*_FENCED.findall(answer), answer, text]):
        spans = [span for span, _ in islice(_spans(part), MAX_SPANS)]
        for read in (_valid, _completed, _repaired):
            for span in spans:
                value = read(span)
                if value:
                    return value
                found = found if value is None else value
    return found


class Piece(NamedTuple):
    """A part of an answer that begins like a JSON object, with the object, or None if it cannot be read.

    It is quoted if it is in a fenced block with text around it.
    """

    text: str
    value: dict[str, Any] | None
    quoted: bool = False


def pieces(text: str) -> list[Piece]:
    """Every non-empty JSON object in an answer that may contain several, in sequence or in a list.

    Invalid ones are repaired, but one that was cut off is not completed: see `cut_off`.
    """
    if (whole := _valid(text)) is not None:
        return [Piece(text, whole)] if whole else []
    answer = without_thoughts(text)
    if not any("</think>" in span for span, _ in _spans(answer)):
        # Where only the end of the thoughts is marked, what stands before it is none of the answer.
        answer = answer.rpartition("</think>")[2]
    found: list[Piece] = []
    words = _FENCED.sub("", answer).strip()
    room = MAX_REPAIR_CHARACTERS
    for row, part in enumerate(_FENCED.split(answer)):  # every second one is the content of a fence
        for span, ended in islice(_spans(part), MAX_SPANS):
            value = _valid(span)
            if value is None and ended and (value := _completed(span)) is None and len(span) <= room:
                room -= len(span)
                value = _repaired(span)
            if value != {}:
                found.append(Piece(span, value, quoted=row % 2 == 1 and bool(words)))
    return found


def cut_off(text: str) -> bool:
    """Whether the text ends inside a JSON object, or inside a string of one."""
    return any(not ended for _, ended in _spans(text))


def encodable(text: str) -> str:
    """The text with a replacement for each lone surrogate, such as half of an emoji that was cut."""
    return text.encode(errors="replace").decode()


def encodable_json(value: Any) -> Any:
    """The JSON value with `encodable` texts."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [encodable_json(item) for item in value]
    if isinstance(value, dict):
        return {encodable_json(key): encodable_json(item) for key, item in value.items()}
    return value


def without_thoughts(text: str) -> str:
    """The text without a leading ``<think>`` block, stripped; empty if the block does not end."""
    return _THOUGHTS.sub("", text).strip()


def _spans(text: str) -> Iterator[tuple[str, bool]]:
    """Each outermost ``{...}`` that begins like an object, and whether it is closed."""
    at = 0
    while start := _START.search(text, at):
        depth, end = 0, None
        for token in _BRACE.finditer(text, start.start()):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0 and token[0] == "}":
                end = token.end()
                break
        at = len(text) if end is None else end
        yield text[start.start() : at], end is not None


def _valid(span: str) -> dict[str, Any] | None:
    try:
        # Not strict: line breaks inside strings are what models get wrong most.
        value = json.loads(span, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _completed(span: str) -> dict[str, Any] | None:
    """The object without trailing commas, cut back to the last complete value, and closed there."""
    kept: list[str] = []
    closing: list[str] = []
    good = 0
    before = ""
    for token in _TOKEN.finditer(span):
        found = token[0]
        if found in ("{", "["):
            closing.append("}" if found == "{" else "]")
        elif found in ("}", "]"):
            if before == ",":
                kept.pop()
            if closing[-1:] != [found]:
                return None
            closing.pop()
        kept.append(found)
        is_key = closing[-1:] == ["}"] and before in ("{", ",")
        # A number or a word at the very end may continue.
        complete = token["quote"] == '"' or (token["quote"] is None and token.end() < len(span))
        if found in ("{", "[", "}", "]") or (found not in (",", ":") and not is_key and complete):
            good = len(kept)
        before = found
    return _valid(" ".join([*kept[:good], *reversed(closing)])) or None


def _repaired(span: str) -> dict[str, Any] | None:
    depths = accumulate(1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[{}\]]", span))
    if len(span) > MAX_REPAIR_CHARACTERS or max(depths, default=0) > MAX_REPAIR_DEPTH:
        return None
    from json_repair import repair_json  # noqa: PLC0415 - few answers need it

    try:
        value = repair_json(span, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None
