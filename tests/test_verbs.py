from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from hybrid_memory import Hit, HybridMemory, Message, Role, ScopedMemory, ToolCall, Weights
from hybrid_memory.errors import InvalidInputError, MemoryClosedError
from tests.doubles import Clock, texts
from tests.faces import Face, Open

pytestmark = pytest.mark.in_pairs("face", "memory")

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EXTRA = {"usage": {"tokens": 3}, "refusal": None}


def ids_of(hits: list[Hit]) -> list[str]:
    return [hit.record.sources[0] for hit in hits]


def test_a_receipt_names_the_events_in_the_order_given(face: Face, alice: ScopedMemory) -> None:
    receipt = face(alice).remember(["one", {"role": "assistant", "content": "two"}, Message(content="x", id="own")])
    assert len(set(receipt.ids)) == 3
    assert receipt.ids[2] == "own"
    assert list(receipt.positions) == sorted(set(receipt.positions))
    assert receipt.duplicates == ()
    assert [message.id for message in face(alice).history()] == list(receipt.ids)


def test_ids_that_we_give_are_of_version_7_in_the_order_of_writing(face: Face, memory: HybridMemory) -> None:
    alice = face(memory.scoped(user="alice"))
    assert alice.remember([]).ids == ()
    ids = [name for _ in range(10) for name in alice.remember([f"text {number}" for number in range(100)]).ids]
    assert ids == sorted(set(ids))
    assert {UUID(name).version for name in ids} == {7}
    assert face(memory).stats().events == 1000


def test_history_returns_every_message_as_it_was_said(face: Face, alice: ScopedMemory) -> None:
    said = [
        Message(content="NUL \x00, 中文, 🙂", id="m1", at=NOON, metadata={"a": [1, None, True]}, importance=0.9),
        Message(role=Role.SYSTEM, content="Be brief.", id="m2", at=NOON),
        Message(content=[{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}], id="m3", at=NOON),
        Message(
            role=Role.ASSISTANT, id="m4", at=NOON, name="Ann", tool_calls=[ToolCall(name="f", id="c")], extra=EXTRA
        ),
        Message(role=Role.TOOL, content="", tool_call_id="c", id="m5", at=NOON - timedelta(days=1)),
    ]
    face(alice).remember(said)
    assert face(alice).history() == said
    assert face(alice).remember(face(alice).history()).duplicates == ("m1", "m2", "m3", "m4", "m5")
    assert len(face(alice).history()) == 5


def test_history_takes_the_newest_and_a_span(face: Face, alice: ScopedMemory) -> None:
    for hour in range(5):
        face(alice).remember(f"hour {hour}", at=NOON + timedelta(hours=hour))
    one, three, four = (NOON + timedelta(hours=hours) for hours in (1, 3, 4))
    asked: list[tuple[dict[str, Any], list[str]]] = [
        ({"limit": 2}, ["hour 3", "hour 4"]), ({"limit": 0}, []),
        *(({"limit": limit}, [f"hour {n}" for n in range(5)]) for limit in (1000, 2**31, 2**63 - 1)),
        ({"since": one, "until": three}, ["hour 1", "hour 2"]), ({"since": NOON, "until": NOON}, []),
        ({"since": one, "until": four, "limit": 1}, ["hour 3"]),
    ]  # fmt: skip
    for options, expected in asked:
        assert texts(face(alice).history(**options)) == expected, options


def test_the_clock_says_when_and_what_is_recent(face: Face, opened: Open) -> None:
    clock = Clock(NOON)
    alice = opened(clock=clock, url="memory://").scoped(user="alice")
    face(alice).remember("the same words", id="old")
    clock.now = NOON + timedelta(days=90)
    face(alice).remember("the same words", id="new")
    assert [message.at for message in face(alice).history()] == [NOON, clock.now]
    only = Weights(vector=0.5, text=0.5, neighbours=0, segment=0, recency=1.0, importance=0, use=0)
    hits = face(alice).recall("same words", weights=only)
    assert ids_of(hits) == ["new", "old"]
    assert [hit.signals.recency for hit in hits] == pytest.approx([1.0, 0.125])


@pytest.mark.parametrize("k", [1, 3, 1000, 2**31, 2**63 - 1])
def test_recall_gives_at_most_k_and_what_there_is(face: Face, alice: ScopedMemory, k: int) -> None:
    face(alice).remember([f"cat number {number}" for number in range(20)])
    hits = face(alice).recall("cat", k=k)
    assert len(hits) == min(k, 20)
    assert len(set(ids_of(hits))) == len(hits)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(("face", "memory"), [("blocking", "memory"), ("async", "sqlite")], indirect=True)
@pytest.mark.parametrize("query", ["", "???", "the of and", "x" * 200_000, "\x00", "\ud800 cat", 'OR AND NEAR("*'])
def test_odd_queries_answer_or_refuse_clearly(face: Face, alice: ScopedMemory, query: str) -> None:
    face(alice).remember(["my cat sleeps", "near"])
    if query.strip():
        assert len(face(alice).recall(query)) <= 2
    else:
        with pytest.raises(ValueError, match="empty"):
            face(alice).recall(query)


def test_flush_derives_what_is_new_once(face: Face, memory: HybridMemory, alice: ScopedMemory) -> None:
    face(alice).remember([f"text {number}" for number in range(70)])
    face(memory.scoped(user="bob")).remember("Bob's")
    before = face(memory).stats()
    assert (before.events, before.records, before.unindexed) == (71, 0, 71)
    for owner, expected in ((alice, 70), (memory, 1), (memory, 0)):
        done = face(owner).flush()
        assert (done.indexed, done.embedded) == (expected, expected)
    after = face(memory).stats()
    assert (after.records, after.vectors, after.unindexed, after.pending) == (71, 71, 0, 0)


def test_stats_count_owners_sessions_and_bytes(face: Face, memory: HybridMemory) -> None:
    for user, session in [("alice", "s1"), ("alice", "s2"), ("bob", "s1"), ("bob", None)]:
        face(memory.scoped(user=user, session=session)).remember("hello")
    stats = face(memory).stats()
    assert (stats.owners, stats.sessions, stats.events) == (2, 4, 4)
    assert stats.embedder == "hashing-256"
    assert (stats.size_bytes > 0) is stats.url.startswith("sqlite")


def test_rebuild_derives_the_same_again(face: Face, memory: HybridMemory, alice: ScopedMemory) -> None:
    face(alice).remember([f"cat number {number}" for number in range(40)])
    before = face(alice).recall("cat 7", k=40)
    receipt = face(memory).rebuild(progress=False)
    assert (receipt.indexed, receipt.embedded) == (40, 40)
    after = face(alice).recall("cat 7", k=40)
    assert [hit.record.uses for hit in after] == [1] * 40, "what was used is noted first"
    unused = [replace(hit.record, uses=0, last_used=None) for hit in after]
    assert unused == [hit.record for hit in before]
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])


VERBS: dict[str, Callable[[HybridMemory, ScopedMemory], object]] = {
    "remember": lambda memory, alice: alice.remember("x"), "recall": lambda memory, alice: alice.recall("x"),
    "history": lambda memory, alice: alice.history(), "blocks": lambda memory, alice: alice.blocks(),
    "put block": lambda memory, alice: alice.block("human").put("x"),
    "edit block": lambda memory, alice: alice.block("human").edit(append="x"),
    "undo block": lambda memory, alice: alice.block("human").undo(),
    "block's past": lambda memory, alice: alice.block("human").history(),
    "remove block": lambda memory, alice: alice.block("human").remove(), "flush": lambda memory, alice: alice.flush(),
    "flush all": lambda memory, alice: memory.flush(), "stats": lambda memory, alice: memory.stats(),
    "rebuild": lambda memory, alice: memory.rebuild(),
}  # fmt: skip


def test_after_close_every_verb_says_so(face: Face, memory: HybridMemory, alice: ScopedMemory) -> None:
    for verb in VERBS.values():
        verb(face(memory), face(alice))
    face(memory).close()
    face(memory).close()
    for verb in VERBS.values():
        with pytest.raises(MemoryClosedError, match="open_memory"):
            verb(face(memory), face(alice))
    assert "closed" in repr(memory)


def test_entries_are_read_by_id_or_position_though_they_are_hidden(face: Face, alice: ScopedMemory) -> None:
    (first,) = face(alice).remember("one", id="a").positions
    face(alice).remember("two", id="b")
    face(alice).flush()
    face(alice).rollback(first)
    assert texts(face(alice).history()) == ["one"]
    assert [event.id for event in face(alice).events(which=["b", first, 99, "c"])] == ["a", "b"]
    with pytest.raises(InvalidInputError, match="which"):
        face(alice).events(which="a")


def test_whoever_has_the_store_sees_every_scope_and_may_do_so_without_traces(face: Face, memory: HybridMemory) -> None:
    team = memory.scoped(user="alice").space("team").create()
    team.remember("The launch is on Friday.")
    (scope,) = [scope for scope in face(memory).owners() if scope.space]
    assert memory.for_scope(scope).history()[0].text == "The launch is on Friday."
    assert face(memory).heads()[scope] == memory.for_scope(scope).events()[-1].position
    looking = memory.as_read_only()
    assert looking.for_scope(scope).history() == memory.for_scope(scope).history()
    with pytest.raises(InvalidInputError, match="read-only"):
        face(looking.scoped(user="alice")).remember("no")
    assert memory.token_counter("hello there") >= 1
    assert memory.config.url == memory.url
    assert memory.language_model() is None
