"""OpenAI and LangChain: what the frameworks themselves write comes back as the same conversation."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core import messages as langchain
from langchain_core.load import dumpd
from langgraph.graph import END, START, MessagesState, StateGraph

from hybrid_memory import Message, Role, as_messages
from hybrid_memory.apps.transcripts import read_transcript
from hybrid_memory.errors import InvalidInputError
from tests.evaluation.conftest import lines, read_one, written

CHAT = [
    {"role": "system", "content": "Answer briefly."},
    {"role": "user", "content": "What is the weather in 上海?", "name": "mia"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "上海"}'}},
            {"id": "c2", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "21 °C"},
    {"role": "tool", "tool_call_id": "c2", "content": "09:30"},
    {"role": "assistant", "content": "21 degrees, at half past nine."},
]


def gist(messages: Any) -> list[tuple[Any, ...]]:
    """Who said what, and which call a result answers."""
    rows = []
    for message in messages:
        calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
        rows.append((message.role.value, message.content, message.name, calls, message.tool_call_id))
    return rows


EXPECTED = [
    ("system", "Answer briefly.", None, [], None),
    ("user", "What is the weather in 上海?", "mia", [], None),
    ("assistant", "", None, [("c1", "weather", {"city": "上海"}), ("c2", "clock", {})], None),
    ("tool", "21 °C", None, [], "c1"),
    ("tool", "09:30", None, [], "c2"),
    ("assistant", "21 degrees, at half past nine.", None, [], None),
]


@pytest.mark.parametrize(
    "wrapped", [lambda chat: chat, lambda chat: {"messages": chat, "tools": []}], ids=["list", "messages"]
)
def test_an_openai_conversation_is_read_from_a_list_and_from_messages(tmp_path: Path, wrapped: Any) -> None:
    transcript = read_one(written(tmp_path, wrapped(CHAT)))
    assert gist(transcript.messages) == EXPECTED
    assert (transcript.name, transcript.form) == ("chat.json", "openai")


def test_jsonl_of_messages_is_one_conversation_and_jsonl_of_conversations_is_one_a_line(tmp_path: Path) -> None:
    assert gist(read_one(lines(tmp_path, CHAT)).messages) == EXPECTED
    both = read_transcript(lines(tmp_path, [{"messages": CHAT}, CHAT[:2], {"messages": []}], "many.jsonl"))
    assert [transcript.name for transcript in both] == ["many.jsonl#1", "many.jsonl#2"]
    assert [gist(transcript.messages) for transcript in both] == [EXPECTED, EXPECTED[:2]]


def test_the_older_openai_function_call_is_paired_with_its_result_by_an_invented_id(tmp_path: Path) -> None:
    chat = [
        {"role": "developer", "content": "Be exact."},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1, "b": 2}'}},
        {"role": "function", "name": "add", "content": "3"},
        {"role": "assistant", "content": None, "refusal": "I say no more."},
    ]
    messages = read_one(written(tmp_path, chat)).messages
    assert [message.role for message in messages] == [Role.SYSTEM, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert messages[1].tool_calls[0].arguments == {"a": 1, "b": 2}
    assert messages[2].tool_call_id == messages[1].tool_calls[0].id is not None
    assert messages[3].content == "I say no more."


def test_images_stay_content_blocks_and_text_parts_alone_become_text(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, image]},
        {"role": "assistant", "content": [{"type": "text", "text": "A cat."}, {"type": "text", "text": "Grey."}]},
    ]
    said, answer = read_one(written(tmp_path, chat)).messages
    assert said.content == [{"type": "text", "text": "Look:"}, image]
    assert answer.content == "A cat.\nGrey."


def test_anthropic_messages_give_calls_results_and_no_thinking(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": "How much is left?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I must look.", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "balance", "input": {"account": 7}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "12.50"}]},
                {"type": "text", "text": "Hurry."},
            ],
        },
    ]
    assert gist(read_one(written(tmp_path, chat)).messages) == [
        ("user", "How much is left?", None, [], None),
        ("assistant", "I look.", None, [("t1", "balance", {"account": 7})], None),
        ("tool", "12.50", None, [], "t1"),
        ("user", "Hurry.", None, [], None),
    ]


def test_call_ids_that_every_turn_uses_again_become_unique_and_keep_their_results(tmp_path: Path) -> None:
    call = {"id": "call_0", "function": {"name": "next", "arguments": "{}"}}
    turn = [
        {"role": "assistant", "content": "", "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "first"},
        {"role": "tool", "tool_call_id": "call_0", "content": "second"},
    ]
    messages = read_one(written(tmp_path, [{"role": "user", "content": "Go."}, *turn, *turn])).messages
    asked = [call.id for message in messages for call in message.tool_calls]
    assert len(set(asked)) == 4
    assert [message.tool_call_id for message in messages if message.role is Role.TOOL] == asked


def test_results_without_ids_go_to_the_call_of_their_tool_and_else_in_order(tmp_path: Path) -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("a", "b", "a")]
    chat = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "name": "b", "content": "of b"},
        {"role": "tool", "content": "of the first a"},
        {"role": "tool", "name": "a", "content": "of the second a"},
    ]
    asked, *results = read_one(written(tmp_path, chat)).messages
    first, second, third = (call.id for call in asked.tool_calls)
    assert [result.tool_call_id for result in results] == [second, first, third]


def test_times_are_read_as_iso_text_and_as_seconds_and_milliseconds(tmp_path: Path) -> None:
    times = ["2026-03-02T10:00:00+01:00", 1772442000, 1772442000000, "yesterday", None]
    chat = [{"role": "user", "content": "hi", "timestamp": time} for time in times]
    ats = [message.at.isoformat() if message.at else None for message in read_one(written(tmp_path, chat)).messages]
    assert ats == ["2026-03-02T09:00:00+00:00"] * 5  # an unknown time is that of the message before


@pytest.mark.parametrize(
    "fields",
    [{name: "2026-03-02T09:00:00Z"} for name in ("at", "timestamp", "created_at", "createdAt", "create_time", "date")]
    + [{"time": 1772442000}, {"date": "2026-03-02", "time": "09:00"}],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_time_is_read_whatever_its_field_is_called(tmp_path: Path, fields: dict[str, Any], whole: bool) -> None:
    said = {"role": "user", "content": "hi"}
    chat = {"messages": [said], **fields} if whole else [{**said, **fields}]
    (message,) = read_one(written(tmp_path, chat)).messages
    assert message.at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert Message.of({**said, **fields}).at == message.at
    assert as_messages({**said, **fields}, at=datetime(2030, 1, 1, tzinfo=UTC))[0].at == message.at


@pytest.mark.parametrize("time", ["yesterday", -5, 0, 1e30, True, {"a": 1}, "10000-01-01", "0001-01-01"])
def test_what_is_no_time_gives_none(time: Any) -> None:
    message = Message.of({"content": "hi", "timestamp": time})
    assert (message.at, message.extra) == (None, {"timestamp": time})


TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1).filter(str.strip)
NAME = st.text(alphabet=string.ascii_letters + "_-", min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(NAME, st.one_of(st.integers(-9, 9), TEXT, st.booleans(), st.none()), max_size=3)


@st.composite
def openai_chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 4))):
        chat.append({"role": draw(st.sampled_from(["user", "system"])), "content": draw(TEXT)})
        asked = draw(st.lists(st.tuples(NAME, ARGUMENTS), max_size=3))
        calls = [
            {"id": f"{turn}-{row}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for row, (name, arguments) in enumerate(asked)
        ]
        chat.append({"role": "assistant", "content": draw(TEXT), **({"tool_calls": calls} if calls else {})})
        chat += [{"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT)} for call in calls]
    return chat


def as_openai(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in message.tool_calls
        ]
    return found | ({"tool_call_id": message.tool_call_id} if message.tool_call_id else {})


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chat=openai_chats(), shape=st.sampled_from(["list", "messages", "message a line", "conversation a line"]))
def test_any_openai_conversation_comes_back(tmp_path: Path, chat: list[dict[str, Any]], shape: str) -> None:
    path = {
        "list": lambda: written(tmp_path, chat),
        "messages": lambda: written(tmp_path, {"messages": chat}),
        "message a line": lambda: lines(tmp_path, chat),
        "conversation a line": lambda: lines(tmp_path, [{"messages": chat}] * 2),
    }[shape]()
    for call in (call for message in chat for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    for transcript in read_transcript(path):
        assert [as_openai(message) for message in transcript.messages] == chat
        assert len({message.id for message in transcript.messages}) == len(chat)


LANGCHAIN = [
    langchain.SystemMessage("Answer briefly."),
    langchain.HumanMessage("What is the weather in 上海?", name="mia"),
    langchain.AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "c1", "name": "weather"}],
        tool_calls=[
            {"name": "weather", "args": {"city": "上海"}, "id": "c1"},
            {"name": "clock", "args": {}, "id": "c2"},
        ],
    ),
    langchain.ToolMessage("21 °C", tool_call_id="c1"),
    langchain.ToolMessage("09:30", tool_call_id="c2"),
    langchain.AIMessage("21 degrees, at half past nine."),
]
SHAPES: dict[str, Any] = {
    "messages_to_dict": langchain.messages_to_dict,
    "dumpd": lambda said: [dumpd(message) for message in said],
    "model_dump": lambda said: [message.model_dump(mode="json") for message in said],
    "state": lambda said: {"messages": [message.model_dump(mode="json") for message in said], "steps": 3},
    "dumped state": lambda said: json.loads(json.dumps(dumpd({"messages": said}))),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_langchain_writes_is_read_in_each_of_its_shapes(tmp_path: Path, shape: str) -> None:
    transcript = read_one(written(tmp_path, SHAPES[shape](LANGCHAIN)))
    assert transcript.form == "langchain"
    assert gist(transcript.messages) == EXPECTED


def test_the_state_of_a_langgraph_graph_is_read(tmp_path: Path) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [langchain.AIMessage("Hello, Mia.")]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    state = graph.compile().invoke({"messages": [langchain.HumanMessage("I am Mia.")]})
    messages = read_one(written(tmp_path, dumpd(state))).messages
    assert [(message.role, message.text) for message in messages] == [
        (Role.USER, "I am Mia."),
        (Role.ASSISTANT, "Hello, Mia."),
    ]
    assert [message.id for message in messages] == [message.id for message in state["messages"]]


def test_langchain_calls_that_could_not_be_parsed_and_speakers_of_their_own_are_kept(tmp_path: Path) -> None:
    chat: list[langchain.BaseMessage] = [
        langchain.ChatMessage(content="I doubt it.", role="critic"),
        langchain.AIMessage("", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c9", "error": "cut off"}]),
        langchain.ToolMessage("bad arguments", tool_call_id="c9"),
        langchain.AIMessageChunk(content="Well."),
        langchain.RemoveMessage(id="x"),
    ]
    assert gist(read_one(written(tmp_path, langchain.messages_to_dict(chat))).messages) == [
        ("user", "I doubt it.", "critic", [], None),
        ("assistant", "", None, [("c9", "f", "{")], None),
        ("tool", "bad arguments", None, [], "c9"),
        ("assistant", "Well.", None, [], None),
    ]


def test_a_message_of_another_form_among_them_is_refused_with_its_number(tmp_path: Path) -> None:
    mixed = [*CHAT[:2], langchain.messages_to_dict(LANGCHAIN[:1])[0]]
    with pytest.raises(InvalidInputError, match=r"chat\.json, line 1, message 3: no OpenAI chat message"):
        read_transcript(written(tmp_path, mixed))
