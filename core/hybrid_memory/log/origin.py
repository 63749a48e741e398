"""The origin of words, and the authority that follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum


class Origin(StrEnum):
    """The origin of words, from the highest authority to the lowest.

    Words of the operator are instructions and belong in the system message. Words of the user are requests, or
    instructions about their own memory. Everything else is material: other people, the assistant itself, tool results,
    web pages (with mails and anything else that strangers write), and imported data.
    """

    OPERATOR = "operator"
    USER = "user"
    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    IMPORTED = "imported"

    @property
    def rank(self) -> int:
        """0 for the operator; grows as authority falls."""
        return _RANKS[self]


_RANKS = {origin: rank for rank, origin in enumerate(Origin)}

INSTRUCTING = frozenset((Origin.OPERATOR, Origin.USER))
"""Origins whose words may be instructions."""

MARKED = frozenset((Origin.TOOL, Origin.WEB, Origin.IMPORTED))
"""Origins that are named wherever their words are shown."""

_OUTSIDE = re.compile(
    r"(?<![a-z])(?:web|https?|urls?|brows\w*|internet|crawl\w*|scrap\w*|wiki\w*|google|bing|tavily|serp\w*|rss|news|"
    r"e?mails?|gmail|inbox|imap)(?![a-z])|fetch_?(?:page|url|html|site)|(?:page|site)_?fetch|^(?:fetch|search|download)$",
    re.IGNORECASE,
)


def lowest(origins: Iterable[Origin]) -> Origin:
    """The lowest of these origins, for what is made of several; `Origin.IMPORTED` if there are none."""
    return max(origins, key=lambda origin: origin.rank, default=Origin.IMPORTED)


def of_tool(name: str | None) -> Origin:
    """The origin of a tool's result, by the tool's name: `Origin.WEB` if it returns what strangers wrote."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").replace("_", " ").replace("-", " ")
    return Origin.WEB if _OUTSIDE.search(words) or _OUTSIDE.search(name or "") else Origin.TOOL


def spoken(speaker: str, origin: Origin) -> str:
    """The speaker, with the origin if it is unexpected: ``fetch_page (web)``."""
    if origin in _EXPECTED or origin == speaker:
        return speaker
    return f"{speaker} ({origin})".strip()


_EXPECTED = frozenset((Origin.OPERATOR, Origin.USER, Origin.ASSISTANT))
