"""What the postprocessors have in common: a memory whose models they use, and copies of nodes that say more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, QueryBundle
from pydantic import ConfigDict, Field

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError
from llamaindex_hybrid_memory.sharing import IN_MEMORY, held, opened, url_of


class MemoryPostprocessor(BaseNodePostprocessor):
    """What works with a memory's models on nodes that it does not hold; serialised with the URL of its store."""

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory | None = Field(default=None, exclude=True, repr=False)
    url: str = IN_MEMORY

    if not TYPE_CHECKING:  # callers get our error, which pydantic would wrap

        def __init__(self, **fields: Any) -> None:
            if fields.get("memory") is not None and "url" in fields:
                raise InvalidConfigError("give memory= or url=, not both")
            super().__init__(**fields)

    def model_post_init(self, context: Any, /) -> None:
        """Hold on to the memory, if it was given or this process has it open."""
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
        # The first use of a URL reads files and may load a model, and `open_memory` has no async twin.
        return await asyncio.to_thread(self._store) if self.memory is None else self.memory


def asked(bundle: QueryBundle | None) -> str | None:
    """The question; None without one, or where it is empty."""
    return bundle.query_str if bundle is not None and bundle.query_str.strip() else None


def annotated(node: BaseNode, **metadata: Any) -> BaseNode:
    """A copy with this beside its metadata, neither embedded nor shown to a language model."""
    return node.model_copy(
        update={
            "metadata": {**node.metadata, **metadata},
            "excluded_llm_metadata_keys": list(dict.fromkeys([*node.excluded_llm_metadata_keys, *metadata])),
            "excluded_embed_metadata_keys": list(dict.fromkeys([*node.excluded_embed_metadata_keys, *metadata])),
        }
    )
