"""OpenAI and LangChain: what the frameworks themselves write comes back as the same conversation."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core import messages as langchain
from langchain_core.load import dumpd

from hybrid_memory import Message
from hybrid_memory.apps.transcripts import read_transcript
from tests.evaluation.conftest import lines, read_one, written


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


TEXT = st.text(alphabet=st.characters(codec="utf-8"), min_size=1).filter(str.strip)
NAME = st.text(alphabet=string.ascii_letters + "_-", min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(NAME, st.one_of(st.integers(-9, 9), TEXT, st.booleans(), st.none()), max_size=3)


@st.composite
def openai_chats(draw: st.DrawFn) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 4))):
        named = draw(st.sampled_from([{}, {"name": "mia"}]))
        chat.append({"role": draw(st.sampled_from(["user", "system"])), "content": draw(TEXT), **named})
        asked = draw(st.lists(st.tuples(NAME, ARGUMENTS), max_size=3))
        calls = [
            {"id": f"{turn}-{row}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for row, (name, arguments) in enumerate(asked)
        ]
        said = draw(TEXT | st.none() if calls else TEXT)
        chat.append({"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})})
        chat += [{"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT)} for call in calls]
    return chat


def as_openai(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role.value, "content": message.content or None}
    found |= {"name": message.name} if message.name else {}
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
        "messages": lambda: written(tmp_path, {"messages": chat, "tools": []}),
        "message a line": lambda: lines(tmp_path, chat),
        "conversation a line": lambda: lines(tmp_path, [{"messages": chat}] * 2),
    }[shape]()
    for call in (call for message in chat for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    for transcript in read_transcript(path):
        assert transcript.form == "openai"
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
