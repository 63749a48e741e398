"""The verbs for what is no memory: texts of the caller, and values that applications keep under keys of their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hybrid_memory.config.memory import Weights
from hybrid_memory.context import condense
from hybrid_memory.context.condense import Condensed, How
from hybrid_memory.documents import items
from hybrid_memory.documents.items import FindItems, ItemOperation, ItemResult
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.memory.faces import Verbs, faces
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.recall import texts as score
from hybrid_memory.recall.hit import Scored
from hybrid_memory.recall.plan import Request
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

SWEEP_EVERY = timedelta(minutes=5)


class Texts(Verbs):
    """Score and shorten your own texts with the memory's embedder, models and token counter; nothing is stored."""

    @property
    def _services(self) -> Services:
        return self._runtime.services

    async def _score(
        self,
        run: Runner,
        query: str,
        texts: Sequence[str],
        *,
        k: int | None = None,
        vectors: Sequence[Any] | None = None,
        at: Sequence[datetime | None] | None = None,
        weights: Weights | None = None,
        diversity: float | None = None,
    ) -> list[Scored]:
        """The texts that answer the query best, best first, scored as `ScopedMemory.recall` scores records.

        ``0.7 * vector + 0.3 * text`` by default, with term statistics of these texts. Without an embedder, or if it
        fails, only words count, and `Scored.note` says so.

        Args:
            query: a question or any text.
            texts: the texts to rank.
            k: the most texts to return; None returns all.
            vectors: a vector for each text from the memory's embedder, or None to compute it.
            at: when each text was written, timezone-aware, or None; used if the weights include recency.
            weights: of vector, text and recency; by default as configured. With no weight on vector, nothing is
                embedded.
            diversity: 0 ranks by score alone; towards 1, texts that repeat better ones rank lower (MMR).

        Raises:
            InvalidInputError: the query is empty or not text, k is below 1, the number of vectors or instants differs
                from that of the texts, an instant has no time zone, or a vector has the wrong width.
        """
        request = score.Request.of(
            query, texts, k=k, vectors=vectors, at=at, weights=weights, diversity=diversity
        )  # fmt: skip
        return await score.score(run, self._services, request)

    score, ascore = faces(_score)

    async def _condense(
        self,
        run: Runner,
        texts: Sequence[str | Message],
        *,
        max_tokens: int,
        query: str | None = None,
        how: How = "extractive",
        weights: Weights | None = None,
    ) -> Condensed:
        """The texts shortened to a common budget, in the same order; a text of which nothing fits becomes empty.

        Texts that fit are unchanged. ``extractive`` keeps the most informative sentences of all texts verbatim, code
        blocks and addresses whole. ``llmlingua`` removes words with the compressor; if it fails, sentences are removed
        instead, and the note says so.

        Args:
            texts: the texts to shorten; a shortened message begins with its speaker.
            max_tokens: for all texts together, by the memory's token counter.
            query: the question that they should answer; without one, generally informative sentences are kept.
            how: the method, see above.
            weights: of vector and text for the query; words alone by default. With a weight on vector, every sentence
                is embedded, which finds slightly more and takes far longer.

        Raises:
            InvalidInputError: there is no compressor for ``llmlingua``, the query is empty, or the budget is below 1.
        """
        request = condense.CondenseRequest.of(texts, query=query, max_tokens=max_tokens, how=how, weights=weights)
        return await condense.condense(run, self._services, request)

    condense, acondense = faces(_condense)


class ItemMemory(Verbs):
    """An application's own values under namespaces and keys, separate from all turns; made by `HybridMemory.items`.

    Attributes:
        scope: the owner of the values.
        prefix: the namespaces that a recall with these items searches, see `under`.
        sweep_every: expired values are never found; they are destroyed by the first write after this time.
    """

    def __init__(
        self, runtime: Runtime, scope: Scope, sweep_every: timedelta = SWEEP_EVERY, prefix: tuple[str, ...] = ()
    ) -> None:
        self._runtime = runtime
        self.scope = scope
        self.sweep_every = sweep_every
        self.prefix = prefix

    def under(self, *labels: str) -> ItemMemory:
        """The same items, which `ScopedMemory.recall` then searches in namespaces that start with these labels only.

        Raises:
            InvalidInputError: a label is malformed.
        """
        return ItemMemory(self._runtime, self.scope, self.sweep_every, FindItems(tuple(labels)).prefix)

    async def beside(self, run: Runner, runtime: Runtime, asker: Scope, request: Request) -> items.Beside | None:
        """What a recall of this owner finds here beside its turns; raises `InvalidInputError`, see there."""
        if runtime is not self._runtime:
            raise InvalidInputError("the items are of another memory: take them from the one that is asked")
        if self.scope.tenant != asker.tenant:
            raise InvalidInputError(f"the items are of {self.scope}, another tenant than that of {asker}")
        if request.where.scope.session is not None:
            raise InvalidInputError("scope='session' is this handle's session alone: leave items out")
        services = self._runtime.services
        return await items.beside(run, services, self.scope, self.prefix, request.where)

    async def _batch(self, run: Runner, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """The results of `GetItem`, `FindItems`, `PutItem` and `ListNamespaces` operations, in their order.

        Reads see the state before the batch. Puts are durable when this returns, all or none; the last put under a key
        wins, and an item keeps the time of its first put. A destroyed value leaves log, index and files, together with
        all its earlier values.

        Raises:
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        return await items.batch(run, self._runtime.services, self.scope, operations, self.sweep_every)

    batch, abatch = faces(_batch)

    async def _sweep(self, run: Runner) -> int:
        """Destroy all expired items now and return their number."""
        return await items.sweep(run, self._runtime.services, self.scope)

    sweep, asweep = faces(_sweep)

    def __repr__(self) -> str:
        return f"<ItemMemory {self.scope} in {self._runtime}>"
