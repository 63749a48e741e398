"""A session without memory: nothing is stored or learned, and everything said before can be recalled."""

import pytest

from hybrid_memory import HybridMemory, Message, Role, ScopedMemory
from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from tests.faces import Face, Open

WORDS = "I am allergic to shellfish and I want to quit my job."


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    memory = opened(url="memory://", embedder="none", learning={"background": False})
    memory.scoped(user="alice", session="old").remember(["I live in Ghent.", "My sister Zoe keeps bees."])
    return memory


def unremembered(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="alice", session="new", remember=False)


def test_an_agent_works_without_storing_anything(face: Face, memory: HybridMemory) -> None:
    before = memory.scoped(user="alice").events()
    alice = face(unremembered(memory))
    assert alice.remember(WORDS).positions == ()
    assert alice.mirror([Message(content=WORDS), Message(role=Role.ASSISTANT, content="Noted.")]) == [None, None]
    assert "My sister Zoe keeps bees." in [hit.record.text for hit in alice.recall("Who keeps bees?")]
    prompt = alice.assemble("Where do I live, and who keeps bees?")
    assert "I live in Ghent." in prompt.text
    assert "Zoe" in prompt.text
    alice.reset()
    assert [fact.value for fact in alice.facts(attribute="home")] == ["Ghent"]
    alice.flush()
    kept = memory.scoped(user="alice").events()
    assert [event for event in kept if event.kind == "message"] == [e for e in before if e.kind == "message"]
    assert "shellfish" not in str([event.payload for event in kept])
    assert {event.scope.session for event in kept if event.kind != "learned"} == {"old"}
    assert not memory.scoped(user="alice").recall("shellfish", min_confidence=0.5)


def test_other_verbs_that_write_are_refused(face: Face, memory: HybridMemory) -> None:
    alice = face(unremembered(memory))
    (home,) = alice.facts(attribute="home")
    for write in (
        alice.learn,
        alice.compact,
        lambda: alice.offload("long"),
        lambda: alice.resolve(home),
        lambda: alice.rollback(1),
        lambda: alice.forget(user="alice"),
        lambda: alice.space("team").create(),
        lambda: face(unremembered(memory).block("notes")).put("x"),
        lambda: face(unremembered(memory).files()).write("/notes.md", "x"),
        lambda: face(unremembered(memory).as_of(2)).compact(),
    ):
        with pytest.raises(InvalidInputError, match="remember=False"):
            write()
    assert len(memory.scoped(user="alice").history()) == 2


def test_a_space_is_read_with_the_same_rights(face: Face, memory: HybridMemory) -> None:
    memory.scoped(user="alice").space("team").create().remember("The launch is on Friday.")
    team = face(unremembered(memory).space("team"))
    assert team.remember(WORDS).positions == ()
    assert [hit.record.text for hit in team.recall("When is the launch?")] == ["The launch is on Friday."]
    with pytest.raises(InvalidInputError, match="remember=False"):
        team.grant(user="bob", right="read")
    with pytest.raises(AccessDeniedError):
        face(memory.scoped(user="bob", remember=False).space("team")).recall("launch")
