"""Exports of ChatGPT and Claude.ai, without what nobody saw, and what OpenAI and LangChain themselves write."""

import json
import os
import re
import string
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core import messages as langchain
from langchain_core.load import dumpd

from hybrid_memory import Message
from hybrid_memory.apps.transcripts import Transcript, read_transcript
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.exchanges import exchanges
from tests.world import cases

BEGAN = 1_772_000_000.0
"""2026-02-25 06:13:20 UTC."""


def file_with(folder: Path, text: str | bytes, name: str = "chat.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def written(folder: Path, value: Any, name: str = "chat.json") -> Path:
    return file_with(folder, json.dumps(value), name)


def read_one(path: Path) -> Transcript:
    (transcript,) = read_transcript(path)
    return transcript


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


def test_what_is_unknown_is_named_and_marks_of_sources_are_dropped(tmp_path: Path) -> None:
    sauce = said("b", "assistant", "Dry in summer.\ue200cite\ue202turn0search0\ue201 Wet later.")
    nodes = [node("a", None, said("a", "robot", "Hello?"), "b"), node("b", "a", sauce, "c")]
    nodes.append(node("c", "b", said("c", "user", {"content_type": "hologram", "light": "x"})))
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([chat(*nodes, current="c")]))
    refusals: list[str] = []
    (transcript,) = read_transcript(tmp_path, refusals=refusals)
    assert [message.text for message in transcript.messages] == ["Dry in summer. Wet later."]
    assert ["robot" in refusals[0], "hologram" in refusals[1]] == [True, True]


def gist(path: Path) -> list[tuple[str, str, str]]:
    transcript = read_one(path)
    return [(str(message.id), message.role.value, message.text) for message in transcript.messages]


def test_the_branch_that_was_shown_last_is_read_with_ids_and_times(tmp_path: Path, rome: dict[str, Any]) -> None:
    transcript = read_one(written(tmp_path, [rome]))
    assert (transcript.form, transcript.key) == ("chatgpt", "Trip to Rome (6f3a2b1c)")
    assert gist(tmp_path / "chat.json") == [
        ("q2", "user", "Three days in Rome?"),
        ("a2", "assistant", "Add the Appian Way."),
    ]
    times = [message.at and message.at.isoformat() for message in transcript.messages]
    assert times == ["2026-02-25T06:14:20+00:00", "2026-02-25T06:14:21.500000+00:00"]


BRANCHES = cases("evaluation/transcripts.json", "branches")


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
    assert [one.messages[0].metadata for one in own] == [{}, {"standing_instruction": True}]
    assert {one.messages[0].at and one.messages[0].at.timestamp() for one in own} == {BEGAN}


def test_what_a_tool_was_asked_is_a_call_and_its_answer_the_result(tmp_path: Path) -> None:
    code = {"content_type": "code", "language": "python", "text": "print(6 * 7)"}
    output = {"content_type": "execution_output", "text": "42"}
    nodes = [
        node("a", None, said("a", "user", "What is 6 * 7?"), "b"),
        node("b", "a", said("b", "assistant", code, recipient="python"), "c"),
        node("c", "b", said("c", "tool", output, tool="python"), "d"),
        node("d", "c", said("d", "assistant", "42.")),
    ]
    transcript = read_one(written(tmp_path, [chat(*nodes, current="d")]))
    asked, answered = transcript.messages[1:3]
    assert (asked.tool_calls[0].name, asked.tool_calls[0].arguments) == ("python", "print(6 * 7)")
    assert (answered.content, answered.tool_call_id) == ("42", asked.tool_calls[0].id)
    assert all(exchange.complete for exchange in exchanges(transcript.messages))


def test_an_attached_file_is_named(tmp_path: Path) -> None:
    attached = said("a", "user", "Why is this slow?", metadata={"attachments": [{"id": "f", "name": "orders.sql"}]})
    transcript = read_one(written(tmp_path, [chat(node("a", None, attached))]))
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
        "message a line": lambda: file_with(tmp_path, "\n".join(map(json.dumps, chat))),
        "conversation a line": lambda: file_with(tmp_path, "\n".join([json.dumps({"messages": chat})] * 2)),
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


FORMS = ["openai", "langchain", "claude-ai", "chatgpt"]


def line_of(text: str, role: str = "user") -> str:
    return json.dumps({"role": role, "content": text}, ensure_ascii=False)


def test_a_folder_is_all_of_its_files_by_name(tmp_path: Path) -> None:
    file_with(tmp_path, line_of("b"), "b.jsonl")
    file_with(tmp_path, f"[{line_of('a')}]", "deep/er/a.json")
    file_with(tmp_path, "not for us", "notes.txt")
    file_with(tmp_path, "{broken", ".hidden.json")
    found = read_transcript(tmp_path)
    assert [(transcript.name, transcript.form) for transcript in found] == [
        ("b.jsonl", "openai"),
        ("deep/er/a.json", "openai"),
    ]


def test_a_broken_line_is_named_and_so_is_the_place_in_it(tmp_path: Path) -> None:
    whole = [line_of(str(number)) for number in range(5)]
    for number in range(5):
        lines = [*whole]
        lines[number] = lines[number][:-3]
        with pytest.raises(InvalidInputError, match=rf"chat\.jsonl, line {number + 1}: broken JSON: .* at character"):
            read_transcript(file_with(tmp_path, "\n".join(lines)))
    with pytest.raises(InvalidInputError, match="line 1: broken JSON"):
        read_transcript(file_with(tmp_path, '{"role": "user", "content":\n' + "\n".join(whole)))


A = b'{"role": "user", "content": "a"}'
BROKEN: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 0, "is empty"),
    "blank lines": (b"\xef\xbb\xbf\n \n", 0, "is empty"),
    "a line in another encoding": (b'{"role": "user", "content": "\xff"}\n' + A, 1, "line 1: not UTF-8"),
    "a file in another encoding": (b'[\n{"role": "user", "content": "\xff"}]\n', 0, "not UTF-8"),
    "endless nesting": (b"[" * 200_000, 0, "line 1: "),
    "an empty list": (b"[]", 0, "not a known transcript format"),
    "no messages": (b'{"messages": []}', 0, "not a known transcript format"),
    "questions": (b'{"question": "a"}\n' * 30, 0, "line 1: not a known transcript format.*openai.*langchain.*chatgpt"),
    "an unknown role": (A + b'\n{"role": "king"}', 1, "line 2: no OpenAI chat message"),
    "mixed lines": (A + b"\n[" + A + b"]\n" + A, 2, "line 2: a file holds one"),
    "a head": (b'{"id": 7}\n' + A, 1, "line 1: no OpenAI chat message: {'id': 7}"),
    "silence": (b'{"role": "user", "content": " "}', 0, "holds no messages"),
    "a call that is none": (b'{"role": "assistant", "tool_calls": ["f"]}\n' + A, 1, "line 1: a tool call .* got 'f'"),
    "a cut last line": (A + b'\n{"role": "user", "cont', 1, "line 2: broken JSON"),
    "a broken first line": (b'{"role": "us\n' + A + b"\n", 1, "line 1: broken JSON"),
    "a first message that is none": (b'[{"role": "king"}, ' + A + b"]", 1, "message 1: no"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_transcript_is_refused_with_reason_and_an_import_takes_the_rest(tmp_path: Path, case: str) -> None:
    text, count, message = BROKEN[case]
    path, refusals = file_with(tmp_path, text), list[str]()
    with pytest.raises(InvalidInputError, match=rf"chat\.jsonl.*{message}"):
        read_transcript(path)
    chats = read_transcript(path, refusals=refusals)
    assert sum(len(chat.messages) for chat in chats) == count
    assert [bool(re.search(message, refusal)) for refusal in refusals][:1] == [True]


def test_an_unknown_time_is_that_of_the_conversation_and_never_newer_than_a_stated_one(tmp_path: Path) -> None:
    stated = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "timestamp": "2026-03-02T09:00:00Z"},
        {"role": "user", "content": "c"},
    ]
    chats = [stated, {"messages": stated[:1], "created_at": "2025-01-01"}, stated[:1]]
    path = file_with(tmp_path, "\n".join(map(json.dumps, chats)))
    times = [[f"{message.at:%Y-%m-%d}" for message in chat.messages] for chat in read_transcript(path, refusals=[])]
    assert times == [["2026-03-02"] * 3, ["2025-01-01"], ["2025-01-01"]]
    os.utime(file_with(tmp_path, line_of("a"), "b.jsonl"), (1772442000, 1772442000))
    (chat,) = read_transcript(tmp_path / "b.jsonl", refusals=[])
    assert f"{chat.messages[0].at:%Y-%m-%d}" == "2026-03-02"


WORDS = (
    "role content tool_calls function_call messages name id tool_call_id type data kwargs lc additional_kwargs uuid "
    "timestamp output function arguments text human ai user assistant tool tool_use tool_result mapping current_node "
    "parent children author parts content_type recipient weight create_time chat_messages sender parent_message_uuid"
).split()
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS), st.text(max_size=3))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)
SEEDS: list[Any] = cases("evaluation/transcripts.json", "seeds")


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A value of some form in which one part is something else."""
    value = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    part = value
    while True:
        key = draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if not (isinstance(part[key], dict | list) and part[key]) or draw(st.booleans()):
            break
        part = part[key]
    part[key] = draw(VALUES)
    if isinstance(part, dict):
        part[draw(st.sampled_from(WORDS))] = draw(VALUES)
    return value


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(value={"role": "user", "content": [{"type": "text", "text": 3}, {"type": "text"}]}, form="openai")
@given(value=spoiled() | VALUES, form=st.sampled_from(["auto", *FORMS]))
def test_whatever_json_a_file_holds_it_is_read_or_refused(tmp_path: Path, value: Any, form: Any) -> None:
    path = file_with(tmp_path, json.dumps(value))
    try:
        found = read_transcript(path, form=form)
    except InvalidInputError as refusal:
        assert "chat.jsonl" in str(refusal)  # noqa: PT017 - either is right
    else:
        assert all(transcript.messages for transcript in found)
    refusals: list[str] = []
    assert read_transcript(path, form=form, refusals=refusals) or refusals
