"""Text processing for English and Chinese: terms, sentences, dates, cleaning, redaction, spelling; pure functions."""

from __future__ import annotations

import re
from typing import Any, cast

METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled on first use: to compile all at import would take half a second."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copying and the like, not by a search
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        # As attributes of its own they are found at once from now on.
        self.__dict__.update({method: getattr(compiled, method) for method in METHODS})
        return getattr(compiled, name)
