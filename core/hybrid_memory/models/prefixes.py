"""The prefixes that models of the E5 family need before a text; hardly any client adds them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

QUERY, PASSAGE = "query: ", "passage: "

_E5 = re.compile(r"(?:^|[-_./])e5(?:[-_.]|$)", re.IGNORECASE)


def wants_prefixes(model: str) -> bool:
    """Whether a model of this name belongs to the E5 family, except those that follow instructions."""
    return bool(_E5.search(model)) and "instruct" not in model.lower()


def prefixed(model: Any) -> Any:
    """An object with ``embed_documents`` and ``embed_query`` that adds the prefixes."""
    return _Prefixed(model)


class _Prefixed:
    def __init__(self, model: Any) -> None:
        self._model = model

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._model.embed_documents([PASSAGE + text for text in texts])

    def embed_query(self, text: str) -> Any:
        return self._model.embed_query(QUERY + text)
