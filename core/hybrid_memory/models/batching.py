"""Embeds in batches what many threads ask for at the same time."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.models.batches import Batch, Call, Calls, Key, Wanted
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.checks import whole
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import current_priority

QUERY, DOCUMENT = 8, 5
"""Priorities where none was set with `at_priority`."""


class BatchingEmbedder:
    """Another embedder, whose calls are merged; callable from any thread, and without threads of its own.

    A call that comes alone is passed on at once. While as many calls run as may, the texts of further callers wait, and
    when one ends, those of the highest priority are embedded together by one of the waiting threads. Long calls are cut
    into batches, between which others get their turn. A text that is being embedded or waits is embedded once, however
    many ask for it. When a batch of several callers fails, each caller's texts are tried once more without the others.

    Queries are batched if the embedder has a method ``embed_queries(texts)`` that returns rows.

    Args:
        embedder: what embeds.
        batch_size: most texts in one of its calls.
        window: seconds that texts of a priority below 8 may wait, while other calls run, for more to fill a batch.
        concurrency: its calls at the same time; if more than one, one of them is kept for priorities of 8 and more.
        cache: keeps vectors.
        statistics: counts the batches.

    Raises:
        InvalidInputError: a number is out of its range.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        batch_size: int = 32,
        window: float = 0.05,
        concurrency: int = 2,
        cache: LruCache[bytes, Floats] | None = None,
        statistics: Statistics | None = None,
    ) -> None:
        self._embedder = embedder
        self._batch_size = whole("batch_size", batch_size, 1)
        self._concurrency = whole("concurrency", concurrency, 1)
        if not 0 <= window < float("inf"):
            raise InvalidInputError(f"window must be 0 seconds or more, got {window!r}")
        self._window = window
        self._cache = cache
        self._statistics = statistics
        self._queries: Callable[[Sequence[str]], Floats] | None = getattr(embedder, "embed_queries", None)
        self._calls = Calls((batch_size, batch_size if self._queries else 1))
        self._wanted: dict[Key, Wanted] = {}
        self._running = 0
        self._in_background = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Of the embedder."""
        return self._embedder.name

    @property
    def dim(self) -> int:
        """Width of the embedder's vectors."""
        return self._embedder.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim); raises whatever the embedder does."""
        if not texts:
            return self._embedder.embed_documents(texts)
        rows = self._vectors(texts, query=False)
        return np.stack([rows[text] for text in texts])

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,); raises whatever the embedder does."""
        return self._vectors([text], query=True)[text].copy()  # others have the same one

    def _vectors(self, texts: Sequence[str], *, query: bool) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        missing = []
        for text in dict.fromkeys(texts):
            row = self._cache.get(self._cache_key((query, text))) if self._cache is not None else None
            if row is None:
                missing.append(text)
            else:
                found[text] = row
        priority = current_priority(QUERY if query else DOCUMENT)
        for start in range(0, len(missing), self._batch_size):
            found |= self._asked(missing[start : start + self._batch_size], query=query, priority=priority)
        return found

    def _cache_key(self, key: Key) -> bytes:
        query, text = key
        what = f"{self.name}\x00{'query' if query else 'document'}\x00{text}"
        return hashlib.blake2b(what.encode(errors="surrogatepass"), digest_size=16).digest()

    def _asked(self, texts: Sequence[str], *, query: bool, priority: int) -> dict[str, Floats]:
        """The vectors of different texts, at most a batch of them."""
        now = time.monotonic()
        with self._lock:
            call = Call(query=query, priority=priority)
            if self._calls.first() is not None or not self._free(call):
                call.due = now + self._window
            for text in texts:
                key = (query, text)
                wanted = self._wanted.get(key)
                if wanted is None:
                    wanted = self._wanted[key] = Wanted(key)
                wanted.calls[call] = None
                call.texts.append(wanted)
            call.missing = len(texts)
            self._calls.put(call)
            self._dispatch(now)
        try:
            self._wait(call)
        except BaseException as error:
            with self._lock:
                self._leave(call, error)
            raise
        return {wanted.key[1]: wanted.row for wanted in call.texts if wanted.row is not None}

    def _wait(self, call: Call) -> None:
        """Until the call has its vectors; meanwhile its thread embeds the batches that it is to lead."""
        while True:
            if call.leads is not None:
                self._embed(call.leads)
            elif call.error is not None:
                raise call.error
            elif not call.missing:
                return
            else:
                pause = call.due - time.monotonic()
                in_time = call.woken.wait(pause if pause > 0 and not call.interactive else None)
                call.woken.clear()
                if not in_time:
                    with self._lock:
                        self._dispatch(time.monotonic())

    def _dispatch(self, now: float) -> None:
        """Hand out batches while there are calls to make. The lock is held."""
        while (leader := self._calls.first()) is not None:
            if not self._free(leader):
                return
            batch = self._calls.batch(leader)
            if self._running and not leader.interactive and now < leader.due and not self._calls.full(batch):
                return
            for text in batch.texts:
                text.queued = False
            self._count(leader, 1)
            leader.leads = batch
            leader.woken.set()

    def _free(self, call: Call) -> bool:
        """Whether one more batch may be embedded, for this call."""
        if self._running >= self._concurrency:
            return False
        return call.interactive or self._in_background < max(1, self._concurrency - 1)

    def _embed(self, batch: Batch) -> None:
        try:
            rows = self._rows([text.key[1] for text in batch.texts], query=batch.leader.query)
        except Exception as error:  # noqa: BLE001 - it is raised in those whose texts these are
            with self._lock:
                self._failed(batch, error)
                self._dispatch(time.monotonic())
            return
        with self._lock:
            self._end(batch)
            for text, row in zip(batch.texts, rows, strict=True):
                self._deliver(text, row)
            self._dispatch(time.monotonic())

    def _rows(self, texts: Sequence[str], *, query: bool) -> Sequence[Floats]:
        if self._statistics is not None:
            self._statistics.batch(len(texts))
        if query and self._queries is None:
            return [self._embedder.embed_query(text) for text in texts]
        embed = self._queries if query and self._queries is not None else self._embedder.embed_documents
        rows = list(embed(texts))
        if len(rows) != len(texts):
            raise ModelError(f"embedder {self.name!r} returned {len(rows)} vectors for {len(texts)} texts")
        return rows

    def _deliver(self, text: Wanted, row: Floats) -> None:
        text.row = row
        if self._cache is not None:
            # A copy, else one vector would keep those of its whole batch.
            text.row = row.copy()
            self._cache.put(self._cache_key(text.key), text.row)
        del self._wanted[text.key]
        for call in text.calls:
            call.missing -= 1
            if not call.missing:
                call.woken.set()

    def _failed(self, batch: Batch, error: Exception) -> None:
        """Tell those whose texts these are, or, where it may be the fault of others' texts, let them be tried alone."""
        self._end(batch)
        calls = batch.calls()
        if len(batch.texts) == 1:
            for call in calls:
                self._drop(call, error)
        elif batch.alone or len(calls) == 1:
            self._drop(batch.leader, error)
        else:
            for call in calls:
                call.alone = True
        self._requeue(batch)

    def _leave(self, call: Call, error: BaseException) -> None:
        """The caller waits no more: it was told an error, or interrupted. The lock is held."""
        batch, ended = call.leads, call.error is None
        if batch is not None:
            self._end(batch)
        if ended:
            self._drop(call, error)
        if batch is not None:
            self._requeue(batch)
        self._dispatch(time.monotonic())

    def _drop(self, call: Call, error: BaseException) -> None:
        """The call gets this error; texts that nobody else wants are no longer wanted, unless they are embedded now."""
        call.error = error
        for text in call.texts:
            text.calls.pop(call, None)
            if text.queued and not text.calls:
                self._wanted.pop(text.key, None)
                text.queued = False
        call.texts = []
        call.woken.set()

    def _requeue(self, batch: Batch) -> None:
        """Texts that were not embedded wait again for those who still want them."""
        for text in batch.texts:
            text.queued = bool(text.calls)
            if not text.calls:
                self._wanted.pop(text.key, None)
            for call in text.calls:
                self._calls.put(call)

    def _end(self, batch: Batch) -> None:
        batch.leader.leads = None
        self._count(batch.leader, -1)

    def _count(self, leader: Call, change: int) -> None:
        self._running += change
        self._in_background += 0 if leader.interactive else change
