"""LlamaIndex's models behind the core's ports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CustomLLM
from pydantic import Field

from hybrid_memory import Message, Role
from hybrid_memory.models.embedders import HashingEmbedder, WrappedEmbedder
from hybrid_memory.models.language import as_language_model

Scripted = Callable[..., Any]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = [Message(content="我住在里斯本。 Where do I live?")]
LISBON = {"city": "里斯本"}
IN_TEXT = '{"city": "里斯本"}'
BRACED = [
    Message(role=Role.SYSTEM, content='Answer like {"city": "..."}, {{so}}, {message1} or {0}.'),
    Message(content="The code is f'{user!r}' and {city}; \\1 \\g<0> {}"),
]


def test_braces_reach_the_model_as_they_were_written(scripted: Scripted) -> None:
    llm = scripted("no object", IN_TEXT, "ok")
    assert as_language_model(llm).structured(BRACED, SCHEMA) == LISBON
    for system, user, *_ in llm.seen:
        assert system.content == BRACED[0].text
        assert user.content.startswith(BRACED[1].text)
    assert as_language_model(llm).complete(BRACED) == "ok"


class Completing(CustomLLM):
    """A model that completes text and does not chat."""

    answers: list[str]
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="completing")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.answers[min(len(self.prompts), len(self.answers)) - 1])

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError


def test_a_model_that_does_not_chat_answers_in_text() -> None:
    llm = Completing(answers=["You live in Lisbon.", f"{IN_TEXT} I hope this helps."])
    wrapped = as_language_model(llm)
    assert wrapped.name == "Completing/completing"
    assert wrapped.structured(BRACED, SCHEMA) == LISBON
    assert len(llm.prompts) == 2
    for prompt in llm.prompts:
        assert BRACED[0].text in prompt
        assert BRACED[1].text in prompt
    assert '"required": ["city"]' in llm.prompts[0]
    assert wrapped.complete(BRACED) == llm.answers[1]


class Hashed(BaseEmbedding):
    """Counts words; tells questions from texts."""

    batches: list[int] = Field(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        return HashingEmbedder(64).embed_query(text).tolist()  # type: ignore[no-any-return]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(len(texts))
        return [self._get_text_embedding(text) for text in texts]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [2 * value for value in self._get_text_embedding(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError


def test_texts_and_questions_are_embedded_in_batches_of_the_models_size() -> None:
    model = Hashed(model_name="small", embed_batch_size=2)
    embedder = WrappedEmbedder(model)
    rows = embedder.embed_documents(["a boat", "港口", "a boat"])
    assert (embedder.name, embedder.dim, model.batches) == ("Hashed/small", 64, [2, 1])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(rows[0], rows[2])
    np.testing.assert_allclose(embedder.embed_query("a boat"), rows[0], rtol=1e-6)
