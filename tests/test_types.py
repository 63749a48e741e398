from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hybrid_memory import Hit, Message, Origin, Record, Role, Scope, Signals, ToolCall, Weights
from hybrid_memory.errors import HybridMemoryError, InvalidMessageError, InvalidScopeError
from hybrid_memory.scope import MAX_NAME_CHARS

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "北京"}'}}


def message(**fields: Any) -> Message:
    return Message(**{"content": "hello", **fields})


def test_openai_dict_becomes_a_message() -> None:
    asked = message(role="assistant", content=None, tool_calls=[CALL])
    assert asked.role is Role.ASSISTANT
    assert asked.content == ""
    assert asked.tool_calls == [ToolCall(name="weather", arguments={"city": "北京"}, id="call_1")]
    assert asked.extra == {}
    answer = message(role="tool", tool_call_id="call_1", content="")
    assert answer.tool_call_id == "call_1"


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


def test_text_holds_the_text_blocks_and_the_tool_calls() -> None:
    blocks = [{"type": "text", "text": "first"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": ""}]
    said = message(role="assistant", content=blocks, tool_calls=[CALL, {"name": "raw", "arguments": "{x"}])
    assert said.text == 'first\nweather {"city": "北京"}\nraw {x'
    assert message(content="NUL \x00 and \x1b as it is\n").text == "NUL \x00 and \x1b as it is\n"
    assert (said.speaker, message(name="Ann").speaker) == ("assistant", "Ann")


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


@pytest.mark.parametrize("value", ["", "a\x00b", "\ud800", "x" * (MAX_NAME_CHARS + 1), 7, b"alice", ["alice"]])
@pytest.mark.parametrize("part", ["tenant", "user", "agent", "session"])
def test_malformed_scope_names_the_part(part: str, value: Any) -> None:
    with pytest.raises(InvalidScopeError, match=part):
        Scope(**{"user": "alice", part: value})


def test_owner_is_the_scope_without_its_session() -> None:
    scope = Scope(tenant="acme", user="alice", agent="coach", session="s1")
    assert scope.owner == scope.owner.owner == Scope(tenant="acme", user="alice", agent="coach")
    assert str(scope) == "tenant='acme' user='alice' agent='coach' session='s1'"
    with pytest.raises(FrozenInstanceError):
        scope.user = "bob"  # type: ignore[misc]
    longest = "长" * MAX_NAME_CHARS
    assert Scope(longest, longest, longest, longest).owner == Scope(longest, longest, longest)
    for parts in ({}, {"session": "s1"}):
        with pytest.raises(InvalidScopeError, match=r"no (?:user|owner) given"):
            Scope(**parts)


def test_why_shows_the_arithmetic_strongest_share_first() -> None:
    scope, off = Scope(user="alice"), dict.fromkeys((field.name for field in fields(Weights)), 0.0)
    now = datetime.now(UTC)
    record = Record(1, scope, text="t", at=now, sources=("e1", "e2"), segment=1, ordinal=0, origin=Origin.USER)
    plain = Hit(record, 0.65, Signals(vector=0.4, text=1.0), Weights(**{**off, "vector": 0.7, "text": 0.3}))
    assert plain.why() == "0.650 = 0.3*1.00 text + 0.7*0.40 vector; from #1"
    adjusted = Hit(record, 0.75, Signals(text=1.0, recency=0.5), Weights(**{**off, "text": 1, "recency": 1}), "a note")
    assert adjusted.why() == "0.750 = (1*1.00 text + 1*0.50 recency) / 2; from #1; a note"
