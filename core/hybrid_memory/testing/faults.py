"""An embedder that fails when a test wants it to."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from hybrid_memory.arrays import Floats
from hybrid_memory.models.port import Embedder

METHODS = frozenset({"embed_documents", "embed_query"})


class FaultyEmbedder:
    """Another embedder's answers, under its name, except while it is told to fail.

    Args:
        inner: the embedder that answers otherwise.

    Attributes:
        calls: names of the methods called so far, failed calls included.
    """

    def __init__(self, inner: Embedder) -> None:
        self.calls: list[str] = []
        self._inner = inner
        self._lock = threading.Lock()
        self._error: Exception | None = None
        self._methods: Collection[str] = METHODS
        self._passes = 0

    @property
    def name(self) -> str:
        """Of the inner embedder."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """Of the inner embedder."""
        return self._inner.dim

    @contextmanager
    def failing(self, error: Exception, *, methods: Collection[str] = METHODS, after: int = 0) -> Iterator[None]:
        """Raise the error from these methods inside the block, once ``after`` of their calls went well."""
        with self._lock:
            self._error, self._methods, self._passes = error, methods, after
        try:
            yield
        finally:
            with self._lock:
                self._error = None

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Rows of the inner embedder, or the error."""
        self._called("embed_documents")
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """A vector of the inner embedder, or the error."""
        self._called("embed_query")
        return self._inner.embed_query(text)

    def _called(self, method: str) -> None:
        with self._lock:
            self.calls.append(method)
            if self._error is None or method not in self._methods:
                return
            if self._passes:
                self._passes -= 1
                return
            error = self._error
        raise error.with_traceback(None)
