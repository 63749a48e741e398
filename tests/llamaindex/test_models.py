"""LlamaIndex's models behind the core's ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.tools.types import BaseTool
from pydantic import BaseModel, Field

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


def call_of(arguments: Any, name: str = "answer", times: int = 1) -> ChatMessage:
    call = ToolCallBlock(tool_call_id="c1", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call] * times)


def shown(llm: Any) -> list[list[tuple[str, str]]]:
    return [[(message.role.value, message.content or "") for message in messages] for messages in llm.seen]


@pytest.fixture
def caller(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A model with a script that calls tools; what it was offered stands in ``offered``, what it refuses raises."""
    kind = type(scripted("x"))
    prepare = kind._prepare_chat_with_tools

    class Caller(kind):  # type: ignore[misc, valid-type]
        offered: list[dict[str, Any]] = Field(default_factory=list)
        refuses: bool = False

        def _prepare_chat_with_tools(self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any) -> dict[str, Any]:
            self.offered += [tool.metadata.to_openai_tool()["function"] for tool in tools]
            if self.refuses:
                raise RuntimeError("400: this model does not support tools")
            return prepare(self, tools, *args, **kwargs)  # type: ignore[no-any-return]

    def make(*replies: str | ChatMessage, **fields: Any) -> Any:
        return Caller(replies=scripted(*replies).replies, **fields)

    return make


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([call_of(LISBON)], 1),
        (["You live in Lisbon.", f"Sure:\n```json\n{IN_TEXT[:-1]},}}\n```"], 2),
        ([call_of(LISBON, name="Answer"), IN_TEXT], 2),
        ([call_of({}), IN_TEXT], 2),
        ([call_of(LISBON, times=2), IN_TEXT], 2),
        (["Lisbon.", "Lisbon!", f"<think>{{}}</think>{IN_TEXT}"], 3),
    ],
    ids=["call", "no call", "another tool", "empty", "twice", "third time"],
)
def test_a_structured_answer_is_found_however_it_comes(
    caller: Scripted, answers: list[str | ChatMessage], asked: int
) -> None:
    llm = caller(*answers)
    wrapped = as_language_model(llm)
    assert wrapped.structured(QUESTION, SCHEMA) == LISBON
    assert len(llm.seen) == asked
    (tool,) = llm.offered
    assert (tool["name"], tool["description"]) == ("answer", "The answer.")
    assert tool["parameters"] == SCHEMA
    first, *later = shown(llm)
    assert first == [("user", QUESTION[0].text)]
    assert all("JSON schema" in str(messages) for messages in later)


def test_a_model_that_refuses_tools_is_asked_for_text_from_then_on(caller: Scripted) -> None:
    llm = caller(IN_TEXT, refuses=True)
    wrapped = as_language_model(llm)
    for _ in range(3):
        assert wrapped.structured(QUESTION, SCHEMA) == LISBON
    assert (len(llm.offered), len(llm.seen)) == (1, 3)


@pytest.mark.parametrize("answers", [[call_of(LISBON)], ["no call", IN_TEXT]], ids=["tools", "text"])
def test_braces_reach_the_model_as_they_were_written(caller: Scripted, answers: list[str | ChatMessage]) -> None:
    llm = caller(*answers)
    assert as_language_model(llm).structured(BRACED, SCHEMA) == LISBON
    first, *later = shown(llm)
    assert first == [("system", BRACED[0].text), ("user", BRACED[1].text)]
    for system, user in later:
        assert system == ("system", BRACED[0].text)
        assert user[1].startswith(BRACED[1].text)
    assert as_language_model(caller("ok")).complete(BRACED) == "ok"


class Grammar(MockLLM):
    """A model that is no function caller, and keeps to a schema in its own way."""

    schemas: list[dict[str, Any]] = Field(default_factory=list)
    answers: list[Any] = Field(default_factory=list)

    def structured_predict(
        self, output_cls: type[BaseModel], prompt: Any, llm_kwargs: Any = None, **prompt_args: Any
    ) -> BaseModel:
        self.schemas.append(output_cls.model_json_schema())
        (message,) = prompt.format_messages(**prompt_args)
        assert message.content == QUESTION[0].text
        return output_cls.model_validate_json(self.answers.pop(0))


def test_a_model_with_structured_output_of_its_own_is_asked_for_it() -> None:
    llm = Grammar(max_tokens=None)
    llm.answers = [IN_TEXT, IN_TEXT]
    wrapped = as_language_model(llm)
    for _ in range(2):
        assert wrapped.structured(QUESTION, SCHEMA) == LISBON
    named = {"title": "answer", "description": "The answer.", "additionalProperties": False}
    assert llm.schemas == [{**SCHEMA, **named}] * 2


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
