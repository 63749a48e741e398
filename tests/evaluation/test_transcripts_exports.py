"""Exports of ChatGPT and Claude.ai: the branch that was shown last, without what nobody saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.apps.transcripts import read_transcript
from hybrid_memory.log.exchanges import exchanges
from tests.evaluation.conftest import written

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
