"""Exports of ChatGPT and Claude.ai, without what nobody saw, and what OpenAI and LangChain themselves write."""

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
from hybrid_memory.log.exchanges import exchanges
from tests.evaluation.conftest import lines, read_one, written

BEGAN = 1_772_000_000.0
"""2026-02-25 06:13:20 UTC."""


def node(name: str, parent: str | None, said: dict[str, Any] | None, *children: str) -> dict[str, Any]:
    return {"id": name, "message": said, "parent": parent, "children": [*children]}


def said(name: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    written = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": more.pop("tool", None), "metadata": {}}
    told = {"id": name, "author": author, "create_time": more.pop("at", BEGAN), "content": written}
    return {**told, "weight": 1.0, "metadata": {}, "recipient": "all", **more}


def chat(*nodes: dict[str, Any], current: str | None = None) -> dict[str, Any]:
    """An export of ChatGPT."""
    return {
        "title": "Trip to Rome", "conversation_id": "6f3a2b1c-0000-4000-8000-000000000001", "create_time": BEGAN,
        "mapping": {one["id"]: one for one in nodes}, "current_node": current,
    }  # fmt: skip


@pytest.fixture
def rome() -> dict[str, Any]:
    """Asked twice: the first question was edited, so that its branch is no longer shown."""
    about = {"content_type": "user_editable_context", "user_profile": "I am Mia."}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}
    return chat(
        node("root", None, None, "sys"),
        node("sys", "root", said("sys", "system", ""), "custom"),
        node("custom", "sys", said("custom", "user", about), "q1", "q2"),
        node("q1", "custom", said("q1", "user", "Two days in Rome?"), "a1"),
        node("a1", "q1", said("a1", "assistant", "See the Forum.")),
        node("q2", "custom", said("q2", "user", "Three days in Rome?", at=BEGAN + 60), "think"),
        node("think", "q2", said("think", "assistant", thoughts), "a2"),
        node("a2", "think", said("a2", "assistant", "Add the Appian Way.", at=BEGAN + 61.5)),
        current="a2",
    )


def gist(path: Path) -> list[tuple[str, str, str]]:
    (transcript,) = read_transcript(path)
    return [(str(message.id), message.role.value, message.text) for message in transcript.messages]


def test_the_branch_that_was_shown_last_is_read_with_ids_and_times(tmp_path: Path, rome: dict[str, Any]) -> None:
    (transcript,) = read_transcript(written(tmp_path, [rome]))
    assert (transcript.form, transcript.key) == ("chatgpt", "Trip to Rome (6f3a2b1c)")
    assert gist(tmp_path / "chat.json") == [
        ("q2", "user", "Three days in Rome?"),
        ("a2", "assistant", "Add the Appian Way."),
    ]
    times = [message.at and message.at.isoformat() for message in transcript.messages]
    assert times == ["2026-02-25T06:14:20+00:00", "2026-02-25T06:14:21.500000+00:00"]


BRANCHES: dict[str, tuple[dict[str, Any], str | None, list[str]]] = {
    "the other branch by its node": ({"current_node": "a1"}, None, ["q1", "a1"]),
    "no current node": ({"current_node": None}, None, ["q2", "a2"]),
    "one that is gone": ({"current_node": "gone"}, None, ["q2", "a2"]),
    "one that is no name": ({"current_node": 7}, None, ["q2", "a2"]),
    "a missing parent": ({}, "gone", ["q2", "a2"]),
    "a ring": ({}, "a2", ["q2", "a2"]),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_branch_that_counts(tmp_path: Path, rome: dict[str, Any], branch: str) -> None:
    fields, parent, expected = BRANCHES[branch]
    rome["mapping"]["q2"]["parent"] = parent or "custom"
    assert [name for name, *_ in gist(written(tmp_path, [{**rome, **fields}]))] == expected


def test_what_was_hidden_is_left_out(tmp_path: Path) -> None:
    nodes = [
        node("a", None, said("a", "user", "Shown?"), "b"),
        node("b", "a", said("b", "assistant", "x", metadata={"is_visually_hidden_from_conversation": True}), "c"),
        node("c", "b", said("c", "assistant", "x", weight=0.0), "d"),
        node("d", "c", said("d", "critic", "x"), "e"),
        node("e", "d", said("e", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 3 s"}), "f"),
        node("f", "e", said("f", "assistant", "Shown.")),
    ]
    assert [name for name, *_ in gist(written(tmp_path, [chat(*nodes, current="f")]))] == ["a", "f"]


def test_custom_instructions_are_read_once_from_their_first_conversation_on(tmp_path: Path) -> None:
    given = {"about_user_message": "I am Mia.", "about_model_message": "Be brief."}
    hidden = said("c", "user", {"content_type": "user_editable_context"}, metadata={"user_context_message_data": given})
    first = chat(node("c", None, hidden, "q"), node("q", "c", said("q", "user", "Rome?")))
    written(tmp_path, [{**first, "create_time": BEGAN + 9}, first])
    written(tmp_path, [], name="shared_conversations.json")
    own = [one for one in read_transcript(tmp_path) if one.key == "custom instructions"]
    assert [one.messages[0].text for one in own] == ["I am Mia.", "Be brief."]
    assert {one.messages[0].at and one.messages[0].at.timestamp() for one in own} == {BEGAN}
    assert all(one.undated for one in own), "which corrects no time that a message has"


def test_what_a_tool_was_asked_is_a_call_and_its_answer_the_result(tmp_path: Path) -> None:
    code = {"content_type": "code", "language": "python", "text": "print(6 * 7)"}
    output = {"content_type": "execution_output", "text": "42"}
    nodes = [
        node("a", None, said("a", "user", "What is 6 * 7?"), "b"),
        node("b", "a", said("b", "assistant", code, recipient="python"), "c"),
        node("c", "b", said("c", "tool", output, tool="python"), "d"),
        node("d", "c", said("d", "assistant", "42.")),
    ]
    (transcript,) = read_transcript(written(tmp_path, [chat(*nodes, current="d")]))
    asked, answered = transcript.messages[1:3]
    assert (asked.tool_calls[0].name, asked.tool_calls[0].arguments) == ("python", "print(6 * 7)")
    assert (answered.content, answered.tool_call_id) == ("42", asked.tool_calls[0].id)
    assert all(exchange.complete for exchange in exchanges(transcript.messages))


def test_an_attached_file_is_named(tmp_path: Path) -> None:
    attached = said("a", "user", "Why is this slow?", metadata={"attachments": [{"id": "f", "name": "orders.sql"}]})
    (transcript,) = read_transcript(written(tmp_path, [chat(node("a", None, attached))]))
    assert transcript.messages[0].text == "Why is this slow?\n[orders.sql]"


def turn(uuid: str, text: str, sender: str = "human", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text, "citations": []}]
    at = f"2026-03-02T09:0{uuid[-1]}:00.123456Z"
    return {"uuid": uuid, "text": text, "content": content, "sender": sender, "created_at": at, "files": [], **fields}


def trip(*turns: Any) -> dict[str, Any]:
    """An export of Claude.ai."""
    return {
        "uuid": "6f3a2b1c-0000", "name": "Trip to Rome", "created_at": "2026-03-02T08:00:00Z", "account": {"uuid": "a"},
        "chat_messages": list(turns),
    }  # fmt: skip


def test_an_export_is_read_with_names_ids_and_times(tmp_path: Path) -> None:
    asked = trip(turn("m1", "Two days in Rome?"), turn("m2", "See the Forum.", "assistant"))
    (rome,) = read_transcript(path := written(tmp_path, [asked, trip()]))
    assert (rome.form, rome.key) == ("claude-ai", "Trip to Rome (6f3a2b1c)")
    assert gist(path) == [("m1", "user", "Two days in Rome?"), ("m2", "assistant", "See the Forum.")]
    assert str(rome.messages[0].at) == "2026-03-02 09:01:00.123456+00:00"


def test_what_is_broken_is_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    refusals: list[str] = []
    turns = [turn("m1", "Rome?"), {"sender": "king"}, turn("m2", "Yes.", "assistant", created_at=None), 7]
    path = written(tmp_path, [{"name": "no messages"}, trip(*turns), "no"])
    (rome,) = read_transcript(path, refusals=refusals)
    assert [message.id for message in rome.messages] == ["m1", "m2"]
    assert rome.messages[1].at == rome.messages[0].at
    assert [name.split(": ")[0].partition("line 1, ")[2] for name in refusals] == [
        "conversation 1", "conversation 2, message 2", "conversation 2, message 4", "conversation 3",
    ]  # fmt: skip


def who_said_what(messages: Any) -> list[tuple[Any, ...]]:
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
    assert who_said_what(read_one(written(tmp_path, chat)).messages) == [
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
    assert who_said_what(transcript.messages) == EXPECTED
