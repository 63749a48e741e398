"""Splits a text into the pieces that are stored: paragraphs, list items and fenced blocks, each its own message."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+\S")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_FIELD = re.compile(r"[^\s:：|][^:：|]{0,40}(?::\s|：)")
_ENDED = re.compile(r"[.!?。！？…][\"'”’)）」』*_]*\s*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_MARKS = re.compile(r"[\s\-*_=#>|`~+:.]*")
"""Lines without words: rules, fences, empty bullets."""


class Unit(NamedTuple):
    """A piece of a text; all pieces concatenated are the text.

    Attributes:
        words: its words; empty if it has only punctuation and white space.
        tail: the characters between it and the next one.
    """

    words: str
    tail: str


def units(text: str) -> list[Unit]:
    """The pieces of a text, in order.

    A new piece begins after a blank line, after a line that ends a sentence, and at an unindented list item, a line
    that begins with a field, or a heading. A heading stays with what follows it; a fenced block is never split.
    """
    found: list[list[str]] = []
    fence, open_ended, ended = "", False, True
    for line in _LINE.findall(text):
        empty = not line.strip()
        if not fence and not empty:
            heading = _HEADING.match(line) is not None
            begins = ended or heading or _ITEM.match(line) is not None or _FIELD.match(line) is not None
            if not found or (begins and not open_ended):
                found.append([])
            open_ended = heading
        elif not found:
            found.append([])
        found[-1].append(line)
        fence, before = _fenced(line, fence), fence
        ended = empty or (not before and not line[:1].isspace() and _ENDED.search(line) is not None)
    return [unit for lines in found for unit in _cut("".join(lines))]


def _fenced(line: str, fence: str) -> str:
    """The fence that is open after a line."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    return "" if mark[1].startswith(fence) and not line[mark.end() :].strip() else fence


def _cut(text: str) -> list[Unit]:
    words = text.rstrip()
    if _MARKS.fullmatch(words):
        return [Unit("", text)]
    begin = len(text) - len(text.lstrip("\r\n"))
    return [*([Unit("", text[:begin])] if begin else []), Unit(words[begin:], text[len(words) :])]
