from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.compression.offload.inlining import inlined
from hybrid_memory.text.tokens import estimate_tokens

LONG = "\n".join(f"row {number}: {number * 7} parts" for number in range(400))


def short(message: Message, max_tokens: int = 100, **more: Any) -> Message:
    return inlined(message, result_id="#7", max_tokens=max_tokens, count=estimate_tokens, **more)


@pytest.mark.parametrize(
    "message",
    [
        Message(content="Where is my bag?"),
        Message(content=[{"type": "text", "text": "Where is my bag?"}]),
        Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name="f", arguments={"a": 1}, id="c")]),
        Message(role=Role.TOOL, content="", tool_call_id="c"),
        Message(role=Role.TOOL, content="um, uh, the the log", tool_call_id="c"),
    ],
)
def test_a_short_message_is_the_same_object(message: Message) -> None:
    assert short(message) is message


def test_what_people_said_is_cleaned_as_far_as_it_is_asked_for() -> None:
    message = Message(content="Um, where is the the bag?", id="m1", metadata={"a": 1})
    assert short(message).text == "where is the bag?"
    assert short(message).id == "m1"
    assert short(message).metadata == {"a": 1}
    assert short(message, cleaning="off") is message
    assert short(Message(content="嗯，包在哪里？")).text == "包在哪里？"


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM])
def test_a_long_text_becomes_a_digest_that_leads_back(role: Role) -> None:
    found = short(Message(role=role, content=LONG, tool_call_id="c" if role is Role.TOOL else None))
    assert estimate_tokens(found.text) <= 100
    assert "result_id=#7" in found.text
    assert found.tool_call_id == ("c" if role is Role.TOOL else None)


def test_each_block_is_shortened_and_media_become_a_line() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "Look:"},
        {"type": "text", "text": LONG},
        {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"},
        {"type": "other", "value": 3},
    ]
    found = short(Message(content=blocks)).content
    assert isinstance(found, list)
    plain, digest, image, other = found
    assert (plain, other) == (blocks[0], blocks[3])
    assert estimate_tokens(digest["text"]) <= 100
    assert image == {"type": "text", "text": "[image/png, 8 bytes; result_id=#7]"}


def test_long_arguments_of_a_call_stay_an_object() -> None:
    calls = [
        ToolCall(name="write", arguments={"path": "a.py", "text": LONG, "mode": 3}, id="c1"),
        ToolCall(name="run", arguments=LONG, id="c2"),
        ToolCall(name="run", arguments={"a": "b"}, id="c3"),
    ]
    message = Message(role=Role.ASSISTANT, tool_calls=calls)
    write, run, untouched = short(message).tool_calls
    assert isinstance(write.arguments, dict)
    assert (write.arguments["path"], write.arguments["mode"], write.id) == ("a.py", 3, "c1")
    assert estimate_tokens(write.arguments["text"]) <= 100
    assert isinstance(run.arguments, dict)
    assert "result_id=#7" in run.arguments["digest"]
    assert untouched is calls[2]
    assert message.tool_calls == calls


def test_arguments_that_are_long_without_a_long_text_are_shortened_too() -> None:
    call = ToolCall(name="plot", arguments={"points": [[number, number * 7] for number in range(900)]}, id="c")
    (found,) = short(Message(role=Role.ASSISTANT, tool_calls=[call])).tool_calls
    assert estimate_tokens(found.written_arguments) <= 150


@given(st.text(min_size=1).filter(str.strip), st.integers(40, 300))
@example("\U00010000", 125)  # its tokens are more than its characters
def test_a_shortened_text_keeps_to_its_limit(text: str, limit: int) -> None:
    assert estimate_tokens(short(Message(content=text * 50), limit).text) <= limit
