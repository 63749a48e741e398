"""Marked places for other people's words: they can neither close the place, open one, nor look like a turn.

Every renderer passes texts through `escaped`. The start of a tag becomes ``‹``: unlike an entity it survives decoding,
and unlike a full-width bracket it survives normalisation.
"""

from __future__ import annotations

import re

from hybrid_memory.text.patterns import lazy

ESCAPED = "‹"

_LESS = (
    r"(?:[<＜﹤]|&(?:lt|LT);?|&#0*(?:60|65124|65308)(?:;|(?!\d))"
    r"|&#[xX]0*(?:3[cC]|[fF][eE]64|[fF]{2}1[cC])(?:;|(?![\da-fA-F])))"
)
_ALIKE = "[〈〈⟨‹«《⟪❮❰⦑⧼˂ᐸ≺⋖◁]"

_TAG = lazy(rf"{_LESS}(?=\s*(?:[A-Za-z_/|!?&]|[^\x00-\x7f‹]))")
"""The beginning of anything that could be read as a tag, in any script, if it is closed somewhere."""

_CLOSING = lazy(rf"(?:{_LESS}|{_ALIKE})(?=\s*(?:[/／⁄∕⧸\\]|&#|&sol))")

_ENDS = (">", "＞", "﹥", "&gt", "&GT", "&#")

_NEWLINES = lazy("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_UNSEEN = lazy(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Control characters, direction marks and zero-width characters, but not the joiners in emoji and some scripts."""

_TURN = lazy(
    r"^(?=[ \t]*(?:[#*_]{1,6}[ \t]*)?(?:"
    r"(?:system|developer|human|user|assistant|ai|tool)(?:[ \t]+(?:prompt|message|instructions?|notice|override))?"
    r"[ \t]*[*_]{0,3}[ \t]*[:：]"
    r"|系统(?:提示词?|指令|消息|通知)?[*_]{0,3}[:：]|(?:开发者|用户|人类|助手)[*_]{0,3}[:：]"
    r"|\[/?(?:inst|sys|system)\b)"
    r"|[ \t]*#{1,6}[ \t]*(?:system|instructions?|human|assistant|user|response|系统|指令|用户|助手)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that looks like the start of a turn in a model's chat format."""

_RECORD = lazy(r"^(?=[ \t]*(?:- |#\d+ )?\[\d{4}-\d)", re.MULTILINE)
"""A line that looks like the start of a memory, or of a message with its time."""


def visible(text: str) -> str:
    """The text without invisible characters, with uniform line ends."""
    return _UNSEEN.sub("", _NEWLINES.sub("\n", text))


def escaped(text: str) -> str:
    """The text, safe to put into a marked place; escaping twice changes nothing more.

    A tag begins with ``‹``, a line that looks like a turn with ``> ``; invisible characters are removed. A ``<`` that
    nothing closes, as in ``if a < b:``, does not count as a tag.
    """
    text = visible(text)
    end = max(text.rfind(closing) for closing in _ENDS) + 1
    return _TURN.sub("> ", _TAG.sub(ESCAPED, text[:end]) + _CLOSING.sub(ESCAPED, text[end:]))


def marked(name: str, text: str, **named: str) -> str:
    """The text between ``<name>`` and ``</name>``, with these attributes; empty for an empty text."""
    if not text:
        return ""
    name = re.sub(r"[^\w.-]", "_", name) or "_"
    values = "".join(f' {key}="{attribute(value)}"' for key, value in named.items())
    return f"<{name}{values}>\n{escaped(text)}\n</{name}>"


def attribute(value: str) -> str:
    """The words on one line, safe to put between quotes."""
    return re.sub(r'["\'<>&＜＞﹤﹥＂＇＆]', "_", " ".join(visible(value).split()))


def within_record(text: str) -> str:
    """The literal text, changed only where a line would look like the start of another record."""
    first, line, rest = text.partition("\n")
    return first + line + _RECORD.sub("> ", rest)


def within_line(text: str) -> str:
    """A multi-line text as a list entry: later lines are indented, and cannot start an entry."""
    first, *rest = visible(text).split("\n")
    return "\n".join([first, *(f"  {line}" for line in _RECORD.sub("> ", "\n".join(rest)).split("\n") if line.strip())])
