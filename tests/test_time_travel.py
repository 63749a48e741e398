"""Views of the past and rollback: what was, as if the log had ended there."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.errors import IdConflictError, InvalidInputError
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import events_of, texts
from tests.faces import Face

START = datetime(2024, 5, 1, 9, tzinfo=UTC)

SENTENCES = (
    "I live in Paris.", "I moved to Berlin.", "I love jazz.", "I don't like jazz any more.", "I work as a nurse.",
    "I need to call the dentist.", "Nice weather today.", "我住在杭州。", "我喜欢喝茶。", "我不再喜欢喝茶了。",
)  # fmt: skip


def opened(**config: Any) -> HybridMemory:
    return open_memory(MemoryConfig(url="memory://", embedder="none", **config), token_counter=estimate_tokens)


@pytest.fixture
def alice() -> Iterator[ScopedMemory]:
    with opened(compaction={"rounds": 4, "keep_rounds": 2, "keep_least": 2}) as memory:
        yield memory.scoped(user="u", session="s1")


def known(memory: ScopedMemory) -> list[tuple[Any, ...]]:
    """The facts without the numbers that depend on when they were read."""
    return [
        (f.subject, f.attribute, f.value, f.state, f.valid_from, f.valid_to, f.positions, round(f.confidence, 9))
        for f in memory.facts(history=True)
    ]


def state(memory: ScopedMemory) -> tuple[Any, ...]:
    found = memory.recall("Paris Berlin jazz nurse dentist weather 杭州 喝茶", k=50, kinds=["turn"])
    return texts(memory.history()), known(memory), memory.profile(), memory.summary().lines, set(texts(found))


def positions(memory: ScopedMemory) -> list[int]:
    return [event.position for event in events_of(memory)]


WRITES = st.lists(
    st.tuples(
        st.sampled_from(SENTENCES), st.sampled_from(["s1", "s2"]), st.sampled_from(["", "facts", "compact", "flush"])
    ),
    min_size=1,
    max_size=10,
)


def play(memory: HybridMemory, writes: list[tuple[str, str, str]]) -> ScopedMemory:
    for number, (text, session, then) in enumerate(writes):
        handle = memory.scoped(user="u", session=session)
        handle.remember(text, at=START + timedelta(days=number), id=f"m{number}")
        if then == "compact":
            handle.compact(keep=1)
        elif then:
            getattr(handle, then)()
    return memory.scoped(user="u", session="s1")


@given(WRITES, st.data())
@settings(max_examples=20)
def test_a_past_view_equals_a_memory_ending_there(writes: list[tuple[str, str, str]], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(writes)))
    with opened() as memory, opened() as other:
        play(memory, writes[:count])
        last = max(positions(memory.scoped(user="u")), default=0)
        play(memory, writes)
        alice = memory.scoped(user="u", session="s1")
        replayed = play(other, writes[:count])
        assert state(alice.as_of(last)) == state(replayed)


@given(WRITES, st.data())
@settings(max_examples=20)
def test_an_instant_shows_what_was_said_by_then(writes: list[tuple[str, str, str]], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(writes)))
    bare = [(text, session, "") for text, session, _ in writes]
    with opened() as memory, opened() as other:
        alice = play(memory, bare)
        before = play(other, bare[:count])
        moment = START + timedelta(days=count - 1, hours=1)
        assert state(alice.as_of(moment)) == state(before)


@given(WRITES, st.data())
@settings(max_examples=20)
def test_rolling_back_and_forward_restores_everything(writes: list[tuple[str, str, str]], data: st.DataObject) -> None:
    with opened() as memory:
        alice = play(memory, writes)
        places = positions(alice)
        to = data.draw(st.sampled_from([0, *places]))
        now, then = state(alice), state(alice.as_of(to))
        (rolled,) = alice.rollback(to).positions
        assert state(alice) == then
        alice.rollback(rolled - 1)
        assert state(alice) == now


def test_what_is_written_after_a_rollback_goes_on_from_there(alice: ScopedMemory) -> None:
    alice.remember("I live in Paris.", at=START)
    (second,) = alice.remember("I moved to Berlin.", at=START + timedelta(days=1), id="b").positions
    alice.rollback(second - 1)
    assert [fact.value for fact in alice.facts(attribute="home")] == ["Paris"]
    alice.remember("I moved to Rome.", at=START + timedelta(days=2))
    assert texts(alice.history()) == ["I live in Paris.", "I moved to Rome."]
    assert homes(alice) == [("Paris", "superseded"), ("Rome", "current")]
    assert not [hit for hit in alice.recall("Berlin", k=10) if "Berlin" in hit.record.text]
    with pytest.raises(IdConflictError, match="hidden by a rollback or an edit"):
        alice.remember("I moved to Berlin.", id="b")
    with pytest.raises(InvalidInputError, match="ends at position"):
        alice.rollback(50)


def homes(memory: ScopedMemory) -> list[tuple[str, str]]:
    return [(fact.value, str(fact.state)) for fact in memory.facts(attribute="home", history=True)]


def test_a_settled_fact_stands_from_its_settling_on(face: Face, alice: ScopedMemory) -> None:
    alice.remember("I live in Paris.", at=START)
    alice.remember("I moved to Berlin.", at=START + timedelta(days=1))
    paris, berlin = alice.facts(attribute="home", history=True)
    assert (berlin.current, paris.current) == (True, False)
    before, place = homes(alice), max(positions(alice))
    (settled,) = face(alice).resolve(paris).positions
    now = homes(alice)
    assert {("Paris", "current"), ("Berlin", "superseded")} <= set(now)
    assert homes(alice.as_of(place)) == homes(alice.as_of(START + timedelta(days=2))) == before
    assert homes(alice.as_of(settled)) == now
    (rolled,) = alice.rollback(place).positions
    assert homes(alice) == before
    alice.rollback(rolled - 1)
    assert homes(alice) == now
    with opened() as other:
        for wrong in (paris, "Paris"):
            with pytest.raises(InvalidInputError, match="fact"):
                face(other.scoped(user="bob")).resolve(wrong)  # type: ignore[arg-type]


def test_a_conversation_is_compacted_after_a_rollback(alice: ScopedMemory) -> None:
    alice.remember([f"Room {number} has {number} chairs." for number in range(6)])
    place = max(positions(alice))
    alice.compact(keep=1)
    folded = alice.summary().stretches
    alice.rollback(place)
    assert not alice.summary()
    assert alice.compact(keep=2).compacted == 4
    assert alice.summary().stretches != folded


def test_a_view_of_the_past_is_read_only(alice: ScopedMemory) -> None:
    alice.remember("I live in Paris.")
    past = alice.as_of(1)
    writes: list[Callable[[], Any]] = [
        lambda: past.remember("x"), past.compact, past.reset, past.flush, lambda: past.rollback(0),
        lambda: past.forget(query="Paris"), lambda: past.offload("text"),
    ]  # fmt: skip
    for write in writes:
        with pytest.raises(InvalidInputError, match="view of the past"):
            write()
    assert past.assemble("Where do I live?").messages[0].text == "I live in Paris."
    assert len(positions(alice)) == 1


@pytest.mark.parametrize("moment", ["yesterday", datetime(2024, 5, 1), -1, True, None, 1.5])  # noqa: DTZ001 - naive
def test_a_moment_is_a_position_or_an_aware_instant(alice: ScopedMemory, moment: Any) -> None:
    with pytest.raises(InvalidInputError):
        alice.as_of(moment)


def test_a_position_behind_the_end_of_the_log_is_refused_until_somebody_wrote_it(face: Face, store: str) -> None:
    config = MemoryConfig(url=store, embedder="none")
    memory, other = open_memory(config), open_memory(config)  # as another process would
    alice = memory.scoped(user="alice")
    face(alice).remember("I live in Paris.")
    later = alice.as_of(2)
    reads: list[Callable[[], Any]] = [
        lambda: face(later).history(), lambda: face(later).recall("Paris"), lambda: face(later).profile(),
        lambda: face(later).assemble("Where do I live?"), lambda: face(later.files()).list(),
        lambda: face(later.block("human")).history(),
    ]  # fmt: skip
    for read in reads:
        with pytest.raises(InvalidInputError, match="ends at position 1: there is no position 2"):
            read()
    other.scoped(user="alice").remember("I moved to Berlin.")
    assert texts(face(later).history()) == ["I live in Paris.", "I moved to Berlin."]
    assert face(alice.as_of(0)).history() == []
    assert len(face(alice.as_of(START + timedelta(days=36500))).history()) == 2
    memory.close()
    other.close()


def told(home: str) -> list[Message]:
    """A chat whose first message names a home."""
    return [
        Message(content=f"I live in {home}.", id="1", at=START),
        Message(role=Role.ASSISTANT, content="Nice.", id="2", at=START + timedelta(hours=1)),
        Message(content="I like tea.", id="3", at=START + timedelta(hours=2)),
    ]


def test_a_view_of_the_past_has_the_words_from_before_an_edit(face: Face) -> None:
    days = count(1)
    config = MemoryConfig(url="memory://", embedder="hashing")
    with open_memory(config, token_counter=estimate_tokens, clock=lambda: START + timedelta(days=next(days))) as memory:
        alice = memory.scoped(user="u", session="s1")
        seen: list[tuple[int, tuple[Any, ...]]] = []
        for home in ("Paris", "Oslo", "Rome", "Paris"):
            face(alice).mirror(told(home))
            face(alice).flush()
            assert next(message.text for message in face(alice).history()) == f"I live in {home}."
            assert [fact.value for fact in face(alice).facts() if fact.attribute == "home"] == [home]
            seen.append((positions(alice)[-1], state(alice)))
        for place, then in seen:
            assert state(alice.as_of(place)) == then
            text = face(alice.as_of(place)).assemble("Where do I live?").text
            assert [name for name in ("Paris", "Oslo", "Rome") if name in text] == [then[0][0].split()[-1].strip(".")]
