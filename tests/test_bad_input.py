from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory import HybridMemory, Message, ScopedMemory
from hybrid_memory.errors import IdConflictError, InvalidInputError, InvalidMessageError, InvalidScopeError

if TYPE_CHECKING:
    from tests.conftest import Face, Open

pytestmark = pytest.mark.in_pairs("face", "memory")

NAIVE = datetime(2024, 5, 1)  # noqa: DTZ001 - the mistake under test


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("", {}),
        (" \n", {}),
        ("lone \ud800 surrogate", {}),
        ("text", {"role": "robot"}),
        ("text", {"role": None}),
        ("text", {"at": NAIVE}),
        ("text", {"at": "yesterday"}),
        ("text", {"id": ""}),
        ("text", {"id": 7}),
        ("text", {"metadata": {"a": {1}}}),
        ("text", {"metadata": {"a": float("nan")}}),
        ("text", {"metadata": ["a"]}),
        ("text", {"metadata": "a"}),
        (["one", "two"], {"id": "one-id"}),
        ([], {"id": "one-id"}),
        (None, {}),
        (5, {}),
        (b"bytes", {}),
        ([None], {}),
        ([["nested"]], {}),
        ({}, {}),
        ({"role": "user"}, {}),
        ({"content": "text", "at": NAIVE}, {}),
        ({"content": "text", "metadata": "a"}, {"metadata": {"b": 1}}),
        ({1: "text"}, {}),
        ({"content": "x", "role": "assistant", "tool_calls": [{"name": "f", "arguments": {"x": {1}}}]}, {}),
        ({"content": "x", "role": "assistant", "tool_calls": [{"name": "f", "arguments": {"x": "\ud800"}}]}, {}),
        ({"content": "x", "role": "assistant", "tool_calls": [{"function": "f"}]}, {}),
    ],
    ids=repr,
)
def test_a_message_that_cannot_be_stored_leaves_the_store_unchanged(
    face: Face, opened: Open, content: Any, options: dict[str, Any]
) -> None:
    memory = opened()
    alice = memory.scoped(user="alice")
    face(alice).remember("before")
    batches = [content] if options else [content, ["good", Message(content="good"), content]]
    for batch in batches:
        with pytest.raises(InvalidMessageError):
            face(alice).remember(batch, **options)
    assert face(memory).stats().events == 1
    assert [message.text for message in face(alice).history()] == ["before"]


def test_a_taken_id_leaves_the_store_unchanged(face: Face, memory: HybridMemory, alice: ScopedMemory) -> None:
    face(alice).remember("first", id="x")
    other, renamed = {"content": "other", "id": "x"}, {"content": "first", "id": "x", "name": "Ann"}
    for content in ([{"content": "new"}, other], renamed):
        with pytest.raises(IdConflictError, match="x"):
            face(alice).remember(content)
    with pytest.raises(IdConflictError):
        face(alice).remember([{"content": "a", "id": "y"}, {"content": "b", "id": "y"}])
    assert face(memory).stats().events == 1
    elsewhere = memory.scoped(user="alice", session="s2")
    assert face(elsewhere).remember("other", id="x").duplicates == ()


@pytest.mark.parametrize(
    ("query", "options", "told"),
    [
        ("", {}, "empty"),
        (" \n", {}, "empty"),
        (None, {}, "query"),
        (7, {}, "query"),
        ("cat", {"k": 0}, "got 0"),
        ("cat", {"k": -1}, "got -1"),
        ("cat", {"within": "house"}, "house"),
        ("cat", {"since": NAIVE}, "since"),
        ("cat", {"until": NAIVE}, "until"),
        ("cat", {"since": "yesterday"}, "since"),
        ("cat", {"kinds": ["nonsense"]}, "nonsense"),
        ("cat", {"metadata": {"tags": ["a"]}}, "tags"),
        ("cat", {"metadata": {"tags": {"a": 1}}}, "tags"),
        ("cat", {"metadata": {"score": float("nan")}}, "score"),
        ("cat", {"metadata": {"when": {1}}}, "when"),
        ("cat", {"metadata": {"when": "\ud800"}}, "surrogate"),
        ("cat", {"metadata": {1: "number as key"}}, "number as key"),
        ("cat", {"metadata": ["tags"]}, "metadata"),
    ],
    ids=repr,
)
def test_recall_refuses_what_it_cannot_answer(
    face: Face, opened: Open, query: Any, options: dict[str, Any], told: str
) -> None:
    alice = opened().scoped(user="alice")
    face(alice).remember("a cat", metadata={"tags": ["b"], "score": 1, "when": 1})
    with pytest.raises(InvalidInputError, match=told):
        face(alice).recall(query, **options)


def test_a_number_too_long_to_write_is_refused_all_the_same(face: Face, alice: ScopedMemory) -> None:
    for options in ({"metadata": {"score": 10**5000}}, {"k": -(10**5000)}):
        with pytest.raises(InvalidInputError, match="a int"):
            face(alice).recall("cat", **options)


def test_within_a_session_needs_one(face: Face, memory: HybridMemory) -> None:
    with pytest.raises(InvalidInputError, match="session"):
        face(memory.scoped(user="alice")).recall("cat", within="session")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limit": -1}, "-1"),
        ({"since": NAIVE}, "since"),
        ({"until": NAIVE}, "until"),
        ({"since": "yesterday"}, "since"),
    ],
    ids=repr,
)
def test_history_refuses_what_it_cannot_answer(
    face: Face, alice: ScopedMemory, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInputError, match=told):
        face(alice).history(**options)


def test_a_span_that_ends_before_it_begins_is_refused(face: Face, alice: ScopedMemory) -> None:
    face(alice).remember("a cat")
    (message,) = face(alice).history()
    assert message.at is not None
    with pytest.raises(InvalidInputError, match="after until"):
        face(alice).recall("cat", since=message.at, until=message.at.replace(year=2000))


@pytest.mark.parametrize("count", [2**31, 2**63, 10**30])
def test_more_than_any_store_holds_is_all_there_is(face: Face, alice: ScopedMemory, count: int) -> None:
    face(alice).remember(["a cat", "two cats"])
    assert len(face(alice).recall("cat", k=count)) == 2
    assert len(face(alice).history(limit=count)) == 2


@pytest.mark.parametrize("parts", [{}, {"session": "s1"}, {"user": ""}, {"user": 7}, {"user": "a\x00"}], ids=repr)
def test_a_scope_of_nobody_is_refused(memory: HybridMemory, parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidScopeError):
        memory.scoped(**parts)


@pytest.mark.parametrize("embedder", [object(), "local", 7], ids=["object", "text", "number"])
def test_what_cannot_embed_is_refused_before_anything_is_dropped(
    face: Face, memory: HybridMemory, alice: ScopedMemory, embedder: Any
) -> None:
    face(alice).remember("a cat")
    face(memory).flush()
    with pytest.raises(InvalidInputError, match="embed"):
        face(memory).rebuild(embedder=embedder)
    assert face(memory).stats().records == 1


@pytest.mark.parametrize("unit", ["word ", "字", "x", "🙂", "a\x00", "\n."], ids=repr)
def test_a_long_text_is_kept_and_found(face: Face, alice: ScopedMemory, unit: str) -> None:
    text = unit * (300_000 // len(unit.encode())) + " needle"
    face(alice).remember(text, id="big")
    face(alice).remember("something else", id="small")
    assert face(alice).history()[0].content == text
    by_words = {hit.record.sources[0]: hit.signals.text for hit in face(alice).recall("needle")}
    assert by_words["big"] == 1


def test_nul_is_kept_in_the_log_and_blank_in_the_index(face: Face, alice: ScopedMemory) -> None:
    face(alice).remember("before\x00after cat", metadata={"key": "a\x00b"}, id="nul")
    assert face(alice).history()[0].content == "before\x00after cat"
    (hit,) = face(alice).recall("cat")
    assert hit.record.text == "before after cat"
    assert hit.record.metadata == {"key": "a\x00b"}
    assert len(face(alice).recall("after")) == 1


def test_metadata_is_compared_beyond_a_nul(face: Face, alice: ScopedMemory) -> None:
    face(alice).remember("cat", metadata={"key": "a\x00b"})
    assert len(face(alice).recall("cat", metadata={"key": "a\x00b"})) == 1
    assert face(alice).recall("cat", metadata={"key": "a\x00c"}) == []
