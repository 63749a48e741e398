"""Postprocessors that rank any retriever's nodes by meaning and words, or shorten them to a token budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Self

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, field_validator

from hybrid_memory import Condensed, HybridMemory, Scored, Weights
from hybrid_memory.adapters import IN_MEMORY, Runner, checked_text, faces, held, instant, opened, url_of
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from llamaindex_hybrid_memory.bound import checked_url

MEDIA = ("image", "image_path", "image_url", "image_resource", "audio_resource", "video_resource")


class MemoryPostprocessor(BaseNodePostprocessor):
    """A postprocessor that applies a memory's models to any nodes; serialised with the URL of its store."""

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory | None = Field(default=None, exclude=True, repr=False)
    url: str = IN_MEMORY

    if not TYPE_CHECKING:  # callers get our error, which pydantic would wrap

        def __init__(self, **fields: Any) -> None:
            if fields.get("memory") is not None and "url" in fields:
                raise InvalidConfigError("give memory= or url=, not both")
            super().__init__(**fields)

    @field_validator("url")
    @classmethod
    def _a_place(cls, url: str) -> str:
        return checked_url(url)

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.memory is None:
            self.memory = held(self.url)
        else:
            self.url = url_of(self.memory)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.model_copy()  # with the same store

    def _store(self) -> HybridMemory:
        if self.memory is None:
            self.memory = opened(self.url)
        return self.memory

    async def _astore(self) -> HybridMemory:
        # The first use of a URL reads files and may load a model.
        return await asyncio.to_thread(self._store) if self.memory is None else self.memory


def asked(bundle: QueryBundle | None) -> str | None:
    """The question; None if there is none, or if it is empty."""
    query = None if bundle is None else checked_text("the query", bundle.query_str)
    return query if query and query.strip() else None


def annotated(node: BaseNode, **metadata: Any) -> BaseNode:
    """A copy with these values added to its metadata, neither embedded nor shown to a language model."""
    return node.model_copy(
        update={
            "metadata": {**node.metadata, **metadata},
            "excluded_llm_metadata_keys": list(dict.fromkeys([*node.excluded_llm_metadata_keys, *metadata])),
            "excluded_embed_metadata_keys": list(dict.fromkeys([*node.excluded_embed_metadata_keys, *metadata])),
        }
    )


class HybridScorePostprocessor(MemoryPostprocessor):
    """A postprocessor that ranks any retriever's nodes: ``0.7 * vector + 0.3 * text``, by embedder and BM25.

    The nodes come back best first, as copies with this score, and with ``score``, ``why`` and ``signals`` in their
    metadata, hidden from language models. A node is scored by its text and the metadata that it embeds. Without a
    question, or with an empty one, the order does not change.

    Use it for recency and diversity too: give ``weights`` a recency, or set ``diversity`` (MMR).

    Attributes:
        memory: an open memory; nothing is stored in it.
        url: the URL of a store, instead of an open memory; by default a store in memory with the default embedder.
        top_n: how many nodes to return; None returns all.
        weights: the weights of vector, text and recency; see `HybridMemory.score`.
        diversity: towards 1, nodes that repeat better ones rank lower; by default as configured.
        time_key: the metadata key of a node's time, a datetime or ISO 8601, for weights with recency.
        use_embeddings: use the nodes' own embeddings, which must be from the memory's embedder; missing ones, or all if
            this is False, are computed.

    Raises:
        InvalidConfigError: ``memory`` and ``url`` are both given.
        pydantic.ValidationError: another argument is invalid or unknown.
        InvalidInputError: when ranking, a node's embedding has another dimension than those of the memory's embedder.
    """

    top_n: int | None = Field(default=None, ge=1)
    weights: Weights | None = None
    diversity: float | None = Field(default=None, ge=0, le=1)
    time_key: str = "at"
    use_embeddings: bool = True

    async def _ranked(
        self, run: Runner, /, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = asked(query_bundle)
        if query is None:
            return nodes[: self.top_n]
        memory = await run.call(self._store)
        try:
            return _ranked(nodes, await run.call(memory.score, query, _texts(nodes), **self._options(nodes)))
        except InvalidInputError as error:
            raise self._explained(nodes, error) from error

    _postprocess_nodes, _apostprocess_nodes = faces(_ranked)

    def _options(self, nodes: Sequence[NodeWithScore]) -> dict[str, Any]:
        return {
            "k": self.top_n,
            "vectors": [one.node.embedding for one in nodes] if self.use_embeddings else None,
            "at": [instant(one.metadata.get(self.time_key)) for one in nodes],
            "weights": self.weights,
            "diversity": self.diversity,
        }

    def _explained(self, nodes: Sequence[NodeWithScore], error: InvalidInputError) -> InvalidInputError:
        if not self.use_embeddings or all(one.node.embedding is None for one in nodes):
            return error
        hint = "embeddings of nodes must be from the memory's embedder: use the same embedder, or use_embeddings=False"
        return InvalidInputError(f"{error}; {hint}")


def _texts(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [one.node.get_content(metadata_mode=MetadataMode.EMBED) for one in nodes]


def _ranked(nodes: Sequence[NodeWithScore], scored: Sequence[Scored]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=annotated(nodes[one.row].node, score=one.score, why=one.why(), signals=asdict(one.signals)),
            score=one.score,
        )
        for one in scored
    ]


class CompressionPostprocessor(MemoryPostprocessor):
    """A postprocessor that shortens nodes to a shared token budget and drops those of which nothing fits.

    The nodes come back in their original order, as copies with ids, scores and metadata, and with ``original_tokens``
    and ``compressed_tokens``, hidden from language models. Metadata that a prompt shows with a text is not counted.
    Nodes with images, audio or video are always kept, whatever is left of their words.

    Attributes:
        memory: an open memory; nothing is stored in it.
        url: the URL of a store, instead of an open memory; by default a store in memory with the default settings.
        max_tokens: the budget of all texts together, by the memory's token counter.
        how: ``extractive`` keeps whole sentences, ``llmlingua`` words; see `HybridMemory.condense`.
        weights: the weights of vector and text for the question; text alone by default, see `HybridMemory.condense`.

    Raises:
        InvalidConfigError: ``memory`` and ``url`` are both given.
        pydantic.ValidationError: another argument is invalid or unknown.
        InvalidInputError: when shortening, the memory has no compressor for ``llmlingua``.
    """

    max_tokens: int = Field(default=1000, ge=1)
    how: Literal["extractive", "llmlingua"] = "extractive"
    weights: Weights | None = None

    async def _shortened(
        self, run: Runner, /, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        memory = await run.call(self._store)
        return _left(nodes, await run.call(memory.condense, _words(nodes), **self._options(query_bundle)))

    _postprocess_nodes, _apostprocess_nodes = faces(_shortened)

    def _options(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {"query": asked(bundle), "max_tokens": self.max_tokens, "how": self.how, "weights": self.weights}


def _words(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [one.node.get_content(metadata_mode=MetadataMode.NONE) for one in nodes]


def _left(nodes: Sequence[NodeWithScore], condensed: Condensed) -> list[NodeWithScore]:
    left = []
    for one, text, before, after in zip(nodes, condensed.texts, condensed.before, condensed.after, strict=True):
        if not text.strip() and not any(getattr(one.node, name, None) for name in MEDIA):
            continue
        copied = annotated(one.node, original_tokens=before, compressed_tokens=after)
        if text != one.node.get_content(metadata_mode=MetadataMode.NONE):
            copied.set_content(text)
            copied.embedding = None  # it was that of all the words
        left.append(NodeWithScore(node=copied, score=one.score))
    return left
