from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, Event, EventKind, Host, HybridMemory, Message, Role, ScopedMemory, ToolCall
from hybrid_memory.context.conversation import said_before
from hybrid_memory.errors import InvalidInputError
from tests.doubles import texts, wait_until
from tests.faces import Face, Open
from tests.world import assistant, user


def exchange(call: str, result: str) -> list[Message]:
    """A call of a tool and its result, with these ids."""
    return [
        Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name="look", id="c")], id=call),
        Message(role=Role.TOOL, content="r", tool_call_id="c", id=result),
    ]


def known(ids: list[str | None]) -> list[str]:
    """The ids of a copy of which every message is kept."""
    assert None not in ids
    return [name for name in ids if name is not None]


def words(scoped: ScopedMemory) -> list[str]:
    return texts(scoped.history())


def shown(
    scoped: ScopedMemory, among: list[str] | None = None, *, began: str | None = None, **options: Any
) -> list[str]:
    """The words of the messages of a prompt."""
    return texts(scoped.assemble(host=Host(among=among, began=began), max_tokens=900, **options).messages)


def test_a_growing_copy_is_written_once_and_its_end_is_enough(alice: ScopedMemory, face: Face) -> None:
    copy = [user("hello", "1"), assistant("hi", "2"), user("how are you?", "3"), assistant("fine", "4")]
    for size in range(1, 5):
        assert face(alice).mirror(copy[:size]) == ["1", "2", "3", "4"][:size]
    assert face(alice).mirror([copy[3], user("more", "5")]) == ["4", "5"]
    assert face(alice).mirror([user("and more", "6")]) == ["6"]
    with pytest.raises(InvalidInputError):
        face(alice).mirror([user("fine", "7"), {"role": "user", "content": ""}])
    assert words(alice) == ["hello", "hi", "how are you?", "fine", "more", "and more"]


PARIS = [user("I live in Paris.", "1"), assistant("hi", "2"), user("And I like tea.", "3"), assistant("ok", "4")]
OSLO = [user("I live in Oslo.", "1"), *PARIS[1:]]
ROME = [user("I live in Rome.", "1"), *PARIS[1:]]


def log(memory: ScopedMemory, *kinds: EventKind) -> list[Event]:
    """All that the log holds of a session, seen or not."""
    return memory._runtime.services.truth.read(memory.scope, kinds=kinds)


def homes(memory: ScopedMemory) -> list[str]:
    return [fact.value for fact in memory.facts() if fact.attribute == "home"]


def standing(memory: ScopedMemory, ids: list[str]) -> set[str]:
    """What each verb shows of where somebody lives."""
    memory.flush()
    there = words(memory)
    assert texts(memory.history(current=True)) == texts(memory.history(limit=len(there))) == there
    assert texts(memory.history(limit=2)) == texts(memory.history(current=True, limit=2)) == there[-2:]
    assert there[1:] == texts(PARIS[1:])
    recalled = " ".join(texts(memory.recall("Where do I live? Paris Oslo Rome", k=20)))
    for among in (None, ids):
        prompt = memory.assemble("And?", max_tokens=900, host=Host(among=among))
        assert [message.text for message in prompt.messages if message.id] == there
    found = {name for name in ("Paris", "Oslo", "Rome") if name in recalled}
    return found | set(homes(memory)) | {there[0].removeprefix("I live in ").removesuffix(".")}


def test_every_verb_shows_a_message_as_it_was_edited_again_and_back(alice: ScopedMemory, face: Face) -> None:
    seen = {"Paris": known(face(alice).mirror(PARIS))}
    assert standing(face(alice), seen["Paris"]) == {"Paris"}
    for home, copy in (("Oslo", OSLO), ("Rome", ROME), ("Paris", PARIS), ("Oslo", OSLO), ("Paris", PARIS)):
        for _ in range(2):
            ids = known(face(alice).mirror(copy))
            assert ids == seen.setdefault(home, ids)
            assert standing(face(alice), ids) == {home}
    assert len({ids[0] for ids in seen.values()}) == 3
    assert len({tuple(ids[1:]) for ids in seen.values()}) == 1
    assert len(log(alice, EventKind.MESSAGE)) == 6, "no words were written twice"


def test_of_two_branches_each_shows_its_own_words(alice: ScopedMemory, face: Face) -> None:
    """A host that goes back to an earlier state may have the same id with other words there."""
    asked = "Where do I live, in Paris or in Oslo?"
    seen = [(copy, known(face(alice).mirror(copy))) for copy in (PARIS, OSLO)]
    for copy, ids in seen:
        assert shown(face(alice), ids, query=asked, began="1") == [*texts(copy), asked], "nothing else is recalled"
    for _ in range(2):
        for copy in ([*PARIS, user("One?", "5")], [*OSLO, user("Two?", "6")]):
            assert shown(face(alice), known(face(alice).mirror(copy)), began="1") == texts(copy)


def test_what_the_host_removed_at_its_beginning_is_not_shown(alice: ScopedMemory, face: Face) -> None:
    ids = known(face(alice).mirror([*PARIS, user("Go on.", "5")]))
    kept = ids[2:]
    shown = face(alice).assemble(host=Host(among=kept, began="1"), max_tokens=900)
    assert [message.id for message in shown.messages] == kept
    assert [message.id for message in face(alice).assemble(host=Host(among=kept), max_tokens=900).messages] == ids
    assert not shown.hits, "nor is it recalled"


def test_forgetting_one_version_of_a_message_destroys_all(memory: HybridMemory, face: Face) -> None:
    for number, place in enumerate((0, 1, 2)):
        alice = memory.scoped(user=f"alice {number}", session="s1")
        ids = [known(face(alice).mirror(copy))[0] for copy in (PARIS, OSLO, ROME)]
        face(alice).flush()
        face(alice).forget(ids=[ids[place]])
        face(alice).flush()
        assert words(alice) == ["hi", "And I like tea.", "ok"]
        everything = str([event.payload for event in log(alice)])
        assert not any(name in everything for name in ("Paris", "Oslo", "Rome"))
        assert homes(alice) == []


def folded(chat: ScopedMemory, face: Face, first: str, role: Role = Role.USER) -> list[Message]:
    """A conversation whose older half is folded."""
    copy = [
        Message(role=role, content=first, id="0"),
        *(m.model_copy(update={"id": str(n)}) for n, m in enumerate(said(12), 1)),
    ]
    face(chat).mirror(copy)
    assert face(chat).compact(keep=4).compacted
    return copy


def test_an_edit_of_a_folded_message_is_shown_until_it_is_folded_too(chat: ScopedMemory, face: Face) -> None:
    copy = folded(chat, face, "My password is tulip7, and I decided to live in Paris.")
    assert "Paris" in face(chat).assemble("And?").text
    copy[0] = user("My password is [removed], and I decided to live in Oslo.", "0")
    ids = known(face(chat).mirror(copy))
    for among in (None, ids):
        text = face(chat).assemble("And?", host=Host(among=among)).text
        assert "Paris" not in text
        assert "tulip7" not in text
        assert text.count("I decided to live in Oslo.") == 1
    assert "Paris" not in chat.summary().text
    assert face(chat).history(current=True)[0].text == copy[0].text
    for keep in (4, 2):
        assert face(chat).compact(keep=keep).compacted
        text = face(chat).assemble("And?").text
        assert "Paris" not in text
        assert text.count("live in Oslo") == chat.summary().text.count("live in Oslo") == 1
    stretches = [range(*map(int, name.removeprefix("#").split("-"))) for name in chat.summary().handles if "-" in name]
    assert not set(stretches[0]) & set(stretches[-1])
    behind = texts(face(chat).expand(chat.summary()))
    assert sorted(behind) == sorted(message.text for message in copy[: len(behind)])


def test_instructions_and_what_a_reset_kept_may_be_edited(chat: ScopedMemory, face: Face) -> None:
    copy = folded(chat, face, "Answer in English.", Role.SYSTEM)
    copy[0] = Message(role=Role.SYSTEM, content="Answer in French.", id="0")
    for keep in (4, 3, 2):
        ids = known(face(chat).mirror(copy))
        for among in (ids, None):
            assert face(chat).assemble("And?", host=Host(among=among)).messages[0].text == "Answer in French."
        face(chat).compact(keep=keep)
    face(chat).reset(keep=["3", "4"])
    face(chat).mirror([user("Edited.", "3"), assistant(copy[4].text, "4"), user("New.", "n")])
    assert texts(face(chat).history(current=True)) == shown(face(chat), k=0) == ["Edited.", copy[4].text, "New."]


def test_an_edit_of_what_a_reset_left_behind_does_not_come_back(alice: ScopedMemory, face: Face) -> None:
    face(alice).mirror(PARIS)
    face(alice).reset()
    face(alice).mirror([*OSLO, user("New.", "5")])
    assert texts(face(alice).history(current=True)) == shown(face(alice), k=0, profile="") == ["New."]


WINDOW = [user("hello"), assistant("hi"), user("Tell me a joke.")]


def test_an_answer_that_is_asked_for_again_replaces_the_old_one(alice: ScopedMemory, face: Face) -> None:
    face(alice).mirror(WINDOW)
    face(alice).remember(assistant("Knock knock."))
    known(face(alice).mirror(WINDOW))
    assert words(alice) == shown(face(alice)) == ["hello", "hi", "Tell me a joke."]
    face(alice).remember(assistant("A horse walks into a bar."))
    assert words(alice) == ["hello", "hi", "Tell me a joke.", "A horse walks into a bar."]
    assert "Knock" not in str(face(alice).recall("knock joke", k=9))
    face(alice).remember([*exchange("c1", "r1"), assistant("Knock knock.")])
    face(alice).mirror([*WINDOW[:2], user("Tell me a long joke.")])
    assert words(alice) == ["hello", "hi", "Tell me a long joke."], "and so does a question with other words"


def test_a_message_that_is_written_again_takes_nobodys_place(alice: ScopedMemory, face: Face) -> None:
    face(alice).mirror([user("I am Bob Smith", "1"), assistant("hi", "2")])
    face(alice).mirror([user("I am Bob", "1"), assistant("hi", "2")])
    (edited,) = [message for message in alice.history() if message.replaces]
    other = face(alice).remember([edited.model_copy(update={"id": "copy"}), user("later", "4")])
    assert other.ids == ("copy", "4")
    assert words(alice) == ["I am Bob", "hi", "I am Bob", "later"]


TURNS = st.lists(st.tuples(st.sampled_from("ua"), st.sampled_from("xy")), max_size=7)


@given(TURNS, TURNS)
def test_the_longest_overlap_counts_as_said(log: list[tuple[str, str]], copy: list[tuple[str, str]]) -> None:
    said = [(user if role == "u" else assistant)(text, str(row)) for row, (role, text) in enumerate(log)]
    given_ = [(user if role == "u" else assistant)(text) for role, text in copy]
    size = max((n for n in range(len(copy) + 1) if not n or copy[:n] == log[-n:]), default=0)
    expected: list[str | None] = [str(len(log) - size + row) for row in range(size)]
    assert said_before(said, given_) == expected + [None] * (len(copy) - size)


def test_two_runs_of_one_session_are_shown_their_own_turn(alice: ScopedMemory, face: Face) -> None:
    alice.remember([user("first", "1"), user("second", "2"), *exchange("3", "4")])
    mine = face(alice).assemble(host=Host(among=["1", "3", "4"]), max_tokens=500)
    theirs = face(alice).assemble(host=Host(among=["2"]), max_tokens=500)
    assert [message.id for message in mine.messages] == ["1", "3", "4"]
    assert theirs.messages[-1].text.endswith("second")


@pytest.mark.parametrize(
    ("name", "wrong"), [("among", "m1"), ("among", [1]), ("among", 5), ("began", 5), ("beside", ["s"])]
)
def test_what_a_host_knows_has_the_type_that_it_must_have(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        Host(**{name: wrong})


SETTINGS = CompactionConfig(max_tokens=510, keep_rounds=4, keep_least=2)


@pytest.fixture
def chat(opened: Open) -> ScopedMemory:
    def model(_: str) -> str:
        return '{"intent": ["talk about the garden in spring"]}'

    numbers = count()
    clock = lambda: datetime.fromtimestamp(1_700_000_000 + next(numbers), UTC)  # noqa: E731
    memory = opened(url="memory://", compaction=SETTINGS, language_model=model, clock=clock)
    return memory.scoped(user="alice", session="s1")


def said(rounds: int) -> list[Message]:
    return [
        message
        for row in range(rounds)
        for message in (
            user(f"Tell me about plant number {row} of the garden in spring, please."),
            assistant(f"Plant {row} grows in the garden in spring and wants water on day {row}."),
        )
    ]


@pytest.mark.background
def test_turns_are_folded_in_the_pause_after_an_answer(opened: Open) -> None:
    quick = opened(compaction=SETTINGS, learning={"delay": "PT0.05S"}).scoped(user="alice", session="s1")
    quick.remember([*said(12), user("And the rose?")])
    quick.assemble(wait=False)
    quick.remember(assistant("It wants sun."))
    wait_until(lambda: bool(quick.summary().lines))
