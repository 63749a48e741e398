"""Recognizes query words that may be misspelt, because they are not known words.

``known_words.bin`` is a Bloom filter over half a million stems of English, German, Spanish, French, Portuguese, Italian
and Dutch, including inflected forms and many names. ``benchmarks/ranking/known_words.py`` makes it;
``known_words.txt`` names the sources of the word lists.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from hybrid_memory.text.tokenize import LONG_CHARS, allowed_edits, terms

HASHES = 5
FOREIGN = "~"
"""The prefix, in the filter, of words that are not English."""

_BITS = Path(__file__).with_suffix(".bin").read_bytes()
"""Read at import, as recall runs in event loops."""

_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_ENGLISH = re.compile(
    r"\b(?:the|what|when|where|who|whose|which|how|why|did|does|is|are|my|your|our|and|with|have|been|about|for|that|this)\b",
    re.IGNORECASE,
)


def doubtful(query: str) -> list[str]:
    """The terms of a query that may be misspelt, in order: neither a known word nor a short name.

    In an English sentence, words of other languages do not count as known. A capitalised word within a sentence is a
    name; short names differ by one letter anyway.
    """
    names = {term for name in _NAME.findall(query) for term in terms(name)}
    english = _ENGLISH.search(query) is not None
    return [
        term
        for term in dict.fromkeys(terms(query))
        if allowed_edits(term)
        and (len(term) >= LONG_CHARS or term not in names)
        and not is_known(term)
        and (english or not is_known(FOREIGN + term))
    ]


def is_known(term: str) -> bool:
    """Whether a term, as `hybrid_memory.text.tokenize.terms` makes them, is a known word; false positives are 3 %."""
    return all(_BITS[place >> 3] >> (place & 7) & 1 for place in places(term, 8 * len(_BITS)))


def places(term: str, size: int) -> list[int]:
    """The bits of a term in a filter of this size."""
    digest = hashlib.blake2b(term.encode(), digest_size=16).digest()
    first, step = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little") | 1
    return [(first + number * step) % size for number in range(HASHES)]
