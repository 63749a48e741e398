from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, MemoryConfig, Message, Role, ScopedMemory, ToolCall, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.follow import said_before

if TYPE_CHECKING:
    from tests.conftest import Face, Open

pytestmark = pytest.mark.in_pairs("face", "memory")


def user(text: str, name: str | None = None) -> Message:
    return Message(content=text, id=name)


def assistant(text: str, name: str | None = None) -> Message:
    return Message(role=Role.ASSISTANT, content=text, id=name)


def call(name: str | None = None, **arguments: Any) -> Message:
    return Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name="look", id="c", arguments=arguments)], id=name)


def result(text: str, name: str | None = None) -> Message:
    return Message(role=Role.TOOL, content=text, tool_call_id="c", id=name)


def words(scoped: ScopedMemory) -> list[str]:
    return [message.text for message in scoped.history()]


def test_a_growing_copy_is_written_once(alice: ScopedMemory, face: Face) -> None:
    copy = [user("hello", "1"), assistant("hi", "2"), user("how are you?", "3"), assistant("fine", "4")]
    for size in range(1, 5):
        assert face(alice, "follow", copy[:size]) == ["1", "2", "3", "4"][:size]
    assert words(alice) == ["hello", "hi", "how are you?", "fine"]


def test_the_end_of_a_copy_is_enough(alice: ScopedMemory, face: Face) -> None:
    face(alice, "follow", [user("hello", "1"), assistant("hi", "2")])
    assert face(alice, "follow", [assistant("hi", "2"), user("more", "3")]) == ["2", "3"]
    assert face(alice, "follow", [user("and more", "4")]) == ["4"]
    assert words(alice) == ["hello", "hi", "more", "and more"]


def test_a_copy_without_ids_is_recognised_by_its_words(alice: ScopedMemory, face: Face) -> None:
    first = face(alice, "follow", [user("hello"), call(x=1), result("r"), assistant("hi")])
    assert all(first)
    # A chat window knows the words only, without the steps between them.
    again = face(alice, "follow", [user(" hello "), assistant("hi"), user("next")])
    assert again[:2] == [first[0], first[3]]
    assert words(alice) == ["hello", 'look {"x": 1}', "r", "hi", "next"]


def test_a_turn_that_failed_and_is_sent_again_is_one_turn(alice: ScopedMemory, face: Face) -> None:
    face(alice, "follow", [user("yes", "1")])
    assert face(alice, "follow", [user("yes", "other")]) == ["1"]
    face(alice, "follow", [user("yes", "1"), assistant("well", "2")])
    assert face(alice, "follow", [user("yes", "3")]) == ["3"]
    assert words(alice) == ["yes", "well", "yes"]


def test_what_was_forgotten_is_not_written_again(alice: ScopedMemory, face: Face) -> None:
    copy = [user("my card is 4711", "1"), assistant("noted", "2"), user("forget it", "3")]
    face(alice, "follow", copy)
    alice.forget(ids=["1"])
    assert face(alice, "follow", [*copy, assistant("done", "4")]) == [None, "2", "3", "4"]
    assert words(alice) == ["noted", "forget it", "done"]


def test_a_call_that_was_edited_at_the_end_is_kept_as_it_became(alice: ScopedMemory, face: Face) -> None:
    face(alice, "follow", [user("delete them", "1"), call("2", path="/all")])
    copy = [user("delete them", "1"), call("2", path="/one"), result("deleted", "3")]
    ids = face(alice, "follow", copy)
    assert ids[0] == "1"
    assert ids[1] != "2"
    assert face(alice, "follow", copy) == ids
    assert words(alice) == ["delete them", 'look {"path": "/all"}', 'look {"path": "/one"}', "deleted"]
    shown = alice.assemble(among=ids, max_tokens=500).messages
    assert [message.text for message in shown] == ["delete them", 'look {"path": "/one"}', "deleted"]


def test_an_older_message_that_was_edited_keeps_its_place(alice: ScopedMemory, face: Face) -> None:
    face(alice, "follow", [user("I am Bob Smith", "1"), assistant("hi", "2")])
    assert face(alice, "follow", [user("I am [name]", "1"), assistant("hi", "2"), user("next", "3")]) == ["1", "2", "3"]
    assert words(alice) == ["I am Bob Smith", "hi", "next"]


def test_one_message_that_cannot_be_stored_leaves_the_log_as_it_was(alice: ScopedMemory, face: Face) -> None:
    with pytest.raises(InvalidInputError):
        face(alice, "follow", [user("fine", "1"), {"role": "user", "content": ""}])
    assert words(alice) == []


TURNS = st.lists(st.tuples(st.sampled_from("ua"), st.sampled_from("xy")), max_size=7)


@given(TURNS, TURNS)
def test_the_longest_beginning_that_the_log_ends_with_counts_as_said(
    log: list[tuple[str, str]], copy: list[tuple[str, str]]
) -> None:
    said = [(user if role == "u" else assistant)(text, str(row)) for row, (role, text) in enumerate(log)]
    given_ = [(user if role == "u" else assistant)(text) for role, text in copy]
    size = max((n for n in range(len(copy) + 1) if not n or copy[:n] == log[-n:]), default=0)
    expected: list[str | None] = [str(len(log) - size + row) for row in range(size)]
    assert said_before(said, given_) == expected + [None] * (len(copy) - size)


def test_another_branch_is_not_shown(alice: ScopedMemory, face: Face) -> None:
    face(alice, "follow", [user("one", "1"), assistant("first answer", "2")])
    face(alice, "follow", [user("two", "3"), assistant("left behind", "4")])
    ids = face(alice, "follow", [user("one", "1"), assistant("first answer", "2"), user("another two", "5")])
    shown = face(alice, "assemble", among=ids, max_tokens=500)
    assert [message.id for message in shown.messages] == ids


def test_what_came_before_the_copy_is_shown(alice: ScopedMemory, face: Face) -> None:
    alice.remember([user("one", "1"), assistant("two", "2"), user("three", "3")])
    shown = face(alice, "assemble", among=["3"], max_tokens=500)
    assert [message.text for message in shown.messages] == ["one", "two", "three"]


def test_two_runs_of_one_session_are_shown_their_own_turn(alice: ScopedMemory, face: Face) -> None:
    alice.remember([user("first", "1"), user("second", "2"), call("3"), result("r", "4")])
    mine = face(alice, "assemble", among=["1", "3", "4"], max_tokens=500)
    theirs = face(alice, "assemble", among=["2"], max_tokens=500)
    assert [message.id for message in mine.messages] == ["1", "3", "4"]
    assert theirs.messages[-1].text.endswith("second")


@pytest.mark.parametrize("among", ["m1", [1], 5])
def test_among_must_be_ids(alice: ScopedMemory, face: Face, among: Any) -> None:
    with pytest.raises(InvalidInputError, match="among"):
        face(alice, "assemble", "q", among=among)


class Model:
    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, prompt: str) -> str:
        self.asked += 1
        return '{"intent": ["talk about the garden in spring"]}'


SETTINGS = CompactionConfig(max_tokens=600, keep_rounds=4, keep_least=2)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def chat(model: Model) -> Iterator[ScopedMemory]:
    numbers = count()
    clock = lambda: datetime.fromtimestamp(1_700_000_000 + next(numbers), UTC)  # noqa: E731
    config = MemoryConfig(url="memory://", embedder="hashing", compaction=SETTINGS)
    with open_memory(config, language_model=model, clock=clock) as memory:
        yield memory.scoped(user="alice", session="s1")


def said(rounds: int) -> list[Message]:
    return [
        message
        for row in range(rounds)
        for message in (
            user(f"Tell me about plant number {row} of the garden in spring, please."),
            assistant(f"Plant {row} grows in the garden in spring and wants water on day {row}."),
        )
    ]


def test_nobody_waits_for_a_model(chat: ScopedMemory, model: Model, face: Face) -> None:
    chat.remember(said(12))
    before = face(chat, "assemble", "And the rose?", wait=False)
    assert not before.compacted
    assert model.asked == 0
    assert before.pressure > SETTINGS.pressure
    face(chat, "flush")
    assert model.asked > 0
    after = face(chat, "assemble", "And the rose?", wait=False)
    assert after.tokens < before.tokens
    assert "garden in spring" in after.sections["summary"]


def test_what_no_longer_fits_is_folded_at_once_and_the_model_is_asked_later(
    chat: ScopedMemory, model: Model, face: Face
) -> None:
    chat.remember(said(40))
    prompt = face(chat, "assemble", "And the rose?", wait=False)
    assert prompt.compacted.startswith("tokens")
    assert prompt.tokens <= SETTINGS.max_tokens
    assert model.asked == 0
    assert chat.summary().lines
    face(chat, "flush")
    assert model.asked > 0
    assert "talk about the garden" in chat.summary().text


def test_in_the_midst_of_a_round_nothing_is_folded(chat: ScopedMemory, model: Model, face: Face) -> None:
    chat.remember([*said(12), user("And the rose?")])
    face(chat, "assemble", wait=False)
    face(chat, "flush")
    assert not chat.summary().lines
    chat.remember(assistant("It wants sun."))
    face(chat, "flush")
    assert chat.summary().lines


def test_a_conversation_that_began_anew_meanwhile_is_left_alone(chat: ScopedMemory, face: Face) -> None:
    chat.remember(said(12))
    assert face(chat, "assemble", "And the rose?", wait=False).pressure > SETTINGS.pressure
    chat.reset()
    face(chat, "flush")
    assert not chat.summary().lines
    chat.remember(user("A new beginning."))
    face(chat, "flush")


@pytest.fixture
def quick(opened: Open) -> ScopedMemory:
    memory = opened(compaction=SETTINGS, learning={"delay": "PT0.05S"})
    return memory.scoped(user="alice", session="s1")


@pytest.mark.background
def test_turns_are_folded_in_the_pause_after_an_answer(quick: ScopedMemory) -> None:
    quick.remember([*said(12), user("And the rose?")])
    quick.assemble(wait=False)
    quick.remember(assistant("It wants sun."))
    deadline = time.monotonic() + 10
    while not quick.summary().lines and time.monotonic() < deadline:
        time.sleep(0.02)
    assert quick.summary().lines
