"""A postprocessor that shortens any retriever's nodes to a token budget."""

from __future__ import annotations

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field

from hybrid_memory import Condensed, HybridMemory
from hybrid_memory.adapters import How, Runner, checked_text, faces

MEDIA = ("image", "image_path", "image_url", "image_resource", "audio_resource", "video_resource")


class CompressionPostprocessor(BaseNodePostprocessor):
    """A postprocessor that shortens nodes to a shared token budget and drops those of which nothing fits.

    The nodes come back in their original order, as copies with ids, scores and metadata, and with ``original_tokens``
    and ``compressed_tokens``, hidden from language models. Metadata that a prompt shows with a text is not counted.
    Nodes with images, audio or video are always kept, whatever is left of their words.

    Attributes:
        memory: an open memory; nothing is stored in it.
        max_tokens: the budget of all texts together, by the memory's token counter.
        how: ``extractive`` keeps whole sentences, ``llmlingua`` words; see `HybridMemory.condense`.

    Raises:
        pydantic.ValidationError: an argument is invalid or unknown.
        InvalidInputError: when shortening, the memory has no compressor for ``llmlingua``.
    """

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory = Field(exclude=True, repr=False)
    max_tokens: int = Field(default=1000, ge=1)
    how: How = "extractive"

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    async def _shortened(
        self, run: Runner, /, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = None if query_bundle is None else checked_text("the query", query_bundle.query_str)
        asked = query if query and query.strip() else None
        texts = [one.node.get_content(metadata_mode=MetadataMode.NONE) for one in nodes]
        options: dict[str, Any] = {"max_tokens": self.max_tokens, "how": self.how}
        made: Condensed = await run.call(self.memory.condense, texts, query=asked, **options)
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
