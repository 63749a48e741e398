"""The memory of an `AgentExecutor`: tool steps between the user's turn and the answer, whole and in pairs."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypedDict

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.agents.output_parsers.tools import ToolAgentAction
from langchain_core.agents import AgentAction
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, StateGraph

from hybrid_memory import HybridMemory, Message
from hybrid_memory.models.language import as_language_model
from langchain_hybrid_memory import HybridChatMemory
from tests.langchain.conftest import ScriptedChat

Call = Callable[..., Any]


def _weather(city: str) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "degrees": {"Bonn": 12, "Rom": 24}[city]}


def _ferry(day: str) -> str:
    """When the ferry leaves."""
    return f"at nine on {day}"


WEATHER = StructuredTool.from_function(_weather, name="weather")
FERRY = StructuredTool.from_function(_ferry, name="ferry")


def call(name: str, id_: str | None, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


SCRIPT = [
    AIMessage("Let me see.", tool_calls=[call("weather", "c1", city="Bonn"), call("weather", "c2", city="Rom")]),
    AIMessage("", tool_calls=[call("ferry", "c3", day="Friday")]),
    AIMessage("Rome is warmer; the ferry leaves at nine."),
    AIMessage("On Friday."),
]
SAID = [
    HumanMessage("Bonn or Rome, and when does the ferry leave?"), SCRIPT[0],
    ToolMessage('{"city": "Bonn", "degrees": 12}', tool_call_id="c1", name="weather"),
    ToolMessage('{"city": "Rom", "degrees": 24}', tool_call_id="c2", name="weather"), SCRIPT[1],
    ToolMessage("at nine on Friday", tool_call_id="c3", name="ferry"), SCRIPT[2],
]  # fmt: skip
PROMPT = ChatPromptTemplate.from_messages(
    [("placeholder", "{history}"), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)


def chat(memory: HybridMemory, session: str = "s1", **options: Any) -> HybridChatMemory:
    return HybridChatMemory(memory=memory, user="alice", session=session, **options)


def executor(memory: HybridChatMemory) -> tuple[AgentExecutor, ScriptedChat]:
    model = ScriptedChat(answers=[message.model_copy() for message in SCRIPT])  # it gives them ids
    agent = create_tool_calling_agent(model, [WEATHER, FERRY], PROMPT)
    return AgentExecutor(agent=agent, tools=[WEATHER, FERRY], memory=memory, return_intermediate_steps=True), model


def run(face: str, memory: HybridChatMemory, *said: str) -> list[list[BaseMessage]]:
    """Let the agent answer; what its model was shown."""
    agent, model = executor(memory)
    if face in {"invoke", "stream"}:
        for text in said:
            assert list(agent.stream({"input": text})) if face == "stream" else agent.invoke({"input": text})
        return model.prompts

    async def talk() -> None:
        for text in said:
            if face == "ainvoke":
                await agent.ainvoke({"input": text})
            else:
                assert [chunk async for chunk in agent.astream({"input": text})]

    # Streaming, an executor asks every memory by its blocking face, on the loop.
    with blockbuster_ctx() if face == "ainvoke" else nullcontext():
        asyncio.run(talk())
    return model.prompts


def plain(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without their ids."""
    return [message.model_copy(update={"id": None, "response_metadata": {}}) for message in messages]


@pytest.mark.parametrize("face", ["invoke", "stream", "ainvoke", "astream"])
def test_an_agent_remembers_its_steps(opened: Call, face: str) -> None:
    with opened() as memory:
        shown = run(face, chat(memory, return_messages=True), str(SAID[0].content), "Which day?")
        assert plain(shown[-1]) == [*SAID, HumanMessage("Which day?")]
    with opened() as memory:
        again = chat(memory, return_messages=True)
        assert plain(again.load_memory_variables({})["history"]) == [*SAID, HumanMessage("Which day?"), SCRIPT[3]]
        recalled = chat(memory, "s2").load_memory_variables({"input": "ferry Friday"})["history"]
        assert "the ferry leaves at nine." in recalled


def acted(message: AIMessage, row: int) -> ToolAgentAction:
    made = message.tool_calls[row]
    return ToolAgentAction(
        tool=made["name"], tool_input=made["args"], log="", message_log=[message], tool_call_id=made["id"]
    )


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        ("as it is", "as it is"), ({"grüße": [1, None]}, '{"grüße": [1, null]}'), (None, "null"), (12.5, "12.5"),
        ({"at": 5, 7: {8}}, '{"at": 5, "7": [8]}'), ([Document("words")], None),
    ],
)  # fmt: skip
def test_an_observation_is_stored_as_text(memory: HybridMemory, observation: Any, text: str | None) -> None:
    own = chat(memory, return_messages=True)
    steps = [(AgentAction("f", "x", "log"), observation)]
    own.save_context({"input": "go"}, {"output": "done", "intermediate_steps": steps})
    asked, _, result, answer = own.load_memory_variables({})["history"]
    assert (asked.content, answer.content) == ("go", "done")
    if text is None:
        assert json.loads(str(result.content))[0]["page_content"] == "words"
    else:
        assert result.content == text


ROUNDS = st.lists(st.lists(st.tuples(st.sampled_from("fg"), st.booleans()), min_size=1, max_size=3), max_size=4)


@given(ROUNDS, st.integers(1, 9))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_call_has_its_result_and_every_result_its_call(
    memory: HybridMemory, rounds: list[list[tuple[str, bool]]], window: int
) -> None:
    own = chat(memory, session=f"s{memory.stats().events}", return_messages=True, window=window, k=0)
    steps: list[tuple[AgentAction, str]] = []
    for number, calls in enumerate(rounds):
        made = [call(name, f"{number}-{row}" if named else None, n=row) for row, (name, named) in enumerate(calls)]
        asked = AIMessage("", tool_calls=made)
        steps += [(acted(asked, row), f"result {number} {row}") for row in range(len(made))]
    own.save_context({"input": "go"}, {"output": "done", "intermediate_steps": steps})
    asked_first, *between, answer = own.load_memory_variables({})["history"]
    assert (asked_first.content, answer.content) == ("go", "done")
    assert [message.content for message in between if isinstance(message, ToolMessage)] == [text for _, text in steps]
    said = [message for message in between if isinstance(message, AIMessage)]
    assert [[made["name"] for made in message.tool_calls] for message in said] == [
        [name for name, _ in calls] for calls in rounds
    ]
    place = 0
    for message in said:
        ids = [made["id"] for made in message.tool_calls]
        assert between[place] == message
        results = between[place + 1 : place + 1 + len(ids)]
        assert [result.tool_call_id for result in results if isinstance(result, ToolMessage)] == ids
        place += 1 + len(ids)
    assert place == len(between)


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
