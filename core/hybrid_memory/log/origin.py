"""Whose words these are, and therefore how much they may bring about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum


class Origin(StrEnum):
    """Where words come from, from the highest authority to the lowest.

    What the operator says is an instruction, and stands in the system message. What the user says is a request, or an
    instruction about their own memory. All others are material: a person who is not the user, the assistant itself,
    the result of a tool, a page of the web (and mails, and whatever else strangers write), what was imported.
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
        """0 for the operator, growing as authority falls."""
        return _RANKS[self]


_RANKS = {origin: rank for rank, origin in enumerate(Origin)}

INSTRUCTING = frozenset((Origin.OPERATOR, Origin.USER))
"""Whose words may be instructions."""

MARKED = frozenset((Origin.TOOL, Origin.WEB, Origin.IMPORTED))
"""Origins that are named wherever words of theirs are shown."""

_OUTSIDE = re.compile(
    r"(?<![a-z])(?:web|https?|urls?|brows\w*|internet|crawl\w*|scrap\w*|wiki\w*|google|bing|tavily|serp\w*|rss|news|"
    r"e?mails?|gmail|inbox|imap)(?![a-z])|fetch_?(?:page|url|html|site)|(?:page|site)_?fetch|^(?:fetch|search|download)$",
    re.IGNORECASE,
)


def lowest(origins: Iterable[Origin]) -> Origin:
    """The origin of what is made of several: the lowest of theirs; of nothing, `Origin.IMPORTED`."""
    return max(origins, key=lambda origin: origin.rank, default=Origin.IMPORTED)


def of_tool(name: str | None) -> Origin:
    """Of a tool's result, by the tool's name: `Origin.WEB` where it brings what strangers wrote."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").replace("_", " ").replace("-", " ")
    return Origin.WEB if _OUTSIDE.search(words) or _OUTSIDE.search(name or "") else Origin.TOOL


def spoken(speaker: str, origin: Origin) -> str:
    """Who said it, and the origin where it is not what one expects: ``fetch_page (web)``."""
    if origin in _EXPECTED or origin == speaker:
        return speaker
    return f"{speaker} ({origin})".strip()


_EXPECTED = frozenset((Origin.OPERATOR, Origin.USER, Origin.ASSISTANT))
