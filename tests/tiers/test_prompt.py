from __future__ import annotations

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.tiers.prompt import SUMMARY_HEADING, Layout, Parts, messages, with_note

TURNS = (
    (Message(content="Where is my bag?", id="m1"), "note one"),
    (Message(role=Role.ASSISTANT, content="In the hall.", id="m2"), ""),
)
FULL = Parts(
    identity="You are a guide.",
    instructions="Be brief.",
    blocks={"persona": "calm", "human": "Nora"},
    profile="likes tea",
    summary="facts:\n- user: The bag is red. [#3]",
    artifacts="files: a.py created",
    turns=TURNS,
    note="note two",
    question=Message(content="And my coat?"),
)


def said(parts: Parts, layout: Layout) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in messages(parts, layout)]


def test_the_stable_layout_puts_what_changes_least_first() -> None:
    (role, head), *turns = said(FULL, "stable")
    assert role == "system"
    places = [head.index(text) for text in ("guide", "Be brief", "calm", "Nora", "tea", SUMMARY_HEADING, "red", "a.py")]
    assert places == sorted(places)
    assert turns == [
        ("user", "note one\n\nWhere is my bag?"),
        ("assistant", "In the hall."),
        ("user", "note two\n\nAnd my coat?"),
    ]


def test_the_classic_layout_is_identity_profile_memory_conversation_instruction() -> None:
    (role, head), *turns = said(FULL, "classic")
    assert role == "system"
    places = [head.index(text) for text in ("guide", "tea", "calm", "Nora", SUMMARY_HEADING, "a.py", "note two")]
    assert places == sorted(places)
    assert "Be brief" not in head
    assert turns == [
        ("user", "Where is my bag?"),
        ("assistant", "In the hall."),
        ("system", "Be brief."),
        ("user", "And my coat?"),
    ]


@pytest.mark.parametrize("layout", ["stable", "classic"])
def test_without_anything_to_say_there_is_no_system_message(layout: Layout) -> None:
    assert said(Parts(question=Message(content="Hello")), layout) == [("user", "Hello")]
    assert said(Parts(turns=[(Message(content="Hello"), "")]), layout) == [("user", "Hello")]


def test_blocks_stand_between_their_labels() -> None:
    ((_, head),) = said(Parts(blocks={"human": "Nora\nlikes tea"}), "stable")
    assert head == "<human>\nNora\nlikes tea\n</human>"


def test_a_longer_conversation_begins_with_the_shorter_one() -> None:
    shorter = Parts(identity="x", turns=TURNS, note="note", question=Message(content="q"))
    asked = (Message(content="q", id="m3"), "note")
    longer = Parts(identity="x", turns=[*TURNS, asked, (Message(role=Role.ASSISTANT, content="a"), "")])
    assert said(longer, "stable")[: len(said(shorter, "stable"))] == said(shorter, "stable")


def test_a_note_leaves_the_blocks_of_a_message_as_they_are() -> None:
    image = {"type": "image", "url": "https://example.org/a.png"}
    message = Message(content=[{"type": "text", "text": "What is this?"}, image], id="m", metadata={"a": 1})
    noted = with_note(message, "a note")
    assert noted.content == [{"type": "text", "text": "a note\n\n"}, *message.content]
    assert (noted.id, noted.metadata) == ("m", {"a": 1})
    assert message.content[1] == image
    assert with_note(message, "") is message
