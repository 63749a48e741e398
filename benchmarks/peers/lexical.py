"""BM25 alone, by bm25s."""

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.systems import Embedder, System, Turn

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
RUN = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")


class Words(System):
    """bm25s with an English stemmer and pairs of CJK characters."""

    def __init__(self, _embedder: Embedder, _folder: Path) -> None:
        self._bm25s: Any = importlib.import_module("bm25s")
        self._stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")
        self._stop = set(self._bm25s.stopwords.STOPWORDS_EN)
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._index: Any = None

    def add(self, turns: Sequence[Turn]) -> None:
        """Index all texts anew: bm25s cannot add."""
        self._ids += [turn.id for turn in turns]
        self._texts += [turn.text for turn in turns]
        self._index = self._bm25s.BM25()
        self._index.index(self._tokens(self._texts), show_progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """What shares a word with the query."""
        tokens = self._tokens([query])
        if not tokens[0]:
            return []
        rows, scores = self._index.retrieve(tokens, k=min(k, len(self._ids)), show_progress=False)
        return [self._ids[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        return [self._stemmer.stemWords(split(text, self._stop)) for text in texts]


def split(text: str, stop: set[str]) -> list[str]:
    """Words that are no stop words, and pairs of neighbouring CJK characters."""
    found: list[str] = []
    for run in RUN.findall(text.lower()):
        if not re.match(f"[{CJK}]", run):
            found += [] if run in stop else [run]
        elif len(run) == 1:
            found.append(run)
        else:
            found += [run[at : at + 2] for at in range(len(run) - 1)]
    return found
