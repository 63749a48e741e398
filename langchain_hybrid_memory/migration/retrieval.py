"""`VectorStoreRetrieverMemory` over a hybrid memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from hybrid_memory import HybridMemory, Message, RecordKind, Role, ScopedMemory
from hybrid_memory.adapters import Runner, faces
from langchain_hybrid_memory.documents import document
from langchain_hybrid_memory.migration.memories import placed
from langchain_hybrid_memory.turns import INPUT_KEYS, pick

DOCUMENTS = 4
"""How many documents to find if neither ``k`` nor the retriever says; the default of vector stores."""


class VectorStoreRetrieverMemory(BaseMemory):
    """The exchanges from all sessions of the user that answer the input best, each turn with its answer.

    New turns are written to the memory. A retriever you pass is only read: what it finds alternates with the turns, the
    best of each first.

    Attributes:
        memory, user, session, tenant, agent: as for `HybridChatMemory`, but the session is optional; without a memory
            the object has a private store, with the embeddings of the retriever's vector store.
        retriever: the retriever of the vector store you used before; None if there is nothing to find in it.
        k: how many documents to return; by default the retriever's own ``search_kwargs["k"]``.
        memory_key: the prompt variable.
        input_key: the input to search for; by default the only one, or chosen as in `HybridChatMemory`.
        return_docs: return documents instead of text, with the metadata of `HybridMemoryRetriever`.
        exclude_input_keys: inputs not to store, in addition to ``memory_key``.
    """

    memory: HybridMemory = Field(default=None, frozen=True)  # type: ignore[assignment]  # set by __init__
    user: str | None = Field(default=None, frozen=True)
    session: str | None = Field(default=None, frozen=True)
    tenant: str | None = Field(default=None, frozen=True)
    agent: str | None = Field(default=None, frozen=True)
    retriever: BaseRetriever | None = Field(default=None, exclude=True)
    k: int = Field(default=DOCUMENTS, ge=1)
    memory_key: str = "history"
    input_key: str | None = None
    return_docs: bool = False
    exclude_input_keys: Sequence[str] = Field(default_factory=tuple)

    _scoped: ScopedMemory = PrivateAttr()

    if not TYPE_CHECKING:  # type checkers keep the field names

        def __init__(self, **data: Any) -> None:
            retriever = data.get("retriever")
            wanted = getattr(retriever, "search_kwargs", {}).get("k", DOCUMENTS)
            embeddings = getattr(getattr(retriever, "vectorstore", None), "embeddings", None)
            super().__init__(**{"k": wanted, **placed(data, embedder=embeddings)})
            self._scoped = self.memory.scoped(
                user=self.user, session=self.session, tenant=self.tenant, agent=self.agent
            )

    @property
    def memory_variables(self) -> list[str]:
        return [self.memory_key]

    async def _load_memory_variables(self, run: Runner, /, inputs: dict[str, Any]) -> dict[str, Any]:
        """The best answers to the input, best first, under ``memory_key``.

        Raises:
            InvalidInputError: it is ambiguous which input to search for.
        """
        own = {key: value for key, value in inputs.items() if key not in {self.memory_key, "stop"}}
        query = str(pick("input", own, self.input_key, INPUT_KEYS)).strip()
        if not query:
            return self._variables([])
        documents: dict[str, Document] = {}
        for hit in await run.call(self._scoped.recall, query, k=2 * self.k, kinds=(RecordKind.TURN,)):
            place, its = hit.record.id, self.memory.for_scope(hit.record.scope)
            around = await run.call(its.expand, f"#{max(1, place - 1)}-{place + 1}")
            exchange = _exchange(around, hit.record.sources[0])
            text = "\n".join(f"{message.speaker}: {message.text}" for message in exchange)
            # One for each turn with its answer, whichever of the two was found.
            documents.setdefault(str(exchange[0].id), document(hit).model_copy(update={"page_content": text}))
        found = list(documents.values())[: self.k]
        others = await run.call(self.retriever.invoke, query) if self.retriever is not None else []
        both = [each for pair in zip_longest(found, others) for each in pair if each is not None]
        return self._variables(both[: self.k])

    load_memory_variables, aload_memory_variables = faces(_load_memory_variables)

    async def _save_context(self, run: Runner, /, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Append turn and answer to the log, both or neither: all inputs and outputs except the excluded ones."""
        await run.call(self._scoped.remember, self._turn(inputs, outputs))

    save_context, asave_context = faces(_save_context)

    def clear(self) -> None:
        """Do nothing, since this would delete memories of other sessions; use `ScopedMemory.forget` to destroy."""

    async def aclear(self) -> None:
        """See `clear`."""

    def _turn(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[Message]:
        hidden = {self.memory_key, *self.exclude_input_keys}
        said = _text({key: value for key, value in inputs.items() if key not in hidden})
        turns = ((Role.USER, said), (Role.ASSISTANT, _text(outputs)))
        return [Message(role=role, content=text) for role, text in turns if text]

    def _variables(self, documents: Sequence[Document]) -> dict[str, Any]:
        return {self.memory_key: documents if self.return_docs else "\n".join(each.page_content for each in documents)}


def _text(values: Mapping[str, Any]) -> str:
    """The only value, or all values by name."""
    if len(values) == 1:
        return str(next(iter(values.values()))).strip()
    return "\n".join(f"{name}: {value}" for name, value in values.items())


def _exchange(around: Sequence[Message], message_id: str) -> Sequence[Message]:
    """The message with this id, together with its answer or the turn it answers."""
    place = next(row for row, message in enumerate(around) if message.id == message_id)
    if around[place].role is Role.ASSISTANT and place and around[place - 1].role is Role.USER:
        place -= 1
    answered = around[place].role is Role.USER and around[place + 1 :][:1]
    return around[place : place + 2] if answered and answered[0].role is Role.ASSISTANT else around[place : place + 1]
