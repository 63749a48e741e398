"""Blocks as files that are edited, the profile and facts as files that are read."""

from typing import Any

import pytest

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.errors import AccessDeniedError, FileError, InvalidInputError
from tests.faces import Face


def test_the_profile_and_facts_are_files_that_the_memory_makes(face: Face, alice: ScopedMemory) -> None:
    position = alice.remember(["I live in Rome.", "我对花生过敏。"]).positions[-1]
    files = face(alice.files())
    profile = "- home: Rome\n- allergy: 我对花生过敏。\n"
    assert files.read("/profile.md") == profile
    assert files.read("/facts/knowledge.md") == "- user · home: Rome\n- user · allergy: 我对花生过敏。\n"
    assert [file.path for file in files.list("/facts")] == ["/facts/knowledge.md"]
    file = next(file for file in files.list() if file.path == "/profile.md")
    assert (file.size, file.read_only, file.modified_at) == (
        len(profile.encode()),
        True,
        max(fact.valid_from for fact in alice.facts()),
    )
    for path in ("/profile.md", "/facts/knowledge.md", "/facts/other.md", "/facts"):
        calls: list[tuple[str, tuple[str, ...]]] = [
            ("write", (path, "- home: Oslo")), ("delete", (path,)), ("rename", (path, "/x.md")),
            ("rename", ("/x.md", path)), ("undo", (path,)),
        ]  # fmt: skip
        for verb, arguments in calls:
            with pytest.raises(FileError, match="made by the memory") as error:
                getattr(files, verb)(*arguments)
            assert error.value.reason == "read_only"
    alice.remember("I moved to Oslo.")
    assert files.read("/profile.md").startswith("- home: Oslo\n")
    assert face(alice.as_of(position).files()).read("/profile.md") == profile


def test_blocks_are_files(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    files.write("/blocks/task.md", "Book\nthe hall")
    files.write("/blocks/human.md", "", origin="assistant")
    assert {label: block.value for label, block in alice.blocks().items()} == {"task": "Book\nthe hall", "human": ""}
    assert (str(alice.blocks()["task"].origin), str(alice.blocks()["human"].origin)) == ("user", "assistant")
    files.edit("/blocks/task.md", "hall", "room")
    assert files.read("/blocks/task.md") == "Book\nthe room"
    assert [(one.text, one.change) for one in files.history("/blocks/task.md")] == [
        ("Book\nthe hall", "write"), ("Book\nthe room", "edit"),
    ]  # fmt: skip
    assert files.undo("/blocks/task.md") is not None
    assert alice.blocks()["task"].value == "Book\nthe hall"
    assert [file.path for file in files.list("/blocks")] == ["/blocks/human.md", "/blocks/task.md"]
    files.delete("/blocks/human.md")
    assert list(alice.blocks()) == ["task"]
    alice.block("fixed").put("as it is", read_only=True)
    assert next(file.read_only for file in files.list("/blocks") if "fixed" in file.path)
    wrong: list[tuple[Any, str]] = [
        (lambda: files.write("/blocks/fixed.md", "x"), "read-only"),
        (lambda: files.write("/blocks/task.md", "x" * 2001), "2001 of 2000"),
        (lambda: files.delete("/blocks/fixed.md"), "read-only"),
        (lambda: files.write("/blocks/a b.md", "x"), "label"),
        (lambda: files.write("/blocks/a", "x"), "a block is a file such as"),
        (lambda: files.write("/blocks/a/b.md", "x"), "label"),
        (lambda: files.rename("/blocks/task.md", "/x.md"), "have fixed paths"),
        (lambda: files.rename("/x.md", "/blocks/x.md"), "have fixed paths"),
        (lambda: files.delete("/blocks"), "have fixed paths"),
    ]
    for call, told in wrong:
        with pytest.raises(InvalidInputError, match=told):
            call()


def test_files_of_a_space_take_rights(face: Face, memory: HybridMemory) -> None:
    ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
    space = ann.space("team").create()
    space.grant(user="bob", right="read")
    face(space.files()).write("/plan.md", "Ship in May.\n")
    theirs = face(bob.space("team").files())
    assert theirs.read("/plan.md") == "Ship in May.\n"
    with pytest.raises(AccessDeniedError, match="write_file"):
        theirs.write("/plan.md", "x")
    space.grant(user="bob", right="write")
    theirs.insert("/plan.md", 1, "Test in April.")
    assert [one.author for one in face(space.files()).history("/plan.md")] == ["user='ann'", "user='bob'"]
    memory.forget(user="bob")
    assert face(space.files()).read("/plan.md") == "Ship in May.\n"
    with pytest.raises(FileError, match="no file"):
        face(space.files()).read("/profile.md")
