"""LangChain's models as language models of a memory."""

from typing import Any, TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, StateGraph

from hybrid_memory import Message
from hybrid_memory.models.language import as_language_model

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = [Message(content="我住在里斯本。 Where do I live?")]
LISBON = {"city": "里斯本"}


@pytest.mark.parametrize(
    "answers",
    [
        [AIMessage('Sure:\n```json\n{"city": "里斯本",}\n```')],
        [AIMessage([{"type": "text", "text": '<think>{"city": "?"}</think>{"city": "里斯本"}'}])],
        [AIMessage("You live in Lisbon."), AIMessage('{"city": "里斯本"}')],
    ],
)
def test_a_structured_answer_is_found_however_it_comes(answers: list[BaseMessage]) -> None:
    model = FakeMessagesListChatModel(responses=answers)
    assert as_language_model(model).structured(QUESTION, SCHEMA) == LISBON


def test_any_model_answers_with_an_object_in_text() -> None:
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
