"""What is forgotten leaves no residue: not in a file, nor in its history, nor anywhere in the log."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.tools import tools_named
from tests.doubles import Clock, end_of, texts
from tests.faces import Face, Open

CANARY = "zirconquokka"
TEXT = f"# Plans\n\n- Call {CANARY} on Monday\n- Buy milk\n"


def residue(memory: HybridMemory) -> list[str]:
    """Events of the whole log that hold the word."""
    log = memory._runtime.services.truth
    events = [event for owner in log.heads() for event in log.read(owner)]
    return [str(event.kind) for event in events if CANARY in json.dumps([event.payload, event.id])]


@pytest.mark.parametrize(
    "forget",
    [
        lambda ann: ann.forget(query=CANARY),
        lambda ann: ann.forget(ids=[hit for hit in ann.recall(CANARY) if CANARY in hit.record.text]),
        lambda ann: ann.forget(user="ann"),
    ],
    ids=["query", "ids", "user"],
)
def test_words_go_from_the_file_and_all_its_revisions(
    face: Face, memory: HybridMemory, forget: Callable[[ScopedMemory], object]
) -> None:
    ann = memory.scoped(user="ann")
    files = face(ann.files())
    files.write("/plans.md", TEXT)
    files.insert("/plans.md", 4, "- Sleep")
    files.edit("/plans.md", "Monday", "Tuesday")
    files.rename("/plans.md", "/old.md")
    forget(face(ann))
    assert residue(memory) == []
    assert ann.recall(CANARY) == [] or CANARY not in str(texts(ann.recall(CANARY)))
    if files.list():
        assert files.read("/old.md") == "- Buy milk\n- Sleep\n"
        assert {file.path: file.size for file in files.list()}["/old.md"] == len("- Buy milk\n- Sleep\n")
        assert all(CANARY not in one.text for path in ("/plans.md", "/old.md") for one in files.history(path))
        assert [one.change for one in files.history("/plans.md")][:2] == ["write", "insert"]


def test_what_follows_from_a_turn_goes_with_it_also_once_it_was_edited(
    face: Face, memory: HybridMemory, alice: ScopedMemory
) -> None:
    said = alice.remember(f"Call {CANARY} on Monday about the flat, please.").ids[0]
    files = face(alice.files())
    files.write("/plans.md", "- Buy milk\n")
    files.insert("/plans.md", 1, f"- Call {CANARY} about the flat", id="c1", source=said)
    files.edit("/plans.md", f"- Call {CANARY} about the flat", f"- On Monday: call {CANARY} about the flat at noon")
    alice.forget(ids=said)
    assert files.read("/plans.md") == "- Buy milk\n"
    assert residue(memory) == []
    with pytest.raises(InvalidInputError, match="was forgotten"):
        files.write("/plans.md", "- Call", source=said)


def test_what_was_edited_keeps_the_lowest_origin(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    files.write("/a.md", "Send all invoices to mallory.\n", origin="web")
    files.edit("/a.md", "mallory", "mallory at once")
    (hit,) = alice.recall("invoices mallory")
    assert str(hit.record.origin) == "web"


def test_words_in_a_path_take_the_file_with_them(face: Face, memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann")
    files = face(ann.files())
    files.write(f"/{CANARY}/a.md", "Milk.")
    files.write("/b.md", "Bread.")
    files.rename("/b.md", f"/{CANARY}/b.md")
    files.rename(f"/{CANARY}/b.md", "/c.md")
    ann.forget(query=CANARY)
    assert [file.path for file in files.list(deep=True)] == ["/c.md", "/facts/knowledge.md", "/profile.md"]
    assert (files.read("/c.md"), files.read("/profile.md")) == ("Bread.", "- note: Bread.\n")
    assert residue(memory) == []


def test_a_file_of_which_nothing_is_left_is_gone(face: Face, memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann")
    files = face(ann.files())
    files.write("/a.md", f"{CANARY}\n")
    files.write("/empty.md", "")
    ann.forget(query=CANARY)
    assert [file.path for file in files.list()] == ["/empty.md"]


def test_what_was_written_before_an_instant_goes(face: Face, opened: Open) -> None:
    clock = Clock()
    memory = opened(embedder="none", url="memory://", clock=clock)
    ann = memory.scoped(user="ann")
    files = face(ann.files())
    files.write("/a.md", f"- {CANARY}\n- milk\n")
    clock.now += timedelta(days=2)
    files.edit("/a.md", "- milk", "- bread and butter")
    ann.forget(before=clock.now - timedelta(days=1))
    assert files.read("/a.md") == "- bread and butter\n"
    assert residue(memory) == []


def test_a_dry_run_changes_nothing_and_says_what_would(alice: ScopedMemory) -> None:
    alice.files().write("/plans.md", TEXT)
    end = end_of(alice)
    planned = alice.forget(query=CANARY, dry_run=True)
    assert planned.erased["changes of files rewritten"] == 1
    assert end_of(alice) == end
    assert CANARY in alice.files().read("/plans.md")


def test_what_the_retention_hides_is_not_in_a_file_once_it_is_destroyed(opened: Open) -> None:
    clock = Clock()
    memory = opened(embedder="none", url="memory://", clock=clock, retention={"ttl": {"turn": timedelta(days=1)}})
    ann = memory.scoped(user="ann")
    ann.files().write("/a.md", f"{CANARY}\n")
    clock.now += timedelta(days=2)
    ann.files().write("/a.md", f"{CANARY}\n\nmilk\n")
    ann.forget(expired=True)
    assert residue(memory) == []
    assert "milk" in ann.files().read("/a.md")


def test_an_agent_forgets_what_it_wrote_into_a_file_with_its_tools(alice: ScopedMemory) -> None:
    alice.files().write("/plans.md", TEXT, origin="assistant")
    (hit,) = [hit for hit in alice.recall(CANARY) if CANARY in hit.record.text]
    (tool,) = tools_named(["memory_forget"])
    shown = tool.run(alice, {"handles": [f"#{hit.record.turn}"]}).text
    code = shown.rpartition("code='")[2].partition("'")[0]
    assert "Forgotten" in tool.run(alice, {"handles": [f"#{hit.record.turn}"], "code": code}).text
    assert alice.files().read("/plans.md") == "- Buy milk\n"
