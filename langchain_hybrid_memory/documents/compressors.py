"""A retriever's documents, ranked by meaning and words, or shortened to a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import ConfigDict, Field, PrivateAttr

from hybrid_memory import Condensed, HybridMemory, Scored, Weights
from hybrid_memory.context.condense import How
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.validation import instant
from langchain_hybrid_memory.documents.editing import edited, told

SHORTENED = 1024


class HybridScoreCompressor(BaseDocumentCompressor):
    """Ranks the documents of any retriever: ``0.7 * vector + 0.3 * text``, by the memory's embedder and BM25.

    The documents come back best first, with ``score`` and ``why`` in their metadata; those given are not changed. An
    empty question leaves their order.

    Attributes:
        memory: an open memory; nothing is stored in it.
        top_n: the most documents; None is all.
        weights: of vector, text and recency; see `HybridMemory.score`.
        diversity: towards 1, documents that repeat better ones fall back; the configured one by default.
        time_key: metadata with the time of a document, an instant or ISO 8601, for weights with a recency.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: HybridMemory = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1)
    weights: Weights | None = None
    diversity: float | None = Field(default=None, ge=0, le=1)
    time_key: str = "at"

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """The documents that answer the query best, best first."""
        del callbacks
        if not query.strip():
            return list(documents[: self.top_n])
        texts, options = self._asked(documents)
        return _ranked(documents, self.memory.score(query, texts, **options))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Async twin of `compress_documents`."""
        del callbacks
        if not query.strip():
            return list(documents[: self.top_n])
        texts, options = self._asked(documents)
        return _ranked(documents, await self.memory.ascore(query, texts, **options))

    def _asked(self, documents: Sequence[Document]) -> tuple[list[str], dict[str, Any]]:
        at = [instant(document.metadata.get(self.time_key)) for document in documents]
        options = {"k": self.top_n, "at": at, "weights": self.weights, "diversity": self.diversity}
        return [document.page_content for document in documents], options


def _ranked(documents: Sequence[Document], found: Sequence[Scored]) -> list[Document]:
    return [_with(documents[one.row], score=one.score, why=one.why()) for one in found]


def _with(document: Document, *, page_content: str | None = None, **metadata: Any) -> Document:
    content = document.page_content if page_content is None else page_content
    return document.model_copy(update={"page_content": content, "metadata": {**document.metadata, **metadata}})


class HybridDocumentCompressor(BaseDocumentCompressor):
    """Shortens retrieved documents to a token budget that they share; those of which nothing fits are left out.

    Ids and metadata stay, with ``original_tokens`` and ``compressed_tokens``; the documents given are not changed.

    The same object is a summariser, ``SummarizationMiddleware(model, summarizer=compressor)``, and an edit,
    ``ContextEditingMiddleware(edits=[compressor])``, where the installed langchain takes these.

    Attributes:
        memory: an open memory; nothing is stored in it.
        max_tokens: of all documents together by the memory's token counter; as a summariser, of the summary; as an
            edit, of all messages together by the middleware's counter.
        how: ``extractive`` keeps whole sentences, ``anchored`` notes, ``llmlingua`` words; see `HybridMemory.condense`.
        weights: of vector and text for the question; words alone by default, see `HybridMemory.condense`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: HybridMemory = Field(exclude=True)
    max_tokens: int = Field(default=1000, ge=1)
    how: How = "extractive"
    weights: Weights | None = None
    _shortened: LruCache[tuple[str, str | None, int], str] = PrivateAttr(default_factory=lambda: LruCache(SHORTENED))

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """What of the documents fits, in their order."""
        del callbacks
        texts = [document.page_content for document in documents]
        return _left(documents, self.memory.condense(texts, **self._asked(query)))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Async twin of `compress_documents`."""
        del callbacks
        texts = [document.page_content for document in documents]
        return _left(documents, await self.memory.acondense(texts, **self._asked(query)))

    def _asked(self, query: str) -> dict[str, Any]:
        asked = query if query.strip() else None
        return {"query": asked, "max_tokens": self.max_tokens, "how": self.how, "weights": self.weights}

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        """A summary of all these messages; LangChain calls it off the event loop."""
        condensed = self.memory.condense(told(messages), max_tokens=self.max_tokens, how=self.how)
        summary = "\n".join(text for text in condensed.texts if text)
        # The ends of lines between them may cost a few tokens more.
        return self.memory.condense([summary], max_tokens=self.max_tokens).texts[0]

    def apply(self, messages: list[AnyMessage], *, count_tokens: Callable[[Sequence[BaseMessage]], int]) -> None:
        """Bring the messages of one model call within the budget, in place; the state of the agent keeps them.

        Old tool results are shortened first, the oldest before others; then the newest; then the oldest exchanges are
        left out, each with all results of its calls. System messages, the last turn of the user and the last exchange
        always stay, and so do ids, and digests with their handles.

        The middleware waits for nothing here, so that sentences are chosen by words alone, whatever ``how`` says.
        """
        edited(messages, self.max_tokens, count_tokens, self._short)

    def _short(self, text: str, question: str | None, max_tokens: int) -> str:
        # Remembered, because the same results come again with every call of the model.
        key = (text, question, max_tokens)
        short = self._shortened.get(key)
        if short is None:
            short = self.memory.condense([text], query=question, max_tokens=max_tokens).texts[0]
            self._shortened.put(key, short)
        return short


def _left(documents: Sequence[Document], condensed: Condensed) -> list[Document]:
    rows = zip(documents, condensed.texts, condensed.before, condensed.after, strict=True)
    return [
        _with(document, page_content=text, original_tokens=before, compressed_tokens=after)
        for document, text, before, after in rows
        if text.strip()
    ]
