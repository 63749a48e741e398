from dataclasses import replace

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import PROFILE_HEADINGS, SUMMARY_HEADINGS, Layout, Parts, messages, with_mark
from hybrid_memory.errors import InvalidConfigError

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
SYSTEM = "You are a guide.\n\nBe brief.\n\n<persona>\ncalm\n</persona>\n\n<human>\nNora\n</human>"
STANDING = (
    f"<user_profile>\n{PROFILE_HEADINGS['en']}\nlikes tea\n</user_profile>\n\n"
    f"<summary>\n{SUMMARY_HEADINGS['en']}\nfacts:\n- user: The bag is red. [#3]\nfiles: a.py created\n</summary>"
)
LAYOUTS: list[Layout] = ["stable", "queue", "classic"]


def said(parts: Parts, layout: Layout) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in messages(parts, layout)]


NOTED = ("user", "<memory>\nnote one\n</memory>\n\nWhere is my bag?"), ("assistant", "In the hall.")
ASKED = ("user", "<memory>\nnote two\n</memory>\n\nAnd my coat?")


@pytest.mark.parametrize(
    ("layout", "prompt"),
    [
        ("stable", [("system", SYSTEM), ("user", f"{STANDING}\n\n{NOTED[0][1]}"), NOTED[1], ASKED]),
        ("queue", [("system", SYSTEM), ("user", STANDING), *NOTED, ASKED]),
        ("classic", [
            ("system", SYSTEM.replace("Be brief.\n\n", "")),
            ("user", f"{STANDING}\n\n<memory>\nnote two\n</memory>\n\nWhere is my bag?"), NOTED[1],
            ("system", "Be brief."), ("user", "And my coat?"),
        ]),
    ],
)  # fmt: skip
def test_a_layout_has_its_parts_in_its_order(layout: Layout, prompt: list[tuple[str, str]]) -> None:
    """What changes least first; profile and summary as an entry of their own; or the instruction last."""
    assert said(FULL, layout) == prompt


def test_a_classic_prompt_without_a_conversation_ends_with_the_question() -> None:
    asked = said(replace(FULL, turns=()), "classic")
    assert [role for role, _ in asked] == ["system", "system", "user"]
    assert asked[-1] == ("user", f"{STANDING}\n\n<memory>\nnote two\n</memory>\n\nAnd my coat?")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_system_message_holds_what_was_learned_summarised_or_recalled(layout: Layout) -> None:
    """Nor do marks of their own lose anything of the words."""
    made = messages(FULL, layout)
    operator = "\n".join(message.text for message in made if message.role is Role.SYSTEM)
    others = "\n".join(message.text for message in made if message.role is not Role.SYSTEM)
    for text in ("likes tea", "The bag is red.", "a.py created", "note"):
        assert text not in operator
        assert text in others
    for text in ("You are a guide.", "Be brief.", "calm", "Nora"):
        assert text in operator


def test_what_memories_stand_in_can_be_set() -> None:
    marks = PromptConfig(memories='<notes kind="{memories}"/>')
    assert said(Parts(note="tea {memories}", question=Message(content="?"), marks=marks), "stable") == [
        ("user", '<notes kind="tea {memories}"/>\n\n?')
    ]


@pytest.mark.parametrize("memories", ["", "{memories}", " {memories}\n", "<m></m>", "<m>{memories}{memories}</m>"])
def test_a_template_has_one_place_and_a_mark_around_it(memories: str) -> None:
    with pytest.raises(InvalidConfigError, match="memories"):
        PromptConfig(memories=memories)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_anything_to_say_there_is_nothing_but_the_words(layout: Layout) -> None:
    assert said(Parts(question=Message(content="Hello")), layout) == [("user", "Hello")]
    assert said(Parts(turns=[(Message(content="Hello"), "")]), layout) == [("user", "Hello")]
    assert said(Parts(), layout) == []


def test_what_stands_before_a_turn_of_the_assistant_is_a_message_of_its_own() -> None:
    parts = Parts(profile="likes tea", turns=[(Message(role=Role.ASSISTANT, content="Hi."), "")])
    assert [role for role, _ in said(parts, "stable")] == ["user", "assistant"]
    assert [role for role, _ in said(Parts(profile="likes tea"), "stable")] == ["user"]


def test_headings_are_in_the_language_of_what_they_stand_over() -> None:
    parts = Parts(profile="喜欢：喝茶", summary="事实：\n- 用户：包是红色的。", question=Message(content="?"))
    ((_, text),) = said(parts, "stable")
    english, chinese = PROFILE_HEADINGS["en"], PROFILE_HEADINGS["zh"]
    assert chinese in text
    assert SUMMARY_HEADINGS["zh"] in text
    assert "records" not in text
    for heading, line in ((english, "I live in Oslo and like 包子."), (chinese, "我住在根特，在Acme做软件工程师。")):
        standing = Parts(profile=f"- [2026-03-01] {line}", question=Message(content="Hi")).standing
        assert heading in standing


def test_a_mark_leaves_the_blocks_of_a_message_as_they_are() -> None:
    image = {"type": "image", "url": "https://example.org/a.png"}
    message = Message(content=[{"type": "text", "text": "What is this?"}, image], id="m", metadata={"a": 1})
    noted = with_mark(message, "a note")
    assert noted.content == [{"type": "text", "text": "a note\n\n"}, *message.content]
    assert (noted.id, noted.metadata) == ("m", {"a": 1})
    assert message.content[1] == image
    assert with_mark(message, "") is message
