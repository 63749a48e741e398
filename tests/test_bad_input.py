from datetime import UTC, datetime, timedelta, timezone
from itertools import count, repeat
from typing import Any

import pytest

from hybrid_memory import HybridMemory, Message, Scope, ScopedMemory, errors, open_memory
from tests.doubles import texts
from tests.faces import Face, Open
from tests.world import cases

NAIVE = datetime(2024, 5, 1)  # noqa: DTZ001 - the mistake under test
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


WRONG: list[tuple[Any, dict[str, Any]]] = [
    ("", {}), ("lone \ud800 surrogate", {}), ("text", {"role": "robot"}), ("text", {"at": NAIVE}), ("text", {"id": 7}),
    ("text", {"metadata": {"a": float("nan")}}), ("text", {"metadata": "a"}), (["one", "two"], {"id": "one-id"}),
    ([], {"id": "one-id"}), (None, {}), (b"bytes", {}), ([["nested"]], {}), ({}, {}), ({"role": "user"}, {}),
    ({"content": "text", "metadata": "a"}, {"metadata": {"b": 1}}), ({1: "text"}, {}),
    ({"content": "x", "role": "assistant", "tool_calls": [{"name": "f", "arguments": {"x": {1}}}]}, {}),
]  # fmt: skip
"""What a message may hold is tested with messages; here is what `remember` adds, and some of each kind."""


@pytest.mark.parametrize(("content", "options"), WRONG, ids=repr)
def test_a_bad_message_changes_nothing(face: Face, opened: Open, content: Any, options: dict[str, Any]) -> None:
    memory = opened()
    alice = memory.scoped(user="alice")
    face(alice).remember("before")
    batches = [content] if options else [content, ["good", Message(content="good"), content]]
    for batch in batches:
        with pytest.raises(errors.InvalidMessageError):
            face(alice).remember(batch, **options)
    assert face(memory).stats().events == 1
    assert texts(face(alice).history()) == ["before"]


def test_a_taken_id_leaves_the_store_unchanged(face: Face, memory: HybridMemory, alice: ScopedMemory) -> None:
    face(alice).remember("first", id="x")
    other, renamed = {"content": "other", "id": "x"}, {"content": "first", "id": "x", "name": "Ann"}
    for content in ([{"content": "new"}, other], renamed):
        with pytest.raises(errors.IdConflictError, match="x"):
            face(alice).remember(content)
    with pytest.raises(errors.IdConflictError):
        face(alice).remember([{"content": "a", "id": "y"}, {"content": "b", "id": "y"}])
    assert face(memory).stats().events == 1
    elsewhere = memory.scoped(user="alice", session="s2")
    assert face(elsewhere).remember("other", id="x").duplicates == ()


ASKED: list[tuple[Any, dict[str, Any], str]] = [
    *cases("bad_input.json", "asked"),
    ("cat", {"k": -(10**5000)}, "a int"),
    ("cat", {"k": 2**63}, "int of 64 bits, got 9223"),
    ("cat", {"since": NAIVE}, "since"),
    ("cat", {"until": NAIVE}, "until"),
    ("cat", {"since": NOON, "until": NOON.replace(year=2000)}, "after until"),
    ("cat", {"metadata": {"score": float("nan")}}, "score"),
    ("cat", {"metadata": {"score": 2**64}}, "int .* of 64 bits"),
    ("cat", {"metadata": {"when": {1}}}, "when"),
    ("cat", {"metadata": {1: "odd key"}}, "odd key"),
]


def test_recall_refuses_what_it_cannot_answer(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    face(alice).remember("a cat", metadata={"tags": ["b"], "score": 1, "when": 1})
    for query, options, told in ASKED:
        with pytest.raises(errors.InvalidInputError, match=told):
            face(alice).recall(query, **options)


@pytest.mark.parametrize("embedder", [object(), "nobody", 7], ids=["object", "text", "number"])
def test_a_bad_embedder_is_refused_first(face: Face, memory: HybridMemory, alice: ScopedMemory, embedder: Any) -> None:
    face(alice).remember("a cat")
    face(memory).flush()
    with pytest.raises(errors.InvalidInputError, match="embed"):
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
    for query, metadata in (("cat", {}), ("after", {}), ("cat", {"key": "a\x00b"})):
        (hit,) = face(alice).recall(query, metadata=metadata)
        assert (hit.record.text, hit.record.metadata) == ("before after cat", {"key": "a\x00b"})
    assert face(alice).recall("cat", metadata={"key": "a\x00c"}) == []


def deep(depth: int) -> dict[str, Any]:
    """A mapping within a mapping, and so on."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


class Unreadable:
    """What raises whatever it is asked."""

    def __repr__(self) -> str:
        raise LookupError

    __iter__ = __len__ = __eq__ = __bool__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"content": "x", "metadata": deep(500)}),
    ("remember", {"content": {"role": "user", "x": deep(500)}}), ("remember", {"content": Unreadable()}),
    ("mirror", {"messages": 7}), ("mirror", {"messages": [Unreadable()]}), ("recall", {"query": "x", "k": True}),
    ("recall", {"query": "x", "kinds": repeat("turn")}), ("recall", {"query": "x", "categories": count()}),
    ("recall", {"query": "x", "categories": ["\ud800"]}), ("recall", {"query": "x", "k": Unreadable()}),
    ("history", {"limit": deep(5000)}), ("history", {"limit": -1}), ("history", {"since": NAIVE}),
    ("history", {"until": NAIVE}), ("history", {"since": "yesterday"}), ("events", {"which": 7}),
    ("events", {"which": [10**30, None]}), ("expand", {"what": "#²"}), ("expand", {"what": f"#{10**30}"}),
    ("forget", {"ids": "#²"}), ("forget", {"ids": 10**30}), ("forget", {"query": "x", "dry_run": "no"}),
    ("rollback", {"to": 10**30}), ("rollback", {"to": "now"}), ("fetch", {"result_id": Unreadable()}),
    ("fetch", {"result_id": "x", "pattern": "(" * 500}), ("profile", {"names": 3}),
    ("profile", {"names": [7]}), ("assemble", {"query": "x", "tools": [deep(500)]}), ("reset", {"keep": "x"}),
]  # fmt: skip


def test_what_is_no_argument_is_refused_before_anything_changes(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    face(alice).remember("a cat")
    before = memory.heads()
    for verb, arguments in REFUSED:
        with pytest.raises(errors.InvalidInputError):
            getattr(face(alice), verb)(**arguments)
    assert memory.heads() == before


@pytest.mark.parametrize("face", ["blocking", "async"], indirect=True)
def test_a_call_that_does_not_fit_is_refused_as_its_caller_wrote_it(face: Face, alice: ScopedMemory) -> None:
    takes = r"; it takes \(query, \*, k, scope, kinds, .*\)$"
    wrong: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
        (("a", "b", "c"), {}, "too many positional arguments"), ((), {}, "missing a required argument: 'query'"),
        (("a",), {"limit": 3}, "got an unexpected keyword argument 'limit'"),
        (("a",), {"query": "b"}, "multiple values for argument 'query'"),
    ]  # fmt: skip
    for args, options, problem in wrong:
        with pytest.raises(TypeError, match=rf"^ScopedMemory\.a?recall\(\): {problem}{takes}") as refused:
            face(alice).recall(*args, **options)
        assert "run" not in str(refused.value)
        assert refused.value.__cause__ is None
    with pytest.raises(TypeError, match=r"^BlockHandle\.a?put\(\): too many"):
        face(alice.block("human")).put("a", "b")  # type: ignore[call-arg]


def test_a_verb_asked_of_the_whole_store_and_a_bare_file_name_say_what_to_write(memory: HybridMemory) -> None:
    whole: Any = memory
    for name in ("recall", "aremember"):
        with pytest.raises(AttributeError, match=rf"one owner's memory, memory\.scoped\(user=\.\.\.\)\.{name}$"):
            getattr(whole, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        whole.nothing()
    with pytest.raises(errors.InvalidConfigError, match=r"use sqlite:///notes\.db for a file, or else"):
        open_memory("notes.db")


def test_a_type_error_within_a_verb_stays_as_it_is(
    face: Face, alice: ScopedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("takes 3 positional arguments but 5 were given")

    monkeypatch.setattr("hybrid_memory.memory.turns.Request.of", broken)
    with pytest.raises(TypeError, match=r"^takes 3 positional"):
        face(alice).recall("a cat")


def test_instants_at_the_ends_of_the_calendar_are_as_good_as_those_before_them(face: Face, alice: ScopedMemory) -> None:
    face(alice).remember("a cat")
    zones = UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))
    for zone in zones:
        first, last = (end.replace(tzinfo=zone) for end in (datetime.min, datetime.max))  # noqa: DTZ901
        assert texts(face(alice).recall("cat", since=first, until=last)) == ["a cat"]
        assert texts(face(alice).history(since=first, until=last)) == ["a cat"]
        assert texts(face(alice.as_of(last)).history()) == ["a cat"]
        assert len(face(alice).rollback(last).ids) == 1
    assert texts(face(alice).history()) == ["a cat"]


def test_an_instant_that_would_be_moved_is_not_stored(face: Face, alice: ScopedMemory) -> None:
    edges = [datetime(year, month, 1, tzinfo=UTC) for year, month in ((1, 1), (1, 12), (9999, 12))]
    for at in edges:
        for content in ("a cat", {"content": "a cat", "at": at}, Message(content="a cat", at=at)):
            with pytest.raises(errors.InvalidInputError, match="2 to 9998"):
                face(alice).remember(content, at=at if isinstance(content, str) else None)
    assert face(alice).history() == []
    face(alice).remember("a cat", at=datetime(9998, 12, 30, tzinfo=UTC))
    assert face(alice).history()[0].at == datetime(9998, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize("part", ["tenant", "user", "agent", "session"])
@pytest.mark.parametrize("blank", ["  ", "\t\n", "\u3000"])
def test_a_blank_name_is_no_owner(memory: HybridMemory, part: str, blank: str) -> None:
    names: dict[str, Any] = {"user": "alice", part: blank}
    with pytest.raises(errors.InvalidScopeError, match=f"{part} is blank"):
        memory.scoped(**names)
    memory.for_scope(Scope(user=blank)).remember("as an older version stored it")
    assert memory.forget(user=blank).erased["turns"] == 1


def test_a_clock_that_fails_is_told_as_such(opened: Open) -> None:
    def stopped() -> datetime:
        raise RuntimeError("no battery")

    for clock in (stopped, lambda: datetime.max.replace(tzinfo=UTC)):
        memory = opened(url="memory://", clock=clock)
        with pytest.raises(errors.InvalidConfigError, match="clock must return"):
            memory.scoped(user="alice").remember("a cat")


def test_an_interrupt_passes_through(alice: ScopedMemory) -> None:
    class Interrupted(list[str]):
        def __iter__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alice.recall("cat", kinds=Interrupted())
