"""Batching of texts that many threads embed at the same time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from threading import TIMEOUT_MAX
from typing import TypeAlias

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.errors import ModelError
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.breaker import TimeLimit
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import INTERACTIVE, Condition, current_priority
from hybrid_memory.runtime.tracing import traced_step

QUERY, DOCUMENT = 8, 5  # priorities if none was set with `at_priority`

Key: TypeAlias = tuple[bool, str]
"""Whether the text is a query, and the text."""


@dataclass(slots=True, eq=False)
class _Text:
    """A text that needs a vector, until it has one or an error; it may wait until ``due`` for a fuller batch."""

    key: Key
    due: float
    priority: int = 0
    calls: set[_Call] = field(default_factory=set)
    queued: bool = True
    row: Floats | None = None
    error: Exception | None = None

    @property
    def lane(self) -> tuple[bool, bool]:
        """Texts of one lane may share a batch: whether they are queries, and whether a user waits for them."""
        return self.key[0], self.priority >= INTERACTIVE


_QUEUED, _PRIORITY = attrgetter("queued"), attrgetter("priority")


@dataclass(slots=True, eq=False)
class _Call:
    """One caller's request, and the batch that its thread embeds, for itself and for others."""

    until: float
    texts: list[_Text] = field(default_factory=list)
    batch: list[_Text] = field(default_factory=list)


class BatchingEmbedder:
    """An embedder that merges concurrent calls to another embedder; callable from any thread, without its own threads.

    A single call is passed on at once. If the maximum number of calls is running, the texts of further callers wait;
    when a call ends, one of the waiting threads embeds those of the highest priority together. Long calls are split
    into batches so that others get their turn. A text requested several times at once is embedded once. If a batch for
    several callers fails, the texts of each caller are tried again separately.

    Queries are batched if the embedder has a method ``embed_queries(texts)`` that returns rows.

    Texts of a priority below 8 may wait ``window`` seconds for a fuller batch while other calls run; of several
    concurrent calls, one is reserved for priorities of 8 and more. ``limit`` is for a call, and for a caller's whole
    wait.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        batch_size: int = 32,
        window: float = 0.05,
        concurrency: int = 2,
        limit: TimeLimit | None = None,
        cache: LruCache[bytes, Floats] | None = None,
        statistics: Statistics | None = None,
    ) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._window = window
        self._limit = limit
        self._called: Callable[..., Floats] = limit.call if limit else lambda function, *given: function(*given)
        self._cache: LruCache[bytes, Floats] = LruCache(0) if cache is None else cache
        self._statistics = statistics or Statistics()
        self._queries = getattr(embedder, "embed_queries", None) or (lambda texts: [embedder.embed_query(texts[0])])
        self._most_queries = batch_size if hasattr(embedder, "embed_queries") else 1
        self._changed = Condition()
        self._texts: dict[Key, _Text] = {}
        self._running: dict[_Call, bool] = {}

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim); raises the embedder's errors, and `ModelError` if it takes too long."""
        if not texts:
            return self._called(self._embedder.embed_documents, texts)
        rows = self._vectors(texts, query=False)
        return np.stack([rows[text] for text in texts])

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,); raises the same errors as `embed_documents`."""
        return self._vectors([text], query=True)[text].copy()  # others have the same one

    def _vectors(self, texts: Sequence[str], *, query: bool) -> dict[str, Floats]:
        rows: dict[str, Floats] = {}
        missing = []
        for text in dict.fromkeys(texts):
            if (row := self._cache.get(self._cache_key((query, text)))) is None:
                missing.append((query, text))
            else:
                rows[text] = row
        priority = current_priority(QUERY if query else DOCUMENT)
        for start in range(0, len(missing), self._batch_size):
            for made in self._computed(missing[start : start + self._batch_size], priority):
                rows[made.key[1]] = made.row  # type: ignore[assignment]  # it has one
        return rows

    def _cache_key(self, key: Key) -> bytes:
        query, text = key
        what = f"{self.name}\x00{'query' if query else 'document'}\x00{text}"
        return hashlib.blake2b(what.encode(errors="surrogatepass"), digest_size=16).digest()

    def _computed(self, keys: Sequence[Key], priority: int) -> list[_Text]:
        """Distinct texts, at most a batch, with their vectors; meanwhile this thread embeds batches."""
        # Others may be embedding what is wanted, or keep the embedder busy: that is not waited for any longer either.
        call = _Call(time.monotonic() + (inf if self._limit is None else self._limit.seconds))
        try:
            with self._changed:
                now = time.monotonic()
                waits = not self._free(interactive=priority >= INTERACTIVE) or any(map(_QUEUED, self._texts.values()))
                for key in keys:
                    text = self._texts.get(key) or _Text(key, now + self._window if waits else now)
                    call.texts.append(text)  # first of all: what an interrupt leaves half-done is undone below
                    text.calls.add(call)
                    self._texts[key] = text
                    text.priority = max(text.priority, priority) if text.queued else text.priority
            while self._next(call):
                self._embed(call.batch)
                with self._changed:
                    self._end(call)
        finally:  # it has its vectors, has failed or was interrupted
            with self._changed:
                self._end(call)
                for text in call.texts:
                    text.calls.discard(call)
                    if text.queued and not text.calls:
                        text.queued = False
                        self._unlist(text)
        return call.texts

    def _free(self, *, interactive: bool) -> bool:
        """Whether another batch may start."""
        room = interactive or list(self._running.values()).count(False) < max(1, self._concurrency - 1)
        return room and len(self._running) < self._concurrency

    def _next(self, call: _Call) -> bool:
        """Wait until the call has a batch to embed, or all of its vectors (False); raises the error of a text."""
        with self._changed:
            while True:
                now, until, queued, done = time.monotonic(), call.until, False, True
                for text in call.texts:
                    if text.error is not None:
                        raise text.error
                    done &= text.row is not None
                    queued |= text.queued
                    if text.queued and text.due > now:
                        until = min(until, text.due)
                if done:
                    return False
                waiting = sorted(filter(_QUEUED, self._texts.values()), key=_PRIORITY, reverse=True) if queued else []
                # If the first of them may not start, neither may those of a lower priority.
                if waiting and self._free(interactive=waiting[0].lane[1]):
                    query, interactive = lane = waiting[0].lane
                    size = self._most_queries if query else self._batch_size
                    batch = [text for text in waiting if text.lane == lane][:size]
                    if interactive or not self._running or now >= batch[0].due or len(batch) >= size:
                        self._running[call] = interactive
                        call.batch = batch
                        for text in batch:
                            text.queued = False
                        return True
                if now >= call.until:
                    raise ModelError(f"embedder {self.name!r} is busy and did not answer in time")
                self._changed.wait(None if until == inf else min(until - now, TIMEOUT_MAX))

    def _embed(self, batch: Sequence[_Text]) -> None:
        """Give each text its vector or its error."""
        try:
            rows = self._rows([text.key[1] for text in batch], query=batch[0].key[0])
        except Exception as error:  # noqa: BLE001 - it is raised in those whose texts these are
            groups: dict[frozenset[_Call], list[_Text]] = {}
            with self._changed:
                for text in batch:
                    groups.setdefault(frozenset(text.calls), []).append(text)
                if len(groups) == 1:
                    for text in batch:
                        self._unlist(text)
                        text.error = error
                    return
            for group in groups.values():  # it may be the fault of others' texts
                self._embed(group)
            return
        with self._changed:
            for text, row in zip(batch, rows, strict=True):
                row = row.copy()  # noqa: PLW2901 - else one vector would keep those of its whole batch
                self._cache.put(self._cache_key(text.key), row)
                self._unlist(text)
                text.row = row

    @traced_step(
        "embed",
        lambda span, call: span.attributes.update(
            model=call["self"].name, texts=len(call["texts"]), query=call["query"]
        ),
    )
    def _rows(self, texts: Sequence[str], *, query: bool) -> Floats:
        self._statistics.batch(len(texts))
        return self._called(self._queries if query else self._embedder.embed_documents, texts)

    def _unlist(self, text: _Text) -> None:
        """Let no further call join the text; done first, since no call may join a finished text."""
        if self._texts.get(text.key) is text:
            del self._texts[text.key]

    def _end(self, call: _Call) -> None:
        """End the call's batch; texts without vector or error wait again. The lock is held."""
        for text in call.batch:
            if text.row is None and text.error is None:
                text.queued = True
        call.batch = []
        self._running.pop(call, None)
        self._changed.notify_all()
