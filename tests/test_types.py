from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hybrid_memory import Message, ToolCall
from hybrid_memory.errors import HybridMemoryError, InvalidMessageError
from hybrid_memory.scope import MAX_NAME_CHARS

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "北京"}'}}


def message(**fields: Any) -> Message:
    return Message(**{"content": "hello", **fields})


@pytest.mark.parametrize(
    ("written", "expected"),
    [('{"a": 1}', {"a": 1}), ("{not json", "{not json"), ("[1, 2]", "[1, 2]"), ("", ""), ({"a": 1}, {"a": 1})],
)
def test_tool_arguments_are_parsed_where_they_are_an_object(written: Any, expected: Any) -> None:
    call = ToolCall.model_validate({"function": {"name": "f", "arguments": written}})
    assert call.arguments == expected
    assert call.id is None


def test_message_survives_json() -> None:
    whole = message(
        role="assistant",
        content=[{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "http://x/y.png"}}],
        name="Ann",
        tool_calls=[CALL],
        id="m1",
        at=datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=8))),
        importance=0.9,
        metadata={"tags": ["a", None, True, 1.5]},
        usage={"tokens": 3},
    )
    again = Message(**whole.model_dump(mode="json", exclude_defaults=True))
    assert again == whole
    assert again.at == datetime(2024, 5, 1, 4, tzinfo=UTC)
    assert again.at.utcoffset() == timedelta(0)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, "empty"), ({"content": " \n\t\u3000"}, "empty"), ({"content": []}, "empty"),
    ({"content": None}, "empty"), ({"content": 5}, "content"), ({"content": ["text"]}, "content"),
    ({"content": "lone \ud800 surrogate"}, "lone surrogate at character 5"),
    ({"content": [{"type": "text", "text": "\udfff"}]}, "lone surrogate"),
    ({"role": "robot"}, "robot"), ({"role": None}, "role"),
    ({"at": datetime(2024, 5, 1)}, "timezone"),  # noqa: DTZ001 - the mistake under test
    ({"at": "yesterday"}, "yesterday"), ({"id": ""}, "id"), ({"id": "x" * (MAX_NAME_CHARS + 1)}, str(MAX_NAME_CHARS)),
    ({"id": "a\x00b"}, "NUL"), ({"id": 7}, "id"), ({"name": "\ud800"}, "surrogate"),
    ({"tool_call_id": ""}, "tool_call_id"), ({"importance": 1.01}, "importance"), ({"importance": -0.01}, "importance"),
    ({"importance": float("nan")}, "importance"), ({"metadata": {"at": datetime(2024, 5, 1, tzinfo=UTC)}}, "JSON"),
    ({"metadata": {"score": float("nan")}}, "JSON"), ({"metadata": {"score": float("inf")}}, "JSON"),
    ({"metadata": {"tags": {"a"}}}, "JSON"), ({"metadata": {"text": "\ud800"}}, "surrogate"),
    ({"metadata": {"\ud800": 1}}, "surrogate"), ({"metadata": {1: "number as key"}}, "metadata"),
    ({"metadata": ["a"]}, "metadata"), ({"extra": {"raw": b"bytes"}}, "JSON"),
    ({"extra": "no mapping", "unknown": 1}, "extra"), ({"unknown": {1}}, "JSON"),
    ({"tool_calls": "weather"}, "tool_calls"),
    ({"tool_calls": [{"name": "f"}, {"arguments": {}}]}, r"tool_calls\.1\.name"),
    ({"tool_calls": [{"function": {"arguments": "{}"}}]}, "tool_calls"),
    ({"tool_calls": [{"function": "weather"}]}, "tool_calls"),
    ({"tool_calls": [{"name": "f", "unknown": 1}]}, "tool_calls"),
    ({"tool_calls": [{"name": "f", "arguments": {"x": {1}}}]}, "tool_calls"),
    ({"tool_calls": [{"name": "f", "arguments": {"x": float("nan")}}]}, "tool_calls"),
    ({"tool_calls": [{"name": "f", "arguments": {"x": "\ud800"}}]}, "surrogate"),
    ({"tool_calls": [{"name": "f", "arguments": "\ud800"}]}, "surrogate"),
    ({"tool_calls": [{"name": "\ud800"}]}, "surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "told"), REFUSED, ids=repr)
def test_what_cannot_be_stored_is_refused_with_the_reason(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidMessageError, match=told) as caught:
        message(**fields)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, HybridMemoryError)


@pytest.mark.parametrize(
    "fields", [{"role": "x" * 1_000_000}, {"content": list(range(10_000))}, {"metadata": {"a": 10**5000}}], ids=list
)
def test_refusal_of_a_huge_value_stays_short(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessageError) as caught:
        message(**fields)
    assert len(str(caught.value)) < 1000
