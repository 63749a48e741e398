"""The verbs for what is no memory: texts of the caller, and values that applications keep under keys of their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hybrid_memory.config.memory import Weights
from hybrid_memory.context import condense
from hybrid_memory.context.condense import Condensed, How
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.items import items
from hybrid_memory.items.items import FindItems, ItemOperation, ItemResult
from hybrid_memory.log.message import Message
from hybrid_memory.memory.faces import Verbs, faces
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.recall import score
from hybrid_memory.recall.hit import Scored
from hybrid_memory.recall.request import Request
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

SWEEP_EVERY = timedelta(minutes=5)


class Texts(Verbs):
    """What a memory does with texts of the caller: with its embedder, its models and its token counter, unstored."""

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

        ``0.7 * vector + 0.3 * text`` by default, with the statistics of these texts. Without an embedder, or when it
        fails, the words take the weight of both, and `Scored.note` says so.

        Args:
            query: a question or any text.
            texts: of any kind.
            k: how many at most; None is all.
            vectors: of each text, from the memory's embedder; None where it is to be made.
            at: when each text was written, aware, or None; counts if the weights have a recency.
            weights: of vector, text and recency, the configured ones by default; the other signals need a memory. With
                no weight on vector nothing is embedded.
            diversity: 0 ranks by score alone; towards 1, texts that repeat better ones fall back (MMR).

        Raises:
            InvalidInputError: a query that is empty or no text, k below 1, other than one vector or instant a text, a
                naive instant, a vector of another width.
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
        """The texts shortened to so many tokens together, in their order, empty where nothing of one fits.

        They stay as they are if they fit. ``extractive`` keeps the sentences that say most, from all texts together:
        each word for word, code blocks and addresses whole. ``anchored`` keeps the notes of an anchored summary,
        written by the language model if there is one: decisions, facts, what is to be done, files and ids.
        ``llmlingua`` lets the compressor leave out words; where it fails, sentences are left out, and the note says so.

        Args:
            texts: to shorten; what is left of a message begins with its speaker.
            max_tokens: of all of them, by the memory's token counter.
            query: what they are to answer; without one what matters by itself is kept.
            how: see above.
            weights: of vector and text for the query; words alone by default. With a weight on vector every sentence is
                embedded, which finds a little more and takes far longer.

        Raises:
            InvalidInputError: no compressor for ``llmlingua``, an empty query, or a budget below 1.
        """
        request = condense.CondenseRequest.of(texts, query=query, max_tokens=max_tokens, how=how, weights=weights)
        return await condense.condense(run, self._services, request)

    condense, acondense = faces(_condense)


class ItemMemory(Verbs):
    """Values under namespaces and keys, apart from all turns; made by `HybridMemory.items`.

    Attributes:
        scope: whose they are.
        prefix: of the namespaces that a recall is given with it, see `under`.
        sweep_every: what has expired is never found; it is destroyed with the first write after this time.
    """

    def __init__(
        self, runtime: Runtime, scope: Scope, sweep_every: timedelta = SWEEP_EVERY, prefix: tuple[str, ...] = ()
    ) -> None:
        self._runtime = runtime
        self.scope = scope
        self.sweep_every = sweep_every
        self.prefix = prefix

    def under(self, *labels: str) -> ItemMemory:
        """The same items, of which `ScopedMemory.recall` with ``items=`` finds those in namespaces that begin so.

        Raises:
            InvalidInputError: there is no such namespace.
        """
        return ItemMemory(self._runtime, self.scope, self.sweep_every, FindItems(tuple(labels)).prefix)

    async def beside(self, run: Runner, runtime: Runtime, asker: Scope, request: Request) -> items.Beside | None:
        """What a recall of this owner finds here beside its turns; raises `InvalidInputError`, see there."""
        if runtime is not self._runtime:
            raise InvalidInputError("the items are of another memory: take them from the one that is asked")
        if self.scope.tenant != asker.tenant:
            raise InvalidInputError(f"the items are of {self.scope}, another tenant than that of {asker}")
        if request.where.scope.session is not None:
            raise InvalidInputError("within='session' is this handle's session alone: leave items out")
        services = self._runtime.services
        return await items.beside(run, services, self.scope, self.prefix, request.where)

    async def _batch(self, run: Runner, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """The results, in the order of the operations: `GetItem`, `FindItems`, `PutItem`, `ListNamespaces`.

        What is read is what stood before the batch. Its puts are durable when this returns, all or none; of several
        under one key the last one counts, and an item keeps the instant when it was put first. What is destroyed
        leaves log, index and files with all its earlier values.

        Raises:
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        return await items.batch(run, self._runtime.services, self.scope, operations, self.sweep_every)

    batch, abatch = faces(_batch)

    async def _sweep(self, run: Runner) -> int:
        """Destroy now what has expired; returns how many items that were."""
        return await items.sweep(run, self._runtime.services, self.scope)

    sweep, asweep = faces(_sweep)

    def __repr__(self) -> str:
        return f"<ItemMemory {self.scope} in {self._runtime}>"
