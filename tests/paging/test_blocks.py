"""Blocks of working context: put, edited, undone, looked back on, and shown in prompts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Block, HybridMemory, PagingConfig, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from tests.faces import Face, Open
from tests.world import cases

BAD_LABELS = ["", "two words", "human\n", "a/b", "<human>", "x" * 65, "e\u0301", None, 7, ["human"]]


def values(owner: ScopedMemory) -> dict[str, str]:
    return {label: block.value for label, block in owner.blocks().items()}


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    """On the engine of a file; `tests.engines.long.test_paging` shows that the others do the same."""
    return opened(embedder="none")


@pytest.fixture
def human(alice: ScopedMemory) -> Block:
    return alice.block("human").put("Name: Ada", description="Who the user is.", max_chars=40)


def test_a_block_is_put_edited_in_three_ways_and_removed(face: Face, alice: ScopedMemory) -> None:
    assert face(alice).blocks() == {}
    put = face(alice.block("任务-1.a")).put(description="What to do.", max_chars=50)
    assert (put.value, put.revision, put.change, put.max_chars, put.read_only) == ("", 1, "put", 50, False)
    steps: list[tuple[dict[str, Any], str, str]] = cases("paging/blocks.json", "steps")
    for number, (edit, change, text) in enumerate(steps, start=2):
        edited = face(alice.block("任务-1.a")).edit(**edit)
        assert (edited.value, edited.change, edited.revision) == (text, change, number)
        assert face(alice).blocks() == {"任务-1.a": edited}
        assert (edited.description, edited.max_chars, str(edited)) == ("What to do.", 50, text)
    assert face(alice.block("任务-1.a")).remove() is None
    assert face(alice).blocks() == {}


@pytest.mark.parametrize("label", BAD_LABELS, ids=repr)
def test_a_label_is_checked_before_anything_changes(face: Face, alice: ScopedMemory, label: Any) -> None:
    alice.block("human").put("Name: Ada")
    before = alice._runtime.services.log.heads()
    verbs: list[tuple[str, dict[str, Any]]] = [
        ("put", {"value": "x"}), ("edit", {"append": "x"}), ("undo", {}), ("remove", {}), ("history", {}),
    ]  # fmt: skip
    for verb, options in verbs:
        with pytest.raises(InvalidInputError, match=r"label (has 1 to 64 letters|must be str)"):
            getattr(face(alice.block(label)), verb)(**options)
    assert alice._runtime.services.log.heads() == before


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        *cases("paging/blocks.json", "put"),
        ({"description": b"x"}, "description must be str"),
        ({"value": "x" * 41, "max_chars": 40}, "would have 41 of 40 characters"),
        ({"value": "🙂" * 3, "max_chars": 2}, "would have 3 of 2 characters"),
        ({"value": "x" * 2001}, "would have 2001 of 2000 characters"),
    ],
    ids=repr,
)
def test_a_bad_put_is_refused(face: Face, alice: ScopedMemory, human: Block, wrong: dict[str, Any], told: str) -> None:
    for label in ("human", "new"):
        with pytest.raises(InvalidInputError, match=told):
            face(alice.block(label)).put(**wrong)
    assert alice.blocks() == {"human": human}
    assert len(alice.block("human").history()) == 1


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        *cases("paging/blocks.json", "edit"),
        ({"append": "x" * 31}, "the block 'human' would have 41 of 40 characters: shorten what it says first"),
        ({"old": "Ada", "new": "x" * 35}, "would have 41 of 40"),
        ({"value": "x" * 41}, "would have 41 of 40"),
    ],
    ids=repr,
)
def test_a_bad_edit_is_refused(face: Face, alice: ScopedMemory, human: Block, edit: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        face(alice.block("human")).edit(**edit)
    assert alice.block("human").history() == [human]


def test_an_edit_with_an_id_is_made_once(face: Face, alice: ScopedMemory, human: Block) -> None:
    for _ in range(3):
        assert face(alice.block("human")).edit(append="Cat: Pixel", id="call-1").value == "Name: Ada\nCat: Pixel"
    face(alice.block("human")).edit(old="Ada", new="Eve", id="call-2")
    assert face(alice.block("human")).edit(old="Ada", new="Eve", id="call-2").value == "Name: Eve\nCat: Pixel"
    assert face(alice.block("human")).edit(value="other words", id="call-1").value == "Name: Eve\nCat: Pixel"
    face(alice.block("human")).undo()
    again = face(alice.block("human")).edit(old="Ada", new="Eve", id="call-2")
    assert again.value == "Name: Ada\nCat: Pixel", "a repetition does not bring back what was undone"
    alice.block("task").put()
    assert face(alice.block("task")).edit(append="Cat: Pixel", id="call-1").value == "Cat: Pixel"
    assert [block.change for block in alice.block("human").history()] == ["put", "append", "replace", "undo"]


def test_what_is_written_anew_must_follow_from_what_was_seen(face: Face, alice: ScopedMemory, human: Block) -> None:
    edited = face(alice.block("human")).edit(append="Cat: Pixel")
    for stale in (human.revision, edited.revision + 1, 0):
        with pytest.raises(
            InvalidInputError, match=r"the block 'human' was changed in the meantime.*\nName: Ada\nCat: Pixel"
        ):
            face(alice.block("human")).edit(value="Name: Eve", revision=stale)
    assert face(alice.block("human")).edit(append="Dog: Rex", revision=human.revision).revision == 3
    assert face(alice.block("human")).edit(old="Rex", new="Max", revision=human.revision).revision == 4
    assert face(alice.block("human")).edit(value="Name: Eve", revision=4).value == "Name: Eve"
    assert face(alice.block("human")).edit(value="Name: Ida").value == "Name: Ida"


def test_undo_goes_back_change_by_change(face: Face, alice: ScopedMemory, human: Block) -> None:
    face(alice.block("human")).edit(append="one")
    face(alice.block("human")).put("two", max_chars=9, read_only=True)
    face(alice.block("human")).remove()
    back = face(alice.block("human")).undo()
    assert (back.value, back.max_chars, back.read_only, back.removed, back.change) == ("two", 9, True, False, "undo")
    back = face(alice.block("human")).undo()
    assert (back.value, back.max_chars, back.read_only) == ("Name: Ada\none", 40, False)
    assert back.description == human.description
    assert face(alice.block("human")).undo().value == "Name: Ada"
    with pytest.raises(InvalidInputError, match="the block 'human' has no change to undo"):
        face(alice.block("human")).undo()
    face(alice.block("human")).edit(append="three")
    assert face(alice.block("human")).undo().value == "Name: Ada", "what was undone counts no more"
    face(alice.block("human")).remove()
    with pytest.raises(InvalidInputError, match="no block 'human'"):
        face(alice.block("human")).remove()
    face(alice.block("human")).undo()
    assert values(alice) == {"human": "Name: Ada"}
    changes = "put append put remove undo undo undo append undo remove undo".split()
    assert [block.change for block in alice.block("human").history()] == changes


def test_blocks_beyond_their_share_are_cut_in_the_prompt_only(face: Face, alice: ScopedMemory) -> None:
    text = " ".join(f"word{number}" for number in range(1200))
    alice.block("long").put(text, max_chars=20_000)
    alice.block("short").put("Name: Ada")
    alice.remember("Hello.")
    shown = face(alice).assemble(max_tokens=1000, paging=PagingConfig(), layout="queue")
    assert shown.tokens <= 1000
    assert "Name: Ada" in shown.text
    assert "word0 word1 " in shown.text
    assert "word1199" not in shown.text
    assert "the block is longer than its share of the window" in shown.text
    assert "Hello." in shown.text
    assert values(alice)["long"] == text


def test_a_warning_that_was_forgotten_is_given_again(face: Face, alice: ScopedMemory) -> None:
    for _ in range(2):
        alice.remember([f"Tell me of town {number} and its many bridges." for number in range(30)])
        face(alice).assemble("And now?", max_tokens=600, paging=PagingConfig(pressure=0.3))
        assert len([message for message in alice.history() if message.event]) == 1
        face(alice).forget(before=datetime.now(UTC) + timedelta(days=1))
        assert alice.history() == []
