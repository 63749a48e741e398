from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hybrid_memory import Message, ToolCall
from hybrid_memory.errors import HybridMemoryError, InvalidMessageError
from hybrid_memory.scope import MAX_NAME_CHARS
from tests.world import cases

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
    *cases("types.json", "refused"),
    ({"at": datetime(2024, 5, 1)}, "timezone"),  # noqa: DTZ001 - the mistake under test
    ({"id": "x" * (MAX_NAME_CHARS + 1)}, str(MAX_NAME_CHARS)),
    ({"importance": float("nan")}, "importance"),
    ({"metadata": {"at": datetime(2024, 5, 1, tzinfo=UTC)}}, "JSON"),
    ({"metadata": {"score": float("nan")}}, "JSON"),
    ({"metadata": {"score": float("inf")}}, "JSON"),
    ({"metadata": {"tags": {"a"}}}, "JSON"),
    ({"metadata": {1: "number as key"}}, "metadata"),
    ({"extra": {"raw": b"bytes"}}, "JSON"),
    ({"unknown": {1}}, "JSON"),
    ({"tool_calls": [{"name": "f", "arguments": {"x": {1}}}]}, "tool_calls"),
    ({"tool_calls": [{"name": "f", "arguments": {"x": float("nan")}}]}, "tool_calls"),
]


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
