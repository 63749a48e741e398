"""Whether something stands literally in a text."""

from __future__ import annotations

import re
import unicodedata

from hybrid_memory.text.tokenize import cjk_share

_LATIN = "0-9a-z\u00df-\u024f"


def plain(text: str) -> str:
    """In lower case, without punctuation, with single blanks; NFKC."""
    return " ".join(re.sub(r"[^\w\s]|_", " ", unicodedata.normalize("NFKC", text).lower()).split())


def holds(text: str, wanted: str) -> bool:
    """Whether the words stand in the text in this order, not as a part of a longer word or number.

    Case and punctuation don't count; in Chinese, blanks don't either.
    """
    return held(plain(text), wanted)


def held(within: str, wanted: str) -> bool:
    """`holds` for a text that is `plain` already."""
    words = plain(wanted)
    if not words:
        return False
    if cjk_share(wanted):
        words, within = words.replace(" ", ""), within.replace(" ", "")
        before = "(?<![0-9])" if words[0].isdigit() else ""
        return re.search(before + re.escape(words), within) is not None
    return re.search(rf"(?<![{_LATIN}]){re.escape(words)}(?![{_LATIN}])", within) is not None
