"""The verbs for texts that are no memories: a retriever's documents, a conversation that is kept elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hybrid_memory.config.weights import Weights
from hybrid_memory.context import condense as condensing
from hybrid_memory.context.condense import Condensed, How
from hybrid_memory.log.message import Message
from hybrid_memory.memory.runtime import INLINE, Runtime
from hybrid_memory.recall import score as scoring
from hybrid_memory.recall.hit import Scored
from hybrid_memory.runtime.runners import drive


class Texts:
    """What a memory does with texts of the caller: with its embedder, its models and its token counter, unstored."""

    _runtime: Runtime

    def score(
        self,
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
        request = scoring.Request.of(
            query, texts, k=k, vectors=vectors, at=at, weights=weights, diversity=diversity
        )  # fmt: skip
        return drive(scoring.score(INLINE, self._runtime.services, request))

    async def ascore(
        self,
        query: str,
        texts: Sequence[str],
        *,
        k: int | None = None,
        vectors: Sequence[Any] | None = None,
        at: Sequence[datetime | None] | None = None,
        weights: Weights | None = None,
        diversity: float | None = None,
    ) -> list[Scored]:
        """Async twin of `score`."""
        request = scoring.Request.of(
            query, texts, k=k, vectors=vectors, at=at, weights=weights, diversity=diversity
        )  # fmt: skip
        return await scoring.score(self._runtime.loop, self._runtime.services, request)

    def condense(
        self,
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
        request = condensing.Request.of(texts, query=query, max_tokens=max_tokens, how=how, weights=weights)
        return drive(condensing.condense(INLINE, self._runtime.services, request))

    async def acondense(
        self,
        texts: Sequence[str | Message],
        *,
        max_tokens: int,
        query: str | None = None,
        how: How = "extractive",
        weights: Weights | None = None,
    ) -> Condensed:
        """Async twin of `condense`."""
        request = condensing.Request.of(texts, query=query, max_tokens=max_tokens, how=how, weights=weights)
        return await condensing.condense(self._runtime.loop, self._runtime.services, request)
