"""LangChain's models as language models of a memory."""

from collections.abc import Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM, LanguageModelInput
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from pydantic import Field

from hybrid_memory import Message
from hybrid_memory.models.language import as_language_model

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = [Message(content="我住在里斯本。 Where do I live?")]
LISBON = {"city": "里斯本"}


def call_of(args: Any) -> dict[str, Any]:
    return {"name": "answer", "args": args, "id": "c1"}


class ToolCaller(FakeMessagesListChatModel):
    """Answers from a script, and takes tools; keeps what it was shown and bound."""

    shown: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        self.bound.append(tools)
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.shown.append(messages)
        if self.responses[self.i].content == "refuses" and len(self.shown) == 1:
            raise ValueError("400: tools are not supported")
        return super()._generate(messages, *args, **kwargs)


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([AIMessage("", tool_calls=[call_of(LISBON)])], 1),
        ([AIMessage('Sure:\n```json\n{"city": "里斯本",}\n```')], 1),  # parsed is None, and so is the error
        ([AIMessage("", invalid_tool_calls=[{**call_of('{"city": "里斯本"'), "error": "bad"}])], 1),
        ([AIMessage("", tool_calls=[{**call_of(LISBON), "name": "Answer"}])], 1),
        ([AIMessage([{"type": "text", "text": '<think>{"city": "?"}</think>{"city": "里斯本"}'}])], 1),
        ([AIMessage("You live in Lisbon."), AIMessage('{"city": "里斯本"}')], 2),
        ([AIMessage("", tool_calls=[call_of({})]), AIMessage("No."), AIMessage('{"city": "里斯本"}')], 3),
        ([AIMessage("refuses"), AIMessage('{"city": "里斯本"}')], 3),
    ],
)
def test_a_structured_answer_is_found_however_it_comes(answers: list[BaseMessage], asked: int) -> None:
    model = ToolCaller(responses=answers)
    assert as_language_model(model).structured(QUESTION, SCHEMA) == LISBON
    assert len(model.shown) == asked
    (tool,) = model.bound[0]
    assert tool["properties"] == SCHEMA["properties"]
    assert "JSON schema" not in str(model.shown[0])
    assert all("JSON schema" in str(shown) for shown in model.shown[1:])


def test_a_model_without_structured_output_answers_in_text() -> None:
    for model in (FakeListChatModel(responses=['{"city": "里斯本"}']), FakeListLLM(responses=['{"city": "里斯本"}'])):
        wrapped = as_language_model(model)
        for _ in range(2):
            assert wrapped.structured(QUESTION, SCHEMA) == LISBON


class State(TypedDict):
    said: str


def streaming(*texts: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(AIMessage(text) for text in texts))


@pytest.fixture
def graph() -> Any:
    """A node that asks our wrapper, and then a model of its own, which is the user's."""
    ours = as_language_model(streaming("secret words", '{"city": "secret"}'))
    theirs = streaming("public words")

    def node(state: State) -> State:
        summary = ours.complete(QUESTION)
        fact = ours.structured(QUESTION, SCHEMA)
        return {"said": f"{summary} {fact} {theirs.invoke('go').content}"}

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile()


def test_our_calls_do_not_leak_into_the_stream_of_messages(graph: Any) -> None:
    chunks = graph.stream({"said": ""}, stream_mode="messages")
    assert "".join(str(message.content) for message, _ in chunks) == "public words"
