"""A postprocessor that shortens any retriever's nodes to a token budget."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, Self

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, field_validator

from hybrid_memory import Condensed, HybridMemory
from hybrid_memory.adapters import IN_MEMORY, Runner, checked_text, faces, held, memory_at, url_of
from hybrid_memory.errors import InvalidConfigError
from llamaindex_hybrid_memory.bound import checked_url

MEDIA = ("image", "image_path", "image_url", "image_resource", "audio_resource", "video_resource")


class CompressionPostprocessor(BaseNodePostprocessor):
    """A postprocessor that shortens nodes to a shared token budget and drops those of which nothing fits.

    The nodes come back in their original order, as copies with ids, scores and metadata, and with ``original_tokens``
    and ``compressed_tokens``, hidden from language models. Metadata that a prompt shows with a text is not counted.
    Nodes with images, audio or video are always kept, whatever is left of their words.

    Attributes:
        memory: an open memory; nothing is stored in it.
        url: the URL of a store, instead of an open memory; by default a store in memory with the default settings.
        max_tokens: the budget of all texts together, by the memory's token counter.
        how: ``extractive`` keeps whole sentences, ``llmlingua`` words; see `HybridMemory.condense`.

    Raises:
        InvalidConfigError: ``memory`` and ``url`` are both given.
        pydantic.ValidationError: another argument is invalid or unknown.
        InvalidInputError: when shortening, the memory has no compressor for ``llmlingua``.
    """

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory | None = Field(default=None, exclude=True, repr=False)
    url: str = IN_MEMORY
    max_tokens: int = Field(default=1000, ge=1)
    how: Literal["extractive", "llmlingua"] = "extractive"

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
            self.memory = memory_at(self.url)
        return self.memory

    async def _astore(self) -> HybridMemory:
        # The first use of a URL reads files and may load a model.
        return await asyncio.to_thread(self._store) if self.memory is None else self.memory

    async def _shortened(
        self, run: Runner, /, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        memory = await run.call(self._store)
        query = None if query_bundle is None else checked_text("the query", query_bundle.query_str)
        asked = query if query and query.strip() else None
        texts = [one.node.get_content(metadata_mode=MetadataMode.NONE) for one in nodes]
        options: dict[str, Any] = {"max_tokens": self.max_tokens, "how": self.how}
        made: Condensed = await run.call(memory.condense, texts, query=asked, **options)
        left = []
        for one, old, text, *tokens in zip(nodes, texts, made.texts, made.before, made.after, strict=True):
            if not text.strip() and not any(getattr(one.node, name, None) for name in MEDIA):
                continue
            copied = _annotated(one.node, dict(zip(("original_tokens", "compressed_tokens"), tokens, strict=True)))
            if text != old:
                copied.set_content(text)
                copied.embedding = None  # it was that of all the words
            left.append(NodeWithScore(node=copied, score=one.score))
        return left

    _postprocess_nodes, _apostprocess_nodes = faces(_shortened)


def _annotated(node: BaseNode, metadata: dict[str, int]) -> BaseNode:
    """A copy with these values added to its metadata, neither embedded nor shown to a language model."""
    return node.model_copy(
        update={
            "metadata": {**node.metadata, **metadata},
            "excluded_llm_metadata_keys": list(dict.fromkeys([*node.excluded_llm_metadata_keys, *metadata])),
            "excluded_embed_metadata_keys": list(dict.fromkeys([*node.excluded_embed_metadata_keys, *metadata])),
        }
    )
