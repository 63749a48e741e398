"""What a memory recalls, as the documents of a LangChain retriever."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from hybrid_memory import Hit, HybridMemory, RecordKind, ScopedMemory, Weights
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Scalar

_FILTERS = ("k", "within", "kinds", "categories", "since", "until", "filter", "weights", "spaces")


class HybridMemoryRetriever(BaseRetriever):
    """The turns and facts that answer a question best, of all sessions of a user.

    A document has the words as its content, the id of the event behind them, and as metadata the caller's own, and
    beside them, in their place where they have the same name: ``score``, ``why``, ``signals``, ``speaker``, ``at``
    (ISO 8601), ``sources``, ``kind``, ``session``; of a shared space also ``space`` and ``author``.

    An empty question finds nothing.

    Attributes:
        memory: an open memory.
        user, agent, tenant: whose memory it is; at least one.
        session: the conversation, for ``within="session"``.
        k: the most documents.
        within, kinds, categories, since, until, weights, spaces: as in `ScopedMemory.recall`.
        filter: values that a document's metadata must have; the ``metadata`` of `ScopedMemory.recall`, a name that
            LangChain uses for tracing.

    All from ``k`` on may also be given to ``invoke``: ``retriever.invoke(question, k=3)``.

    Raises:
        InvalidScopeError: none of user, agent and tenant.
        pydantic.ValidationError: another argument is wrong or unknown.
    """

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory = Field(exclude=True)
    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tenant: str | None = None
    k: int = Field(default=10, ge=1)
    within: Literal["user", "session"] = "user"
    kinds: tuple[RecordKind, ...] = ()
    categories: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    filter: Mapping[str, Scalar] | None = None
    weights: Weights | None = None
    spaces: Collection[str] | Literal["all"] = ()

    if not TYPE_CHECKING:  # callers get our error, which pydantic would wrap

        def __init__(self, **data: Any) -> None:
            super().__init__(**data)
            self._scoped()

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **filters: Any
    ) -> list[Document]:
        del run_manager  # LangChain reports what comes back
        if not query.strip():
            return []
        return [document(hit) for hit in self._scoped().recall(query, **self._asked(filters))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **filters: Any
    ) -> list[Document]:
        del run_manager
        if not query.strip():
            return []
        return [document(hit) for hit in await self._scoped().arecall(query, **self._asked(filters))]

    def _scoped(self) -> ScopedMemory:
        return self.memory.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=self.session)

    def _asked(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of recall: what the call says, else what this retriever says."""
        unknown = sorted(set(filters) - set(_FILTERS))
        if unknown:
            raise InvalidInputError(f"no filter {', '.join(unknown)}: choose from {', '.join(_FILTERS)}")
        asked = {name: filters.get(name, getattr(self, name)) for name in _FILTERS}
        asked["metadata"] = asked.pop("filter")
        return asked


def document(hit: Hit) -> Document:
    """The hit as a document; see `HybridMemoryRetriever`."""
    return Document(page_content=hit.record.text, id=hit.record.sources[0], metadata=hit.as_metadata())
