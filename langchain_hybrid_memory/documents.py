"""A LangChain retriever of memories, and a compressor that shortens the documents of any retriever."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Self

from langchain_core.callbacks import Callbacks
from langchain_core.callbacks.base import RetrieverManagerMixin
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import AwareDatetime, ConfigDict, Field, model_validator

from hybrid_memory import Condensed, Hit, HybridMemory, Message, Origin, RecordKind, Weights
from hybrid_memory.adapters import How, Runner, Scalar, faces
from hybrid_memory.errors import InvalidInputError, InvalidMessageError
from langchain_hybrid_memory.messages import from_langchain, is_summary
from langchain_hybrid_memory.scopes import Binding

_FILTERS = (
    "k", "scope", "kinds", "categories", "since", "until", "filter", "weights", "spaces", "origins", "score_threshold"
)  # fmt: skip
_OURS = {"filter": "metadata", "score_threshold": "min_confidence"}
"""Arguments of recall, by the names that LangChain gives them."""

_RUN = "_run"
"""Under which a call hands on the configuration of its run."""


class HybridMemoryRetriever(BaseRetriever):
    """A retriever of the turns and facts that answer a question best, from all sessions of a user.

    A document contains the words, the id of their event, and as metadata your own values plus, replacing values of the
    same name: ``score``, ``confidence``, ``why``, ``signals``, ``speaker``, ``origin``, ``at`` (ISO 8601), ``sources``,
    ``kind``, ``session``; from a shared space also ``space`` and ``author``.

    An empty question finds nothing.

    Attributes:
        memory: an open memory.
        user, agent, tenant: the owner. Omitted parts are taken from the run: from its ``context``, ``configurable`` or
            ``metadata``, under names such as ``user_id``; see `create_memory_tools`.
        session: the conversation for ``scope="session"``; by default the run's.
        k: how many documents to return.
        score_threshold: return only documents with at least this confidence, in [0, 1]; the ``min_confidence`` of
            `ScopedMemory.recall`.
        scope, kinds, categories, since, until, weights, spaces, origins: as in `ScopedMemory.recall`.
        filter: values that a document's metadata must have; called ``metadata`` in `ScopedMemory.recall`, a name that
            LangChain uses for tracing.

    Everything from ``k`` to ``origins`` can also be passed to ``invoke``: ``retriever.invoke(question, k=3)``.

    Raises:
        InvalidScopeError: on a question, neither the retriever nor the run names a user, agent or tenant.
        pydantic.ValidationError: an argument is invalid or unknown.
    """

    model_config = ConfigDict(extra="forbid")

    memory: HybridMemory = Field(exclude=True)
    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tenant: str | None = None
    k: int = Field(default=10, ge=1)
    scope: Literal["user", "session"] = "user"
    kinds: tuple[RecordKind, ...] = ()
    categories: tuple[str, ...] = ()
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    filter: Mapping[str, Scalar] | None = None
    weights: Weights | None = None
    spaces: Collection[str] | Literal["all"] = ()
    origins: tuple[Origin, ...] = ()
    score_threshold: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="before")
    @classmethod
    def _named_singly(cls, fields: Any) -> Any:
        if isinstance(fields, Mapping) and (habits := {"search_kwargs", "search_type"} & set(fields)):
            raise InvalidInputError(
                f"{min(habits)} is an argument of vector stores: give k=, score_threshold= and filter= directly"
            )
        return fields

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since is not None and self.until is not None and self.since > self.until:
            raise InvalidInputError(f"since ({self.since}) is after until ({self.until})")
        _ = self._binding
        return self

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        """The documents that answer a question. LangChain hides the run's configuration from retrievers."""
        return super().invoke(input, config, **kwargs, **{_RUN: _run_of(config)})

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        """See `invoke`."""
        return await super().ainvoke(input, config, **kwargs, **{_RUN: _run_of(config)})

    async def _retrieve(
        self, run: Runner, /, query: str, *, run_manager: RetrieverManagerMixin, **filters: Any
    ) -> list[Document]:
        del run_manager  # LangChain reports what comes back
        memory = self._binding.of_run(filters.pop(_RUN, None) or ensure_config())
        if not query.strip():
            return []
        return [document(hit) for hit in await run.call(memory.recall, query, **self._asked(filters))]

    _get_relevant_documents, _aget_relevant_documents = faces(_retrieve)

    @property
    def _binding(self) -> Binding:
        return Binding(self.memory, user=self.user, session=self.session, agent=self.agent, tenant=self.tenant)

    def _asked(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of recall: from the call, or else from this retriever."""
        unknown = sorted(set(filters) - set(_FILTERS))
        if unknown:
            raise InvalidInputError(f"unknown filter {', '.join(unknown)}: choose from {', '.join(_FILTERS)}")
        asked = {name: filters.get(name, getattr(self, name)) for name in _FILTERS}
        return {_OURS.get(name, name): value for name, value in asked.items()}


def document(hit: Hit) -> Document:
    """The hit as a document; see `HybridMemoryRetriever`."""
    return Document(page_content=hit.record.text, id=hit.record.sources[0], metadata=hit.as_metadata())


class HybridDocumentCompressor(BaseDocumentCompressor):
    """A compressor that shortens retrieved documents to a shared token budget and drops those of which nothing fits.

    Ids and metadata stay, with ``original_tokens`` and ``compressed_tokens`` added; the originals are not changed.

    The same object is a summariser, ``SummarizationMiddleware(model, summarizer=compressor)``, if the installed
    langchain supports them.

    Attributes:
        memory: an open memory; nothing is stored in it.
        max_tokens: the budget of all documents together, or of the summary, by the memory's token counter.
        how: ``extractive`` keeps whole sentences, ``llmlingua`` words; see `HybridMemory.condense`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: HybridMemory = Field(exclude=True)
    max_tokens: int = Field(default=1000, ge=1)
    how: How = "extractive"

    async def _compress_documents(
        self, run: Runner, /, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        del callbacks
        texts = [document.page_content for document in documents]
        asked = query if query.strip() else None
        options: dict[str, Any] = {"max_tokens": self.max_tokens, "how": self.how}
        made: Condensed = await run.call(self.memory.condense, texts, query=asked, **options)
        left = []
        for document, text, before, after in zip(documents, made.texts, made.before, made.after, strict=True):
            metadata = {**document.metadata, "original_tokens": before, "compressed_tokens": after}
            if text.strip():
                left.append(document.model_copy(update={"page_content": text, "metadata": metadata}))
        return left

    compress_documents, acompress_documents = faces(_compress_documents)

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        """A summary of the messages; LangChain calls it off the event loop."""
        condensed = self.memory.condense(list(map(_as_source, messages)), max_tokens=self.max_tokens, how=self.how)
        summary = "\n".join(text for text in condensed.texts if text)
        # The ends of lines between them may cost a few tokens more.
        return self.memory.condense([summary], max_tokens=self.max_tokens).texts[0]


def _as_source(message: BaseMessage) -> str | Message:
    if is_summary(message):
        return str(message.text).partition("\n\n")[2] or str(message.text)
    try:
        return from_langchain(message, keep_id=False)
    except InvalidMessageError:  # what no log could hold can still be summarised
        return str(message.text).encode(errors="replace").decode()


def _run_of(config: RunnableConfig | None) -> RunnableConfig:
    if config is not None and not isinstance(config, Mapping):
        raise InvalidInputError(f"config is a RunnableConfig, a dict, got {type(config).__name__}")
    return ensure_config(config)
