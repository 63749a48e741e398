from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    ToolMessageChunk,
)

from hybrid_memory import HybridMemory, Message, Role
from hybrid_memory.errors import InvalidMessageError
from langchain_hybrid_memory import from_langchain, to_langchain

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LABEL = TEXT.filter(bool)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
BLOCK = st.builds(lambda text: {"type": "text", "text": text}, TEXT) | OBJECT
CONTENT = TEXT | st.lists(TEXT | BLOCK, max_size=3)
BASICS: dict[str, Any] = {
    "content": CONTENT, "id": st.none() | TEXT, "name": st.none() | TEXT, "additional_kwargs": OBJECT,
    "response_metadata": OBJECT,
}  # fmt: skip
CALL = st.fixed_dictionaries({"name": TEXT, "args": OBJECT, "id": st.none() | TEXT})
WRONG_CALL = st.fixed_dictionaries(
    {"name": st.none() | TEXT, "args": st.none() | TEXT, "id": st.none() | TEXT, "error": st.none() | TEXT}
)
RAW_CALL = st.builds(
    lambda name, arguments, call: {"id": call, "function": {"name": name, "arguments": arguments}, "type": "function"},
    *(TEXT, st.sampled_from(["{}", '{"city": "Bonn"}', "{broken"]), LABEL),
)
ASSISTANT = {
    **BASICS,
    "tool_calls": st.lists(CALL, max_size=2),
    "invalid_tool_calls": st.lists(WRONG_CALL, max_size=2),
    "additional_kwargs": st.fixed_dictionaries(
        {},
        optional={
            "tool_calls": st.lists(RAW_CALL, max_size=2),
            "function_call": st.fixed_dictionaries({"name": LABEL, "arguments": TEXT}),
            "refusal": JSON,
        },
    ),
    "usage_metadata": st.none()
    | st.fixed_dictionaries(
        {"input_tokens": st.integers(0), "output_tokens": st.integers(0), "total_tokens": st.integers(0)},
        optional={"input_token_details": st.fixed_dictionaries({"cache_read": st.integers(0)})},
    ),
}
RESULT = {**BASICS, "tool_call_id": TEXT, "artifact": JSON, "status": st.sampled_from(["success", "error"])}
MESSAGES: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, **BASICS, example=st.booleans()),
    st.builds(HumanMessageChunk, **BASICS),
    st.builds(AIMessage, **ASSISTANT),
    st.builds(AIMessageChunk, **{**ASSISTANT, "invalid_tool_calls": st.just([])}),
    st.builds(SystemMessage, **BASICS),
    st.builds(ToolMessage, **RESULT),
    st.builds(ToolMessageChunk, **RESULT),
    st.builds(FunctionMessage, **{**BASICS, "name": TEXT}),
    st.builds(FunctionMessageChunk, **{**BASICS, "name": TEXT}),
    st.builds(ChatMessage, **BASICS, role=st.sampled_from(["user", "assistant", "developer", "moderator", ""])),
)


@example(messages=[ChatMessage(content="Once upon a time.", role="narrator")], keep_id=True)
@given(st.lists(MESSAGES, min_size=1, max_size=4), st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_log_gives_langchain_messages_back_equal(
    memory: HybridMemory, messages: list[BaseMessage], keep_id: bool
) -> None:
    messages = [message for row, message in enumerate(messages) if not keep_id or message.id is None or row == 0]
    before = deepcopy(messages)
    session = memory.scoped(user="alice", session=f"s{memory.stats().events}")
    session.remember([from_langchain(message, keep_id=keep_id) for message in messages])
    restored = [to_langchain(message) for message in session.history()]
    assert restored == messages == before
    assert [type(message) for message in restored] == [type(message) for message in before]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", invalid_tool_calls=[{"name": "weather", "args": "{city", "id": "call-1", "error": "no JSON"}]),
        AIMessage("", additional_kwargs={"function_call": {"name": "weather", "arguments": "{city"}}),
    ],
)
def test_a_call_that_could_not_be_read_is_a_call(message: AIMessage) -> None:
    (call,) = from_langchain(message).tool_calls
    assert (call.name, call.arguments) == ("weather", "{city")


@pytest.mark.parametrize(
    "said", [SystemMessage("Be kind.", id="7"), ChatMessage(content="Be kind.", role="developer", id="7")]
)
def test_what_a_prompt_shows_as_the_users_is_the_users(said: BaseMessage) -> None:
    shown = from_langchain(said).model_copy(update={"role": Role.USER, "content": "Rule: be kind."})
    assert to_langchain(shown) == HumanMessage("Rule: be kind.", id="7")


_LOOP: list[Any] = []
_LOOP.append(_LOOP)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (RemoveMessage(id="1"), "not a turn"),
        (HumanMessage("\ud800"), "surrogate"),
        (HumanMessage([{"type": "image", "data": b"\xff"}]), "content: only JSON"),
        (HumanMessage([{"type": "text", "text": "\ud800"}]), "surrogate"),
        (HumanMessage("x", additional_kwargs={"a": object()}), "additional_kwargs: only JSON"),
        (HumanMessage("x", additional_kwargs={1: "a"}), "keys must be strings"),
        (HumanMessage("x", additional_kwargs={"a": (1, 2)}), "sequences lists"),
        (HumanMessage("x", id="\ud800"), "surrogate"),
        (AIMessage("", tool_calls=[{"name": "f", "args": {"a": float("nan")}, "id": "1"}]), "tool_calls: only JSON"),
        (AIMessage("", tool_calls=[{"name": "f", "args": {"a": "\ud800"}, "id": "1"}]), "surrogate"),
        (AIMessage("", invalid_tool_calls=[{"name": "f", "args": "\ud800", "id": "1", "error": None}]), "surrogate"),
        (ToolMessage("x", tool_call_id="1", artifact=_LOOP), "artifact: has no JSON form"),
    ],
)  # fmt: skip
def test_what_the_log_cannot_carry_is_refused(message: BaseMessage, what: str) -> None:
    with pytest.raises(InvalidMessageError, match=what):
        from_langchain(message)


ELSEWHERE = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=LABEL.filter(str.strip)
    | st.lists(BLOCK | st.builds(lambda text: {"block_type": "text", "text": text}, TEXT), min_size=1, max_size=3),
    name=st.none() | LABEL.filter(lambda name: "\x00" not in name),
    tool_calls=st.lists(
        st.fixed_dictionaries({"name": TEXT, "arguments": OBJECT | TEXT | st.just('{"a": 1}'), "id": st.none() | TEXT}),
        max_size=2,
    ),
    tool_call_id=st.none() | st.just("call-1"),
    extra=OBJECT | st.builds(lambda value: {"langchain": value}, JSON),
)


@given(ELSEWHERE)
@settings(max_examples=40)
def test_a_message_of_another_framework_becomes_a_valid_one(message: Message) -> None:
    made = to_langchain(message)
    assert type(made).model_validate(made.model_dump()) == made
    assert to_langchain(from_langchain(made)) == made
    if isinstance(message.content, str):
        assert made.content == message.content
    if isinstance(made, AIMessage):
        assert len(made.tool_calls) + len(made.invalid_tool_calls) == len(message.tool_calls)
